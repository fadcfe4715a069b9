import Commerce
import CoreTypes
import Crypto
import PullboxAPI
import ServiceAPI
import Testing

@testable import AgentRecords

/// docs/agent.md, "Ownership without a network".
@Suite("The license that a device holds")
struct HeldLicenseTests {
  private static let start = Timestamp(millisecondsSinceEpoch: 1_795_249_800_000)
  private static let month: Duration = .seconds(30 * 86_400)
  private let server = SigningKey()
  private let device = SigningKey().verificationKey
  private let name: DeviceIdentifier
  private let bought: ProductIdentifier
  private let opened: ProductIdentifier
  private let refunded: ProductIdentifier
  private let unknown: ProductIdentifier

  init() throws {
    name = try #require(DeviceIdentifier("device-1"))
    bought = try #require(ProductIdentifier("com.example.a"))
    opened = try #require(ProductIdentifier("com.example.b"))
    refunded = try #require(ProductIdentifier("com.example.c"))
    unknown = try #require(ProductIdentifier("com.example.d"))
  }

  private func license(
    issued: Timestamp = start, device key: VerificationKey? = nil, isWhole: Bool = true
  ) -> License {
    License(
      serial: "serial", device: name, deviceKey: key ?? device, issued: issued,
      expires: issued + Self.month,
      owned: [
        License.Owned(product: bought, because: "purchased"),
        License.Owned(
          product: opened, because: "published-during-subscription", until: issued + .seconds(86_400)),
      ], ended: [License.Ended(product: refunded, because: "revoked", keep: true)], isWhole: isWhole)
  }

  private func hold(_ license: License, by key: SigningKey? = nil, after former: HeldLicense? = nil) throws
    -> HeldLicense
  {
    try HeldLicense(
      try license.signed(with: key ?? server), trusting: LicenseTrust(kept: [server.verificationKey]),
      device: name, key: device, after: former)
  }

