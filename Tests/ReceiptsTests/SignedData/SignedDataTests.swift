import CoreTypes
import Crypto
import PullboxTesting
import Testing

@testable import Receipts

/// Facts of the store's libraries: three segments, ES256 alone, three certificates, the chain to a configured root.
@Suite("Signed data and its chain")
struct SignedDataTests {
  let authority: SignedDataAuthority
  let verifier: SignedDataVerifier
  let now = SignedDataFixtures.now
  let payload = SignedDataFixtures.payload

  init() throws {
    authority = try SignedDataFixtures.authority.get()
    verifier = SignedDataFixtures.verifier(of: authority)
  }

  var certificates: [[UInt8]] { [authority.leaf, authority.intermediate, authority.root].map(\.der) }

  /// The refusal of `text`; nil when it was accepted.
  func refusal(
    of text: String, by verifier: SignedDataVerifier? = nil, at moment: Timestamp? = nil
  ) -> ReceiptError.Code? {
    do {
      _ = try (verifier ?? self.verifier).verify(SignedData(text: text), at: moment ?? now)
      return nil
    } catch let error as ReceiptError {
      return error.code
    } catch {
      Issue.record("\(error)")
      return nil
    }
  }

  @Test("what the authority signs comes out as it went in, with the chain that vouches for it")
  func genuine() throws {
    let verified = try verifier.verify(SignedData(text: try authority.sign(payload)), at: now)
    #expect(verified.payload == payload)
    #expect(verified.chain.leaf == authority.leaf)
    #expect(verified.chain.intermediate == authority.intermediate)
    #expect(verified.chain.root == authority.root)
    #expect(verified.chain.leafValidity == SignedDataFixtures.options.leafValidity)
  }

