import Commerce
import CoreTypes
import Testing

@testable import Receipts

@Suite("Receipts of the shape of real ones, made by OpenSSL")
struct ReceiptVectorTests {
  let root: Certificate

  init() throws {
    root = try ReceiptVectors.root()
  }

  func verify(
    _ name: String, now: Timestamp = Fixtures.now, policy: ReceiptPolicy = ReceiptPolicy(),
    trusting roots: [Certificate]? = nil
  ) throws -> VerifiedAppReceipt {
    try ReceiptVectors.receipt(name).verified(trusting: roots ?? [root], now: now, policy: policy)
  }

  @Test("every documented attribute is read, whatever stands between them")
  func attributes() throws {
    let receipt = try ReceiptVectors.receipt("production").claims
    #expect(receipt.environmentName == "Production")
    #expect(receipt.environment == .production)
    #expect(receipt.appIdentifier == 690_661_663)
    #expect(receipt.bundleIdentifier == "com.example.pullbox")
    #expect(receipt.applicationVersion == "15741")
    #expect(receipt.opaqueValue == Array(0...15))
    #expect(receipt.deviceHash.count == 20)
    #expect(receipt.creationDate == ReceiptVectors.created)
    #expect(receipt.downloadIdentifier == 74_011_462_945_433)
    #expect(receipt.versionExternalIdentifier == 862_654_545)
    #expect(receipt.originalPurchaseDate == Fixtures.moment("2023-11-30T19:00:00Z"))
    #expect(receipt.originalApplicationVersion == "15000")
    #expect(receipt.expirationDate == nil)
  }

  @Test(
    "a subscription, its renewal and a refunded purchase are read, web order line items of 64 bits included")
  func purchases() throws {
    let purchases = Dictionary(
      uniqueKeysWithValues: try ReceiptVectors.receipt("production").claims.purchases.map {
        ($0.transactionIdentifier, $0)
      })
    #expect(purchases.keys.sorted() == ["580001100000007", "580001122334455", "580001133445566"])

    let trial = try #require(purchases["580001122334455"])
    #expect(trial.productIdentifier == "com.example.monthly")
    #expect(trial.quantity == 1)
    #expect(trial.productType == 3)
    #expect(trial.originalTransactionIdentifier == trial.transactionIdentifier)
    #expect(trial.purchaseDate == Fixtures.moment("2024-01-23T17:27:14Z"))
    #expect(trial.originalPurchaseDate == Fixtures.moment("2024-01-23T17:27:15Z"))
    #expect(trial.expiresDate == Fixtures.moment("2024-02-23T17:27:14Z"))
    #expect(trial.webOrderLineItemIdentifier == 580_000_987_654_321)
    #expect(trial.isTrialPeriod == true)
    #expect(trial.isInIntroductoryOfferPeriod == false)
    #expect(trial.promotionalOfferIdentifier == nil)
    #expect(trial.cancellationDate == nil)  // present and empty

    let renewal = try #require(purchases["580001133445566"])
    #expect(renewal.originalTransactionIdentifier == "580001122334455")
    #expect(renewal.webOrderLineItemIdentifier == 2_000_000_000_000_000)
    #expect(renewal.isTrialPeriod == false)
    #expect(renewal.isInIntroductoryOfferPeriod == true)
    #expect(renewal.promotionalOfferIdentifier == "spring")
    #expect(renewal.cancellationDate == nil)

    let refunded = try #require(purchases["580001100000007"])
    #expect(refunded.productType == 0)
    #expect(refunded.expiresDate == nil)
    #expect(refunded.cancellationDate == Fixtures.moment("2023-12-24T20:15:00Z"))
  }

