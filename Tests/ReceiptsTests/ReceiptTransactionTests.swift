import Commerce
import CoreTypes
import PullboxTesting
import Testing

@testable import Receipts

@Suite("From receipts to transactions")
struct ReceiptTransactionTests {
  func transactions(_ purchases: [InAppPurchase], environment: String = "Production") -> [VerifiedTransaction]
  {
    var receipt = Fixtures.receipt(purchases)
    receipt.environmentName = environment
    return VerifiedAppReceipt(signed: receipt).transactions(store: .apple)
  }

  @Test("a transaction says what its purchase says, in the store's name")
  func members() throws {
    var purchase = InAppPurchase(
      quantity: 3, productIdentifier: "com.example.monthly", transactionIdentifier: "8",
      originalTransactionIdentifier: "7", purchaseDate: Fixtures.moment("2024-02-01T00:00:00Z"),
      originalPurchaseDate: Fixtures.moment("2024-01-01T00:00:00Z"))
    purchase.expiresDate = Fixtures.moment("2024-03-01T00:00:00Z")
    let transaction = try #require(transactions([purchase]).first)
    #expect(transaction.store == .apple)
    #expect(transaction.environment == .production)
    #expect(transaction.id.description == "8")
    #expect(transaction.originalID.description == "7")
    #expect(transaction.product.description == "com.example.monthly")
    #expect(transaction.purchaseDate == Fixtures.moment("2024-02-01T00:00:00Z"))
    #expect(transaction.expiresDate == Fixtures.moment("2024-03-01T00:00:00Z"))
    #expect(transaction.revokedDate == nil)
    #expect(transaction.quantity == 3)
  }

  @Test("purchases of which a name cannot be one of ours are left out, the others stay")
  func foreignNames() {
    var purchases = [Fixtures.purchase("1")]
    for name in ["", ".", "../1", "a b", "a/b", "é", "a\u{0}", String(repeating: "a", count: 256)] {
      purchases.append(Fixtures.purchase("2", product: name))
      purchases.append(Fixtures.purchase(name))
      var original = Fixtures.purchase("3")
      original.originalTransactionIdentifier = name
      purchases.append(original)
    }
    #expect(transactions(purchases).map(\.id.description) == ["1"])
  }

  @Test(
    "the environment of a receipt is that of its transactions; an unknown one has none",
    arguments: [
      ("Production", .production), ("ProductionVPP", .production), ("ProductionSandbox", .sandbox),
      ("ProductionVPPSandbox", .sandbox), ("Sandbox", .sandbox), ("Xcode", .xcode), ("LocalTesting", nil),
      ("", nil), ("PRODUCTION", nil), ("Production ", nil), ("ProductionX", nil),
    ] as [(String, StoreEnvironment?)])
  func environments(name: String, expected: StoreEnvironment?) {
    let environments = transactions([Fixtures.purchase("1")], environment: name).map(\.environment)
    #expect(environments == (expected.map { [$0] } ?? []))
  }

  @Test(
    "purchases come in the order of their dates, those of one moment by their names",
    arguments: 0..<20 as Range<UInt64>)
  func order(seed: UInt64) {
    var generator = SplitMix(seed: seed)
    var purchases = (0..<6).map { Fixtures.purchase(String($0)) }
    for index in purchases.indices {
      purchases[index].purchaseDate = Fixtures.now + .seconds(Int64(index / 2))
    }
    let ids = transactions(purchases.shuffled(using: &generator)).map(\.id.description)
    #expect(ids == ["0", "1", "2", "3", "4", "5"])
  }

  @Test(
    "a cancelled purchase is revoked; an upgraded one ends at its upgrade, unless it had ended before"
  )
  func cancellations() {
    let expires = Fixtures.moment("2026-12-21T09:00:00Z")
    let cancelled = Fixtures.moment("2026-12-01T00:00:00Z")
    let cases: [(expires: Timestamp?, upgraded: Bool?, end: Timestamp?, revoked: Timestamp?)] = [
      (nil, nil, nil, cancelled), (expires, nil, expires, cancelled), (expires, false, expires, cancelled),
      (expires, true, cancelled, nil), (cancelled - .seconds(1), true, cancelled - .seconds(1), nil),
      (nil, true, cancelled, nil),
    ]
    for (expires, upgraded, end, revoked) in cases {
      var purchase = Fixtures.purchase("1")
      purchase.expiresDate = expires
      purchase.isUpgraded = upgraded
      purchase.cancellationDate = cancelled
      let transaction = transactions([purchase]).first
      #expect(transaction?.expiresDate == end)
      #expect(transaction?.revokedDate == revoked)
    }
  }

