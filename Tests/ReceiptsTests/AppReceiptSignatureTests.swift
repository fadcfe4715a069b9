import Commerce
import CoreTypes
import Crypto
import Testing

@testable import Receipts

@Suite("The signature of an app receipt")
struct AppReceiptSignatureTests {
  let authority: ReceiptAuthority

  init() throws {
    authority = try Fixtures.authority.get()
  }

  func verify(
    _ encoded: [UInt8], now: Timestamp = Fixtures.now, policy: ReceiptPolicy = ReceiptPolicy()
  ) throws -> VerifiedAppReceipt {
    try UnverifiedAppReceipt(encoded: encoded).verified(trusting: [authority.root], now: now, policy: policy)
  }

  @Test("a signed receipt verifies and becomes transactions")
  func genuine() throws {
    let verified = try verify(authority.signer.sign(Fixtures.receipt()))
    #expect(verified.receipt == Fixtures.receipt())
    let transactions = verified.transactions(store: .sandbox)
    #expect(transactions.map(\.id.description) == ["2000000000000001"])
    #expect(transactions.map(\.environment) == [.sandbox])
  }

  @Test("no octet of a receipt can change without its being refused")
  func flippedOctets() throws {
    let encoded = try authority.signer.sign(Fixtures.receipt())
    var accepted: [Int] = []
    // Every octet of the envelope, and every eleventh of the payload and the certificates, which the signatures cover.
    let envelope = Array(encoded.indices.prefix(80) + encoded.indices.suffix(420))
    for position in envelope + Array(stride(from: 80, to: encoded.count - 420, by: 11)) {
      var changed = encoded
      changed[position] ^= 1 << UInt8(position * 5 % 8)
      if (try? verify(changed)) != nil { accepted.append(position) }  // a refusal is what we want
    }
    #expect(accepted == [], "positions \(accepted) of \(encoded.count)")
  }

  @Test("truncated receipts and receipts with a tail are malformed")
  func truncated() throws {
    let encoded = try authority.signer.sign(Fixtures.receipt())
    for length in stride(from: 0, to: encoded.count, by: 7) {
      #expect(throws: ReceiptError.self) { try UnverifiedAppReceipt(encoded: Array(encoded[..<length])) }
    }
    #expect(throws: ReceiptError.self) { try UnverifiedAppReceipt(encoded: encoded + [0]) }
  }

  @Test("noise is malformed")
  func noise() throws {
    #expect(throws: ReceiptError.self) { try UnverifiedAppReceipt(base64: "") }
    #expect(throws: ReceiptError.self) { try UnverifiedAppReceipt(base64: "not base 64") }
    let noise = Base64.encode(RandomBytes.make(1 << 20))
    #expect(throws: ReceiptError.self) { try UnverifiedAppReceipt(base64: noise) }
    let long = String(repeating: "A", count: UnverifiedAppReceipt.maximumBase64Length + 4)
    #expect(throws: ReceiptError.self) { try UnverifiedAppReceipt(base64: long) }
  }

  @Test("another root's receipts are not trusted")
  func otherRoot() throws {
    let foreign = try Fixtures.stranger.get().signer.sign(Fixtures.receipt())
    let error = #expect(throws: ReceiptError.self) { try verify(foreign) }
    #expect(error?.code == .chainInvalid)
    let trustingNobody = #expect(throws: ReceiptError.self) {
      try UnverifiedAppReceipt(encoded: foreign).verified(trusting: [], now: Fixtures.now)
    }
    #expect(trustingNobody?.code == .chainInvalid)
  }

  @Test("a receipt verifies at its creation date after its signing certificate has expired")
  func expiredCertificate() throws {
    let encoded = try authority.signer.sign(Fixtures.receipt())
    let later = Fixtures.moment("2030-01-01T00:00:00Z")
    #expect(try verify(encoded, now: later).receipt.creationDate == Fixtures.now)

    var afterExpiry = Fixtures.receipt()
    afterExpiry.creationDate = later
    let error = #expect(throws: ReceiptError.self) {
      try verify(authority.signer.sign(afterExpiry), now: later)
    }
    #expect(error?.code == .chainInvalid)
  }

  @Test(
    "a creation date in the future or before there were receipts is implausible",
    arguments: ["2026-11-21T09:10:00Z", "2009-12-31T23:59:59Z"])
  func implausibleDate(date: String) throws {
    var receipt = Fixtures.receipt()
    receipt.creationDate = Fixtures.moment(date)
    let error = #expect(throws: ReceiptError.self) { try verify(authority.signer.sign(receipt)) }
    #expect(error?.code == .creationDateImplausible)
  }

  @Test("a creation date a little ahead of the clock is accepted")
  func clockSkew() throws {
    var receipt = Fixtures.receipt()
    receipt.creationDate = Fixtures.moment("2026-11-21T09:04:00Z")
    #expect(throws: Never.self) { try verify(authority.signer.sign(receipt)) }
  }

  @Test("certificates without the markers of receipt signing do not count", arguments: [true, false])
  func markers(missingInLeaf: Bool) throws {
    var options = ReceiptAuthority.Options(now: Fixtures.now)
    options.marksLeaf = !missingInLeaf
    options.marksIntermediate = missingInLeaf
    let unmarked = try ReceiptAuthority.generate(options)
    let encoded = try unmarked.signer.sign(Fixtures.receipt())
    let error = #expect(throws: ReceiptError.self) {
      try UnverifiedAppReceipt(encoded: encoded).verified(trusting: [unmarked.root], now: Fixtures.now)
    }
    #expect(error?.code == .markerMissing)
  }

  @Test("an authority survives being written and read")
  func persistence() throws {
    let restored = try ReceiptAuthority(chainPEM: authority.chainPEM, keyPEM: authority.keyPEM())
    #expect(restored.root == authority.root)
    #expect(throws: Never.self) { try verify(restored.signer.sign(Fixtures.receipt())) }
    #expect(throws: ReceiptError.self) { try ReceiptAuthority(chainPEM: "", keyPEM: "") }
    #expect(throws: ReceiptError.self) { try ReceiptAuthority(chainPEM: authority.chainPEM, keyPEM: "x") }
  }

  @Test("descriptions tell neither receipts nor keys")
  func descriptions() throws {
    let receipt = try UnverifiedAppReceipt(encoded: authority.signer.sign(Fixtures.receipt()))
    #expect("\(receipt)" == "unverified receipt of \(receipt.encoded.count) bytes for com.example.pullbox")
    #expect("\(authority) \(authority.signer)" == "receipt authority receipt signer")
  }
}
