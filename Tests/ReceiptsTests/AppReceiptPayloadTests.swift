import Commerce
import CoreTypes
import Crypto
import Testing

@testable import Receipts

@Suite("The payload of an app receipt")
struct AppReceiptPayloadTests {
  @Test("what is written is read back")
  func roundTrip() throws {
    var purchase = Fixtures.purchase("2000000000000001")
    purchase.productType = 3
    purchase.expiresDate = Fixtures.moment("2026-12-21T09:00:00Z")
    purchase.webOrderLineItemIdentifier = 2_000_000_000_000_000
    purchase.isTrialPeriod = false
    purchase.isInIntroductoryOfferPeriod = true
    purchase.promotionalOfferIdentifier = "spring"
    var receipt = Fixtures.receipt([purchase, Fixtures.purchase("2000000000000002")])
    receipt.appIdentifier = 0
    receipt.downloadIdentifier = 74_011_462_945_433
    receipt.versionExternalIdentifier = 0
    receipt.originalPurchaseDate = Fixtures.moment("2013-08-01T07:00:00Z")
    receipt.originalApplicationVersion = "1.0"
    receipt.bind(to: try Fixtures.device("reader-1"))

    var read = try AppReceipt(payload: receipt.encodedPayload)
    read.purchases.sort { $0.transactionIdentifier < $1.transactionIdentifier }
    #expect(read == receipt)
  }

  @Test("a web order line item identifier needs more than 32 bits")
  func wideInteger() throws {
    var purchase = Fixtures.purchase("1")
    purchase.webOrderLineItemIdentifier = 2_000_000_000_000_000
    let read = try InAppPurchase(set: DERReader(purchase.encodedSet))
    #expect(read.webOrderLineItemIdentifier == 2_000_000_000_000_000)
  }

  @Test("an empty cancellation date is no refund")
  func emptyCancellation() throws {
    let set = Fixtures.purchase("1").encodedSet
    #expect(
      try ReceiptAttribute.all(in: DERReader(set)).contains { $0.type == 1712 && $0.value == [0x16, 0x00] })
    #expect(try InAppPurchase(set: DERReader(set)).cancellationDate == nil)
  }

  @Test(
    "dates are read in every spelling that receipts use",
    arguments: [
      ("2024-02-23T17:27:16Z", "2024-02-23T17:27:16Z"), ("2020-07-22T18:33:15+0100", "2020-07-22T17:33:15Z"),
      ("2020-07-22T18:33:15+01:00", "2020-07-22T17:33:15Z"),
      ("4001-01-01T00:00:00+0000", "4001-01-01T00:00:00Z"),
    ])
  func dates(text: String, expected: String) throws {
    let attribute = ReceiptAttribute(12, DERWriter.ia5(text))
    #expect(try attribute.date() == Fixtures.moment(expected))
    #expect(throws: ReceiptError.self) { try ReceiptAttribute(12, DERWriter.ia5("yesterday")).date() }
  }

  @Test("attributes of unknown types are skipped and the order of the set means nothing")
  func unknownAttributes() throws {
    let members = [
      ReceiptAttribute(2, DERWriter.utf8("com.example.pullbox")), ReceiptAttribute(9999, [0xDE, 0xAD]),
      ReceiptAttribute(12, DERWriter.ia5("2026-11-21T09:00:00Z")), ReceiptAttribute(6, [1, 2, 3]),
    ]
    for order in [members, members.reversed()] {
      let payload = DERWriter.element(DERTag.set, Array(order.map(\.encoded).joined()))
      #expect(try AppReceipt(payload: payload).bundleIdentifier == "com.example.pullbox")
    }
  }

  @Test("a receipt that names two applications is refused")
  func ambiguous() {
    let members = [
      ReceiptAttribute(2, DERWriter.utf8("com.example.one")),
      ReceiptAttribute(2, DERWriter.utf8("com.example.two")),
      ReceiptAttribute(12, DERWriter.ia5("2026-11-21T09:00:00Z")),
    ]
    let payload = DERWriter.set(members.map(\.encoded))
    #expect(throws: ReceiptError.self) { try AppReceipt(payload: payload) }
  }

  @Test("the device hash covers the raw attribute 2, its tag and length included")
  func deviceHash() throws {
    var receipt = Fixtures.receipt()
    receipt.opaqueValue = [0, 1, 2, 3]
    let device = try Fixtures.device("00112233-4455-6677-8899-AABBCCDDEEFF")
    let guid: [UInt8] = [
      0x00, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88, 0x99, 0xAA, 0xBB, 0xCC, 0xDD, 0xEE, 0xFF,
    ]
    #expect(device.receiptGUID == guid)
    let bundle = Array("com.example.pullbox".utf8)
    receipt.deviceHash =
      Checksum.of(
        guid + [0, 1, 2, 3] + [0x0C, UInt8(bundle.count)] + bundle, .sha1
      ).bytes
    #expect(receipt.deviceBinding.matches(device))
    #expect(receipt.deviceBinding.matches(try Fixtures.device("00112233-4455-6677-8899-aabbccddeeff")))
    receipt.deviceHash = Checksum.of(guid + [0, 1, 2, 3] + bundle, .sha1).bytes
    #expect(!receipt.deviceBinding.matches(device))
  }

  @Test("SHA-1 is SHA-1: the digest of abc (FIPS 180)")
  func sha1() {
    #expect(
      Hexadecimal.encode(Checksum.of(Array("abc".utf8), .sha1).bytes)
        == "a9993e364706816aba3e25717850c26c9cd0d89d")
  }

  @Test("a receipt bound to one device is not bound to another, and an unbound one to none")
  func binding() throws {
    var receipt = Fixtures.receipt()
    #expect(!receipt.deviceBinding.matches(try Fixtures.device("reader-1")))
    receipt.bind(to: try Fixtures.device("reader-1"))
    #expect(receipt.deviceBinding.matches(try Fixtures.device("reader-1")))
    #expect(!receipt.deviceBinding.matches(try Fixtures.device("reader-2")))
  }

  @Test("a device that is no UUID is known by its text")
  func textGUID() throws {
    #expect(try Fixtures.device("reader-1").receiptGUID == Array("reader-1".utf8))
    #expect(try Fixtures.device("0011223-34455-6677-8899-AABBCCDDEEFF").receiptGUID.count == 36)
  }

  @Test(
    "the environment comes from attribute 0",
    arguments: [
      ("Production", StoreEnvironment.production), ("ProductionVPP", .production),
      ("ProductionSandbox", .sandbox), ("Sandbox", .sandbox), ("Xcode", .xcode), ("LocalTesting", nil),
      ("", nil),
    ])
  func environments(name: String, expected: StoreEnvironment?) {
    var receipt = Fixtures.receipt()
    receipt.environmentName = name
    #expect(receipt.environment == expected)
  }
}