  @Test("it counts for its device and by a key that counts, and no older one takes its place")
  func counts() throws {
    let held = try hold(license())
    #expect(held.license == license())
    #expect(throws: LicenseError.self) { try hold(license(), by: SigningKey()) }
    #expect(throws: LicenseError.self) { try hold(license(device: SigningKey().verificationKey)) }
    for seconds in [601, 86_400] {
      #expect(throws: LicenseError.self) {
        try hold(license(issued: Self.start - .seconds(seconds)), after: held)
      }
    }
    // Of another node, and of a server whose date was wrong.
    for seconds in [600, 86_401] {
      _ = try hold(license(issued: Self.start - .seconds(seconds)), after: held)
    }
    _ = try hold(license(issued: Self.start + .seconds(1)), after: held)
  }

  @Test("a byte that is another, whichever, makes it none", arguments: [0, 40, 200, 300])
  func damaged(at place: Int) throws {
    var text = Array(try license().signed(with: server).utf8)
    text[place] = text[place] == UInt8(ascii: "A") ? UInt8(ascii: "B") : UInt8(ascii: "A")
    #expect(throws: LicenseError.self) {
      try HeldLicense(
        String(decoding: text, as: UTF8.self), trusting: LicenseTrust(kept: [server.verificationKey]),
        device: name, key: device)
    }
  }

  @Test("what the server signs of its keys is no license, nor is one whose dates or products cannot be")
  func malformed() throws {
    let endorsement = try LicenseKey.endorsement(of: device, by: server)
    var broken = [license(), license(), license()]
    broken[0].expires = broken[0].issued
    broken[1].expires = broken[1].issued + License.longestLife + .milliseconds(1)
    broken[2].ended.append(License.Ended(product: bought, because: "revoked"))
    for text in try [endorsement] + broken.map({ try $0.signed(with: server) }) {
      let error = #expect(throws: LicenseError.self) {
        try License(text, verifiedWith: [server.verificationKey])
      }
      #expect(error?.code == .malformed)
    }
  }

  @Test("another is asked for before half of its life is over, by each device at a time of its own")
  func renewal() throws {
    let held = try hold(license())
    #expect(held.renewal(jitter: 0) == Self.start + .seconds(15 * 86_400))
    #expect(held.renewal(jitter: 1) == Self.start + .seconds(12 * 86_400))
  }

  private func answer(
    _ product: ProductIdentifier, known: KnownOwnership?, held: HeldLicense?, after: Duration = .zero
  ) -> ProductOwnership {
    ProductOwnership(of: product, known: known, held: held, heard: nil, at: Self.start + after)
  }

  @Test("it answers until its end, and then the last word stands without it")
  func answers() throws {
    let held = try hold(license())
    let known = KnownOwnership.listed(in: held.license, at: Self.start)
    #expect(known[refunded]?.withdrawsContent == false)
    var found = answer(bought, known: known[bought], held: held, after: Self.month - .seconds(1))
    #expect(found.owned && found.because == "purchased" && found.verification == .verified)
    #expect(found.heard == Self.start && found.license?.expires == Self.start + Self.month)
    found = answer(bought, known: known[bought], held: held, after: Self.month)
    #expect(found.owned && found.verification == .unverified && found.reason == .licenseExpired)
    found = answer(bought, known: known[bought], held: nil)
    #expect(found.verification == .unverified && found.reason == .noLicense)
  }

  @Test(
    "what was opened until a time is not owned from then on, and goes with the subscription that opened it")
  func until() throws {
    let held = try hold(license())
    let known = KnownOwnership.listed(in: held.license, at: Self.start)
    #expect(answer(opened, known: known[opened], held: held, after: .seconds(86_399)).owned)
    let over = answer(opened, known: known[opened], held: held, after: .seconds(86_400))
    #expect(!over.owned && over.because == "closed-by-lapse" && over.verification == .verified)
  }

  @Test("it is overtaken where the server has told of more, or of an end, and by nothing else")
  func overtaken() throws {
    let held = try hold(license())
    var known = KnownOwnership.listed(in: held.license, at: Self.start)
    #expect(!held.isOvertaken(by: known) && !held.isOvertaken(by: [:]))
    known[unknown] = KnownOwnership(isOwned: false, because: "revoked", until: nil, asOf: Self.start)
    #expect(!held.isOvertaken(by: known))
    known[unknown]?.isOwned = true
    #expect(held.isOvertaken(by: known))
    known[unknown] = nil
    known[bought]?.isOwned = false
    #expect(held.isOvertaken(by: known))
    let more = KnownOwnership(isOwned: true, because: "purchased", until: nil, asOf: Self.start)
    #expect(answer(unknown, known: more, held: held).reason == .notInLicense)
  }

  @Test("a whole license ends what it does not list, but no consumable and nothing that was told later")
  func unlisted() throws {
    func ends(_ known: KnownOwnership, _ isWhole: Bool = true) -> Bool {
      !KnownOwnership.unlisted(
        in: license(isWhole: isWhole), among: [unknown: known, bought: known], asked: Self.start,
        at: Self.start + .seconds(9)
      ).isEmpty
    }
    var known = KnownOwnership(
      isOwned: true, because: "purchased", until: nil, asOf: Self.start, isConsumable: false)
    #expect(ends(known) && !ends(known, false))
    let ended = KnownOwnership.unlisted(
      in: license(), among: [unknown: known, bought: known], asked: Self.start, at: Self.start)
    #expect(Array(ended.keys) == [unknown])
    #expect(ended[unknown]?.isOwned == false && ended[unknown]?.because == "not-bought")
    #expect(ended[unknown]?.withdrawsContent == false, "it may be gone from the catalog alone")
    known.asOf = Self.start + .milliseconds(1)
    #expect(!ends(known))
    // Of a clock that was ahead.
    known.asOf = Self.start + .seconds(10)
    #expect(ends(known))
    known.asOf = Self.start
    for isConsumable in [true, nil] {
      known.isConsumable = isConsumable
      #expect(!ends(known))
    }
    let held = try hold(license())
    known.isConsumable = true
    #expect(!held.isOvertaken(by: [unknown: known, bought: known, opened: known]))
    let found = answer(unknown, known: known, held: held)
    #expect(found.owned && found.reason == .consumable)
  }

  @Test("a revocation that was heard behind the license says no, and so does what it never listed")
  func revoked() throws {
    let held = try hold(license())
    let known = KnownOwnership.listed(in: held.license, at: Self.start)
    let heard = KnownOwnership(isOwned: false, because: "revoked", until: nil, asOf: Self.start)
    var found = answer(bought, known: heard, held: held)
    #expect(!found.owned && found.because == "revoked" && found.reason == .newerThanLicense)
    found = answer(refunded, known: known[refunded], held: held)
    #expect(!found.owned && found.because == "revoked" && found.verification == .verified)
    found = answer(unknown, known: nil, held: held)
    #expect(!found.owned && found.because == "not-bought" && found.verification == .verified)
    found = answer(unknown, known: nil, held: try hold(license(isWhole: false)))
    #expect(!found.owned && found.reason == .notInLicense)
  }
}

@Suite("The keys by which licenses count")
struct LicenseTrustTests {
  private let keys = (0..<4).map { _ in SigningKey() }