  @Test("a changed payload, header or signature is refused, and so is one cut off at any place")
  func changed() throws {
    let text = try authority.sign(payload)
    let other = try authority.sign(Array(#"{"transactionId":"2"}"#.utf8))
    let parts = text.split(separator: ".")
    let others = other.split(separator: ".")
    #expect(refusal(of: [parts[0], others[1], parts[2]].joined(separator: ".")) == .signatureInvalid)
    #expect(refusal(of: [parts[0], parts[1], others[2]].joined(separator: ".")) == .signatureInvalid)
    for length in stride(from: 0, to: text.utf8.count, by: 97) {
      #expect(refusal(of: String(text.prefix(length))) != nil)
    }
  }

  @Test(
    "any algorithm but ES256 is refused by name, whatever else fits",
    arguments: ["none", "None", "HS256", "RS256", "ES384", "EdDSA", "es256", ""])
  func algorithms(name: String) throws {
    let text = try authority.sign(payload, header: ["alg": name], certificates: certificates)
    #expect(refusal(of: text) == .malformed)
    let unsigned = text.split(separator: ".").dropLast().joined(separator: ".") + "."
    #expect(refusal(of: unsigned) == .malformed)
  }

  @Test(
    "a header that has a member twice is refused, whichever of them is the good one",
    arguments: [
      #""alg":"none""#, #""alg":"ES256""#, #""x5c":[]"#, #""al\u0067":"none""#, #""new":1,"new":2"#,
    ])
  func doubledMembers(member: String) throws {
    let encoded = certificates.map { "\"\(Base64.encode($0))\"" }.joined(separator: ",")
    let header = #""alg":"ES256","x5c":[\#(encoded)]"#
    for text in ["{\(header),\(member)}", "{\(member),\(header)}"] {
      #expect(refusal(of: try authority.sign(payload, rawHeader: text)) == .malformed)
    }
    // Names within values, and values that look like names, are none of its members.
    let values = #""a":{"alg":"none"},"b":["alg","b",{"alg":1}],"c":"alg","d":"c""#
    #expect(refusal(of: try authority.sign(payload, rawHeader: "{\(header),\(values)}")) == nil)
  }

  @Test("a header that asks for more than this version understands is refused")
  func extensions() throws {
    let encoded = certificates.map { "\"\(Base64.encode($0))\"" }.joined(separator: ",")
    for member in [#""crit":["exp"]"#, #""b64":false"#] {
      let text = try authority.sign(payload, rawHeader: #"{"alg":"ES256","x5c":[\#(encoded)],\#(member)}"#)
      #expect(refusal(of: text) == .malformed)
    }
    let unknown = try authority.sign(
      payload, rawHeader: #"{"alg":"ES256","typ":"JWT","kid":"x","new":{"a":[1]},"x5c":[\#(encoded)]}"#)
    #expect(refusal(of: unknown) == nil)
  }

  @Test("none, one, two or four certificates, and anything but certificates, are refused")
  func counts() throws {
    let stranger = try SignedDataFixtures.stranger.get()
    let lists: [[[UInt8]]?] = [
      nil, [], [certificates[0]], Array(certificates[0..<2]), certificates + [stranger.root.der],
      [certificates[0], certificates[1], Array("garbage".utf8)], [[], [], []],
      [certificates[0] + [0], certificates[1], certificates[2]],
      [certificates[0], [UInt8](repeating: 0x30, count: 5000), certificates[2]],
    ]
    for list in lists {
      let text = try authority.sign(payload, header: ["alg": "ES256"], certificates: list)
      #expect(refusal(of: text) == .malformed)
    }
    let lenient = try authority.sign(
      payload, rawHeader: #"{"alg":"ES256","x5c":["AA AA","\#(Base64.encode(certificates[1]))","AAAA"]}"#)
    #expect(refusal(of: lenient) == .malformed)
  }

  @Test("another root of the same names is refused, also with the true root appended")
  func strangers() throws {
    let stranger = try SignedDataFixtures.stranger.get()
    #expect(refusal(of: try stranger.sign(payload)) == .chainInvalid)
    let appended = try stranger.sign(
      payload, header: ["alg": "ES256"],
      certificates: [stranger.leaf.der, stranger.intermediate.der, authority.root.der])
    #expect(refusal(of: appended) == .chainInvalid)
    let four = try stranger.sign(
      payload, header: ["alg": "ES256"],
      certificates: [stranger.leaf, stranger.intermediate, stranger.root, authority.root].map(\.der))
    #expect(refusal(of: four) == .malformed)
  }

  @Test("the third certificate decides nothing")
  func third() throws {
    let stranger = try SignedDataFixtures.stranger.get()
    let text = try authority.sign(
      payload, header: ["alg": "ES256"], certificates: Array(certificates[0..<2]) + [stranger.root.der])
    #expect(try verifier.verify(SignedData(text: text), at: now).chain.root == authority.root)
  }

  @Test("good certificates over another key's signature are refused")
  func otherKey() throws {
    let stranger = try SignedDataFixtures.stranger.get()
    let text = try stranger.sign(payload, header: ["alg": "ES256"], certificates: certificates)
    #expect(refusal(of: text) == .signatureInvalid)
  }

  @Test("certificates in another order do not make a chain")
  func order() throws {
    let orders = [[1, 0, 2], [0, 2, 1], [2, 1, 0], [0, 0, 0], [2, 2, 2]]
    for order in orders {
      let text = try authority.sign(
        payload, header: ["alg": "ES256"], certificates: order.map { certificates[$0] })
      #expect(refusal(of: text) == .chainInvalid)
    }
  }

  @Test("a leaf or an intermediate without its marker is refused")
  func markers() throws {
    for marksLeaf in [true, false] {
      var options = SignedDataFixtures.options
      options.marksLeaf = marksLeaf
      options.marksIntermediate = !marksLeaf
      let unmarked = try SignedDataAuthority.generate(options)
      let text = try unmarked.sign(payload)
      #expect(refusal(of: text, by: SignedDataFixtures.verifier(of: unmarked)) == .markerMissing)
    }
  }

  @Test("outside the validity of leaf or issuers nothing counts, also when the chain is known")
  func validity() throws {
    let text = try authority.sign(payload)
    #expect(refusal(of: text) == nil)
    let validity = SignedDataFixtures.options.leafValidity
    #expect(refusal(of: text, at: validity.lowerBound - .seconds(1)) == .chainInvalid)
    #expect(refusal(of: text, at: validity.upperBound + .seconds(1)) == .chainInvalid)
    #expect(refusal(of: text, at: validity.lowerBound) == nil)
    #expect(refusal(of: text, at: validity.upperBound) == nil)
  }

  @Test("without roots nothing is genuine, and the intermediate is no root")
  func roots() throws {
    let text = try authority.sign(payload)
    let timer = SystemMonotonicClock()
    #expect(refusal(of: text, by: SignedDataVerifier(roots: [], timer: timer)) == .chainInvalid)
    for certificate in [authority.intermediate, authority.leaf] {
      let partial = SignedDataVerifier(roots: [certificate], timer: timer)
      #expect(refusal(of: text, by: partial) == .chainInvalid)
    }
  }

  @Test("nesting, length and foreign characters are bounded")
  func bounds() throws {
    for piece in ["[", #"{"a":"#] {
      let deep = Array(String(repeating: piece, count: 5000).utf8)
      #expect(refusal(of: try authority.sign(deep)) == .malformed)
      #expect(
        refusal(
          of: try authority.sign(
            payload, rawHeader: #"{"alg":"ES256","x":"# + String(repeating: piece, count: 1000)))
          == .malformed)
    }
    let brackets = Array(#"{"a":"[[[[[[[[[[[[[[[[[[[[[[\"[[[["}"#.utf8)
    #expect(refusal(of: try authority.sign(brackets)) == nil)
    let long = try authority.sign([UInt8](repeating: 0x20, count: 48_000))
    #expect(throws: ReceiptError.self) { try SignedData(text: long) }
    #expect(throws: Never.self) { try SignedData(text: long, maximumLength: 262_144) }
    let text = try authority.sign(payload)
    for wrong in ["", ".", "..", "...", text + ".", "." + text, text + "=", text + "\n", text + " "] {
      #expect(refusal(of: wrong) == .malformed)
    }
    #expect(refusal(of: text.replacing("eyJhbGci", with: "é")) == .malformed)
  }

  @Test("no single changed byte is accepted", arguments: 0..<4 as Range<UInt64>)
  func noise(seed: UInt64) throws {
    var generator = SplitMix(seed: seed)
    let text = Array(try authority.sign(payload).utf8)
    for _ in 0..<40 {
      var changed = text
      changed[Int.random(in: changed.indices, using: &generator)] = UInt8.random(
        in: 32...126, using: &generator)
      guard changed != text else { continue }
      #expect(refusal(of: String(decoding: changed, as: UTF8.self)) != nil)
    }
  }

  @Test(
    "a chain is believed for fifteen minutes, and only one under which something was signed takes a place")
  func believed() throws {
    let timer = ManualMonotonicClock()
    let verifier = SignedDataFixtures.verifier(of: authority, timer: timer)
    #expect(refusal(of: try authority.sign(payload), by: verifier) == nil)
    #expect(verifier.chainCount == 1)
    let stranger = try SignedDataFixtures.stranger.get()
    for number in 0..<40 {
      let header = ["alg": "ES256", "kid": "\(number)"]
      let forged = try stranger.sign(payload, header: header, certificates: certificates)
      #expect(refusal(of: forged, by: verifier) == .signatureInvalid)
    }
    #expect(verifier.chainCount == 1)
    for number in 0..<40 {
      let header = ["alg": "ES256", "kid": "\(number)"]
      #expect(
        refusal(of: try authority.sign(payload, header: header, certificates: certificates), by: verifier)
          == nil)
    }
    #expect(verifier.chainCount == SignedDataVerifier.maximumCount)
    timer.advance(by: SignedDataVerifier.lifetime)
    #expect(refusal(of: try authority.sign(payload), by: verifier) == nil)
    #expect(verifier.chainCount == 1)
  }

  @Test("a description shows nothing of what was signed")
  func description() throws {
    let data = try SignedData(text: try authority.sign(payload))
    #expect("\(data)" == "signed data of \(data.text.utf8.count) bytes")
    #expect("\(authority)" == "signed data authority")
  }
}