  @Test("the end of a volume license is that of its purchases and of the application's own")
  func volumeLicense() {
    let end = Fixtures.moment("2026-12-31T00:00:00Z")
    var receipt = Fixtures.receipt([Fixtures.purchase("1")])
    receipt.environmentName = "ProductionVPP"
    receipt.downloadIdentifier = 77
    receipt.originalPurchaseDate = Fixtures.moment("2024-01-01T00:00:00Z")
    receipt.originalApplicationVersion = "1.0"
    for expiration in [end, nil] {
      receipt.expirationDate = expiration
      let transactions = VerifiedAppReceipt(signed: receipt).transactions(store: .apple)
      #expect(transactions.map(\.id.description) == ["1", "application-77"])
      #expect(transactions.map(\.licenseEndDate) == [expiration, expiration])
    }
  }

  @Test("quantities of any size are carried", arguments: [1, 10, 0, -1, Int64.max, Int64.min])
  func quantities(quantity: Int64) {
    var purchase = Fixtures.purchase("1")
    purchase.quantity = quantity
    #expect(transactions([purchase]).map(\.quantity) == [Int(quantity)])
  }

  /// The digests are `printf … | openssl dgst -sha1` over the octets that the rule names.
  @Test(
    "the device hash is SHA-1 over GUID, salt and raw application name, in that order",
    arguments: [
      // A UUID; no salt.
      (
        "00112233-4455-6677-8899-aabbccddeeff", [], "com.example.pullbox",
        "e19475d21f8d897d30f903d6f0cdcb2c93a7a38d"
      ),
      (
        "FFFFFFFF-FFFF-FFFF-FFFF-FFFFFFFFFFFF", [1, 2, 3, 4, 5, 6, 7, 8], "a",
        "32d0c1349db774fb77ea27b98856cf7f104c4c42"
      ),
      // No UUID: the text itself.
      ("reader-1", [0xFF], "com.example.pullbox", "a6510482f78c6dad4aa5e640ae3ca47ed9d95bb1"),
      // A name beyond ASCII, decomposed: its octets count as they are.
      ("reader-1", [0xFF], "cafe\u{301}", "329fd8e74285828170f9240254f9b0d0ada07133"),
    ] as [(String, [UInt8], String, String)])
  func deviceHash(device: String, salt: [UInt8], bundle: String, digest: String) throws {
    var receipt = AppReceipt(
      environmentName: "Production", bundleIdentifier: bundle, applicationVersion: "1",
      creationDate: Fixtures.now)
    receipt.opaqueValue = salt
    receipt.deviceHash = stride(from: 0, to: 40, by: 2).map { start in
      let digits = digest.dropFirst(start).prefix(2)
      return UInt8(digits, radix: 16) ?? 0
    }
    let device = try Fixtures.device(device)
    #expect(receipt.deviceBinding.matches(device))
    // Through a signature and back.
    #expect(try AppReceipt(payload: receipt.encodedPayload).deviceBinding.matches(device))
    for bit in 0..<160 {
      var other = receipt
      other.deviceHash[bit / 8] ^= 1 << UInt8(bit % 8)
      #expect(!other.deviceBinding.matches(device))
    }
    receipt.opaqueValue.append(0)
    #expect(!receipt.deviceBinding.matches(device))
  }

  @Test("a hash that is cut short, longer or missing binds to nothing")
  func otherHashes() throws {
    let device = try Fixtures.device("reader-1")
    var receipt = Fixtures.receipt()
    receipt.bind(to: device)
    #expect(receipt.opaqueValue.count == 16)
    let hash = receipt.deviceHash
    for wrong in [[], Array(hash.dropLast()), hash + [0], [UInt8](repeating: 0, count: 20)] {
      receipt.deviceHash = wrong
      #expect(!receipt.deviceBinding.matches(device))
    }
    var again = receipt
    again.bind(to: device)
    #expect(again.opaqueValue != receipt.opaqueValue, "the salt is fresh")
  }

  @Test("a receipt in another application's name does not fit the hash of this one")
  func boundToApplication() throws {
    let device = try Fixtures.device("reader-1")
    var receipt = Fixtures.receipt()
    receipt.bind(to: device)
    receipt.rawBundleIdentifier = DERTree.utf8("com.example.other").encoded
    #expect(!receipt.deviceBinding.matches(device))
    receipt.rawBundleIdentifier = DERTree.ia5("com.example.pullbox").encoded
    #expect(!receipt.deviceBinding.matches(device), "the tag counts")
  }

  @Test("a description tells the application and how many purchases, not which")
  func description() {
    #expect(
      "\(VerifiedAppReceipt(signed: Fixtures.receipt()))"
        == "receipt for com.example.pullbox with 1 purchases")
  }
}