  private func published(_ numbers: [Int], endorsing: [Int: SigningKey] = [:]) throws -> [LicenseKey] {
    try numbers.map { number in
      let former = endorsing[number] ?? (number > 1 ? keys[number - 2] : nil)
      let key = keys[number - 1].verificationKey
      return LicenseKey(
        number: number, key: key, seals: Timestamp(millisecondsSinceEpoch: 0),
        endorsement: try former.map { try LicenseKey.endorsement(of: key, by: $0) })
    }
  }

  @Test("the first that a service shows count, and then those that they endorse, one by one")
  func chain() throws {
    var trust = LicenseTrust(kept: [])
    trust.take(try published([1]))
    #expect(trust.keys == [keys[0].verificationKey])
    trust.take(try published([4, 3, 2, 1]))
    #expect(trust.keys == keys.map(\.verificationKey))
    // A key that is shown no more counts no more.
    trust.take(try published([4, 3]))
    #expect(trust.keys == keys[2...].map(\.verificationKey))
  }

  @Test("another's keys count for nothing, and take nothing away")
  func strangers() throws {
    var trust = LicenseTrust(kept: [keys[0].verificationKey])
    let stranger = SigningKey()
    trust.take([
      LicenseKey(number: 1, key: stranger.verificationKey, seals: Timestamp(millisecondsSinceEpoch: 0))
    ])
    #expect(trust.keys == [keys[0].verificationKey])
    trust.take(try published([3, 2, 1], endorsing: [2: stranger]))
    #expect(trust.keys == [keys[0].verificationKey])
  }

  @Test(
    "those before the one that signs count for a day beside it, and never again behind a license of later")
  func replaced() throws {
    let shown = try published([3, 2, 1]).map { key in
      var key = key
      // The second began to sign a day behind the first, and so on.
      key.seals = Timestamp(millisecondsSinceEpoch: Int64(key.number) * 86_400_000)
      return key
    }
    var trust = LicenseTrust(kept: [keys[0].verificationKey])
    trust.take(shown)
    func note(_ signer: Int, days: Int64, less: Int64 = 0) {
      trust.note(
        licenseSignedBy: keys[signer - 1].verificationKey,
        at: Timestamp(millisecondsSinceEpoch: days * 86_400_000 - less), among: shown)
    }
    note(1, days: 100)
    note(2, days: 3, less: 1)
    #expect(trust.keys == keys[..<3].map(\.verificationKey) && trust.retired.isEmpty)
    note(2, days: 3)
    #expect(trust.keys == keys[1..<3].map(\.verificationKey))
    // It is shown still, to devices that have yet to follow.
    trust.take(shown)
    #expect(trust.keys == keys[1..<3].map(\.verificationKey))
    #expect(trust.retired == [keys[0].verificationKey])
    note(3, days: 4)
    #expect(trust.keys == [keys[2].verificationKey])
    #expect(trust.retired == keys[..<2].map(\.verificationKey))
    // Nor does the word of a key that was replaced make another one count.
    let stranger = SigningKey().verificationKey
    trust.take(
      shown + [
        LicenseKey(
          number: 4, key: stranger, seals: Timestamp(millisecondsSinceEpoch: 0),
          endorsement: try LicenseKey.endorsement(of: stranger, by: keys[0]))
      ])
    #expect(trust.keys == [keys[2].verificationKey])
  }

  @Test("a device that was away for two of them goes on to the third, and keeps none that leads there")
  func followed() throws {
    var trust = LicenseTrust(kept: [keys[0].verificationKey])
    let shown = try published([4, 3, 2, 1])
    trust.take(shown)
    trust.note(
      licenseSignedBy: keys[2].verificationKey, at: Timestamp(millisecondsSinceEpoch: 86_400_000),
      among: shown)
    // The fourth is the next.
    #expect(trust.keys == keys[2...].map(\.verificationKey))
    #expect(Set(trust.retired) == Set(keys[..<2].map(\.verificationKey)))
  }

  @Test(
    "the configuration's word that was followed stands with the keys that it led to, and another takes their place"
  )
  func configuredBefore() {
    let all = keys.map(\.verificationKey)
    let followed = LicenseTrust(kept: [all[1]], retired: [all[0]], configured: [all[0]])
    #expect(followed.keys == [all[1]] && followed.retired == [all[0]])
    let anew = LicenseTrust(kept: [all[1]], retired: [all[0]], configured: [all[2]])
    #expect(anew.keys == [all[2]] && anew.retired.isEmpty)
  }

  @Test("those that the configuration names count from the first, and no other that the service shows")
  func configured() throws {
    var trust = LicenseTrust(kept: [], configured: [keys[1].verificationKey])
    trust.take(try published([1]))
    #expect(trust.keys == [keys[1].verificationKey])
    trust.take(try published([3, 2, 1]))
    #expect(trust.keys == [keys[1].verificationKey, keys[2].verificationKey])
  }
}