  @Test("a verified receipt's transactions are in the order of their purchase, refunds with their date")
  func transactions() throws {
    let transactions = try verify("production").transactions(store: .apple).sold
    #expect(transactions.map(\.id.description) == ["580001100000007", "580001122334455", "580001133445566"])
    #expect(
      transactions.map(\.originalID.description) == ["580001100000007", "580001122334455", "580001122334455"])
    #expect(transactions.map(\.revokedDate) == [Fixtures.moment("2023-12-24T20:15:00Z"), nil, nil])
    #expect(transactions.map(\.environment) == [.production, .production, .production])
  }

  @Test(
    "the device hash that OpenSSL computed over GUID, attribute 4 and raw attribute 2 fits one device"
  )
  func deviceHash() throws {
    var receipt = try ReceiptVectors.receipt("production").claims
    let device = try Fixtures.device("00112233-4455-6677-8899-AABBCCDDEEFF")
    #expect(receipt.deviceBinding.matches(device))
    #expect(!receipt.deviceBinding.matches(try Fixtures.device("00112233-4455-6677-8899-AABBCCDDEEFE")))
    #expect(receipt.rawBundleIdentifier == [0x0C, 0x13] + Array("com.example.pullbox".utf8))
    receipt.rawBundleIdentifier.removeFirst(2)
    #expect(!receipt.deviceBinding.matches(device), "the hash covers tag and length")
  }

  @Test(
    "a receipt counts for ever after its signing certificate has ended",
    arguments: [
      "2024-02-23T17:27:16Z", "2024-10-02T00:00:00Z", "2026-11-21T09:00:00Z", "2036-01-01T00:00:00Z",
    ])
  func expiry(now: String) throws {
    #expect(
      try verify("production", now: Fixtures.moment(now)).receipt.creationDate == ReceiptVectors.created)
  }

  @Test(
    "signed attributes and a chain without its root change nothing",
    arguments: ["signed-attributes", "without-root"])
  func accepted(name: String) throws {
    #expect(try verify(name).receipt.bundleIdentifier == "com.example.pullbox")
  }

  @Test(
    "signers that are not receipt signers under the trusted root are refused, each for its reason",
    arguments: [
      ("developer", .markerMissing), ("swapped-markers", .markerMissing), ("chain-of-two", .chainInvalid),
      ("chain-of-four", .chainInvalid), ("issuer-no-authority", .chainInvalid),
      ("without-intermediate", .chainInvalid), ("extra-certificate", .chainInvalid),
      ("self-signed", .chainInvalid), ("pss", .malformed), ("key-identifier", .malformed),
      ("xcode", .malformed), ("md5-digest", .digestTooWeak), ("sha1-digest", .digestTooWeak),
      ("sha1-chain", .digestTooWeak),
    ] as [(String, ReceiptError.Code)])
  func refused(name: String, code: ReceiptError.Code) {
    let error = #expect(throws: ReceiptError.self) { try verify(name) }
    #expect(error?.code == code)
  }

  @Test(
    "receipts of the years of SHA-1 count where the policy says so, the rest of the rules unchanged",
    arguments: [
      ("sha1-digest", nil), ("sha1-chain", nil), ("production", nil), ("md5-digest", .digestTooWeak),
      ("developer", .markerMissing), ("chain-of-two", .chainInvalid), ("self-signed", .chainInvalid),
      ("pss", .malformed), ("xcode", .malformed),
    ] as [(String, ReceiptError.Code?)])
  func sha1(name: String, code: ReceiptError.Code?) throws {
    let policy = ReceiptPolicy(acceptsSHA1: true)
    guard let code else {
      #expect(throws: Never.self) { try verify(name, policy: policy) }
      return
    }
    let error = #expect(throws: ReceiptError.self) { try verify(name, policy: policy) }
    #expect(error?.code == code)
  }

  @Test(
    "the marker that the policy names is the one that counts, and one that cannot be lets nothing pass"
  )
  func namedMarkers() {
    #expect(throws: Never.self) {
      try verify("developer", policy: ReceiptPolicy(leafMarker: "1.2.840.113635.100.6.1.2"))
    }
    for marker in [
      "1.2.840.113635.100.6.11.2", "1.2.840.113635.100.6.11", "", "x",
    ] {
      for policy in [ReceiptPolicy(leafMarker: marker), ReceiptPolicy(intermediateMarker: marker)] {
        let error = #expect(throws: ReceiptError.self, "\(marker)") {
          try verify("production", policy: policy)
        }
        #expect(error?.code == .markerMissing)
      }
    }
  }

  @Test(
    "a receipt does not bring its own root, and trusting its signer or its issuer is not enough"
  )
  func onlyRoots() throws {
    let tree = try ReceiptVectors.tree("production")
    for certificate in tree[CMSPath.certificates].elements.prefix(3) {
      let embedded = try Certificate(der: certificate.encoded)
      guard embedded != root else { continue }
      let error = #expect(throws: ReceiptError.self) { try verify("production", trusting: [embedded]) }
      #expect(error?.code == .chainInvalid)
    }
    #expect(throws: Never.self) {
      try verify("production", trusting: [Fixtures.stranger.get().root, root])
    }
  }

  @Test("the creation date may lie as far ahead of the clock as the policy says, and not a moment more")
  func clockTolerance() throws {
    let limit = ReceiptVectors.created - ReceiptPolicy().clockTolerance
    #expect(ReceiptPolicy().clockTolerance == .seconds(300))
    #expect(throws: Never.self) { try verify("production", now: limit) }
    let error = #expect(throws: ReceiptError.self) {
      try verify("production", now: limit - .milliseconds(1))
    }
    #expect(error?.code == .creationDateImplausible)
  }

  @Test("the creation date may be as early as the policy says, which is 2010, and not a moment earlier")
  func earliestCreation() throws {
    #expect(ReceiptPolicy().earliestCreation == Fixtures.moment("2010-01-01T00:00:00Z"))
    var policy = ReceiptPolicy()
    policy.earliestCreation = ReceiptVectors.created
    #expect(throws: Never.self) { try verify("production", policy: policy) }
    policy.earliestCreation = ReceiptVectors.created + .milliseconds(1)
    let error = #expect(throws: ReceiptError.self) { try verify("production", policy: policy) }
    #expect(error?.code == .creationDateImplausible)
  }

  @Test(
    "a receipt in Xcode's BER is read: content in pieces, dates with an offset, empty dates"
  )
  func xcode() throws {
    let receipt = try ReceiptVectors.receipt("xcode").claims
    #expect(receipt.environment == .xcode)
    #expect(receipt.opaqueValue == Array(1...8))
    #expect(receipt.creationDate == Fixtures.moment("2020-07-22T17:33:16Z"))
    #expect(receipt.expirationDate == Fixtures.moment("4001-01-01T00:00:00Z"))
    let purchase = try #require(receipt.purchases.first)
    #expect(receipt.purchases.count == 1)
    #expect(purchase.purchaseDate == Fixtures.moment("2020-07-22T17:33:15Z"))
    #expect(purchase.expiresDate == nil)
    #expect(purchase.cancellationDate == nil)
    #expect(purchase.transactionIdentifier == "0")
  }

  @Test("a receipt that signs itself is refused even where its certificate is taken for a root")
  func selfSigned() throws {
    let certificate = try Certificate(
      der: ReceiptVectors.tree("self-signed")[CMSPath.certificates].elements[0].encoded)
    for name in ["self-signed", "xcode"] {
      #expect(throws: ReceiptError.self) { try verify(name, trusting: [certificate]) }
    }
  }

  @Test(
    "verifying is a question, not a use: a hundred times the same receipt is a hundred times the same answer"
  )
  func replay() throws {
    let receipt = try ReceiptVectors.receipt("production")
    let first = try receipt.verified(trusting: [root], now: Fixtures.now)
    let answers = try Set((0..<100).map { _ in try receipt.verified(trusting: [root], now: Fixtures.now) })
    #expect(answers == [first])
  }
}
