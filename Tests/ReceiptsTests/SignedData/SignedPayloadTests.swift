import Commerce
import CoreTypes
import Crypto
import Foundation
import Testing

@testable import Receipts

@Suite("Payloads of signed data")
struct SignedPayloadTests {
  func decode<Payload: Decodable>(_ text: String, as type: Payload.Type = Payload.self) throws -> Payload {
    try SignedPayload.decode(type, from: Array(text.utf8))
  }

  @Test("every member may be missing")
  func empty() throws {
    #expect(try decode("{}", as: SignedTransaction.self) == SignedTransaction())
    #expect(try decode("{}", as: SignedRenewalInfo.self) == SignedRenewalInfo())
    #expect(try decode("{}", as: SignedAppTransaction.self) == SignedAppTransaction())
    #expect(try decode("{}", as: SignedNotification.self) == SignedNotification())
    #expect(SignedTransaction().vouched(by: .apple) == nil)
  }

  @Test("unknown members are passed over, and unknown words are kept")
  func unknown() throws {
    let transaction: SignedTransaction = try decode(
      #"{"environment":"Moon","type":"Rental","offerType":9,"new":[{"a":null}],"revocationType":"GIFT"}"#)
    #expect(transaction.environment?.rawValue == "Moon")
    #expect(transaction.environment?.counting == nil)
    #expect(transaction.type == "Rental")
    #expect(transaction.offerType == 9)
    #expect(transaction.revocationType == "GIFT")
    let notification: SignedNotification = try decode(#"{"notificationType":"NEW","subtype":"OTHER"}"#)
    #expect(notification.notificationType?.rawValue == "NEW")
  }

  @Test("Xcode and LocalTesting count nowhere")
  func environments() {
    #expect(SignedEnvironment.xcode.counting == nil)
    #expect(SignedEnvironment.localTesting.counting == nil)
    #expect(SignedEnvironment.production.counting == .production)
    #expect(SignedEnvironment.sandbox.counting == .sandbox)
  }

  @Test(
    "dates are milliseconds, and those out of range are brought to its ends",
    arguments: [
      ("1700000000000", 1_700_000_000_000), ("1700000000000.75", 1_700_000_000_000), ("0", 0), ("-5", 0),
      ("1e300", 253_402_300_799_999), ("-1e300", 0),
    ] as [(String, Int64)])
  func dates(text: String, milliseconds: Int64) throws {
    let transaction: SignedTransaction = try decode(#"{"signedDate":\#(text)}"#)
    #expect(transaction.signedDate?.timestamp.millisecondsSinceEpoch == milliseconds)
  }

  @Test("what is no object, or of other types, is malformed")
  func malformed() {
    for text in ["", "[]", "1", "null", #"{"signedDate":"today"}"#, #"{"transactionId":7}"#, "{"] {
      let error = #expect(throws: ReceiptError.self) { try decode(text, as: SignedTransaction.self) }
      #expect(error?.code == .malformed)
    }
  }

  private func transaction() throws -> SignedTransaction {
    try decode(
      """
      {"transactionId":"2","originalTransactionId":"1","productId":"com.example.monthly","bundleId":"b",
       "purchaseDate":1000,"expiresDate":5000,"signedDate":2000,"environment":"Sandbox"}
      """)
  }

  private func renewal() throws -> SignedRenewalInfo {
    try decode(
      #"{"originalTransactionId":"1","productId":"com.example.monthly","gracePeriodExpiresDate":9000,"signedDate":3000}"#
    )
  }

  @Test("a store vouches for a transaction as of the date at which it signed")
  func vouched() throws {
    let vouched = try #require(try transaction().vouched(by: .apple))
    #expect(vouched.id.description == "2")
    #expect(vouched.originalID.description == "1")
    #expect(vouched.expiresDate == Timestamp(millisecondsSinceEpoch: 5000))
    #expect(vouched.asOf == Timestamp(millisecondsSinceEpoch: 2000))
    #expect(vouched.revokedDate == nil)
    #expect(vouched.quantity == 1)
    for name in ["transactionId", "productId", "purchaseDate", "environment"] {
      var members = try #require(
        try JSONSerialization.jsonObject(with: JSONEncoder().encode(try transaction())) as? [String: Any])
      members[name] = nil
      let rest = Array(try JSONSerialization.data(withJSONObject: members))
      #expect(try SignedPayload.decode(SignedTransaction.self, from: rest).vouched(by: .apple) == nil)
    }
  }

  @Test("the grace of a renewal counts for its own purchase and product alone")
  func grace() throws {
    let grace = Timestamp(millisecondsSinceEpoch: 9000)
    #expect(try transaction().vouched(by: .apple, renewal: renewal())?.graceExpiresDate == grace)
    var other = try renewal()
    other.originalTransactionId = "7"
    #expect(try transaction().vouched(by: .apple, renewal: other)?.graceExpiresDate == nil)
    var another = try renewal()
    another.productId = "com.example.yearly"
    #expect(try transaction().vouched(by: .apple, renewal: another)?.graceExpiresDate == nil)
  }

  @Test("the charging behind a period of the year 9999 ends with that year, the last that RFC 3339 can write")
  func lastYear() throws {
    let end = try #require(Timestamp(rfc3339: "9999-12-01T00:00:00Z"))
    var bought = try transaction()
    bought.expiresDate = SignedDate(end)
    var charged = try renewal()
    charged.isInBillingRetryPeriod = true
    let vouched = try #require(bought.vouched(by: .apple, renewal: charged))
    #expect(vouched.expiresDate == end)
    #expect(vouched.billingRetryEndDate == Timestamp(rfc3339: "9999-12-31T23:59:59.999Z"))
  }

  @Test("what was upgraded ends where the other began, and is no refund")
  func upgraded() throws {
    var upgraded = try transaction()
    upgraded.isUpgraded = true
    upgraded.revocationDate = SignedDate(Timestamp(millisecondsSinceEpoch: 3000))
    let vouched = try #require(upgraded.vouched(by: .apple))
    #expect(vouched.expiresDate == Timestamp(millisecondsSinceEpoch: 3000))
    #expect(vouched.revokedDate == nil)
  }

  @Test("an upgraded period that was refunded is a refund: its end has a reason, or a kind")
  func upgradedAndRefunded() throws {
    let date = Timestamp(millisecondsSinceEpoch: 3000)
    var upgraded = try transaction()
    upgraded.isUpgraded = true
    upgraded.revocationDate = SignedDate(date)
    for (reason, kind) in [(0, nil), (1, nil), (nil, "REFUND_FULL")] as [(Int?, String?)] {
      upgraded.revocationReason = reason
      upgraded.revocationType = kind
      let vouched = try #require(upgraded.vouched(by: .apple))
      #expect(vouched.revokedDate == date)
      #expect(vouched.expiresDate == Timestamp(millisecondsSinceEpoch: 5000))
    }
  }

  @Test("the UUID of zeros, which applications send that know no account, is none")
  func noAccount() throws {
    var bought = try transaction()
    bought.appAccountToken = "00000000-0000-0000-0000-000000000000"
    let unnamed = try #require(bought.vouched(by: .apple))
    #expect(unnamed.account == nil)
    bought.appAccountToken = "7e3973a5-97d4-4f63-9e36-8a2b3bd8f6a1"
    #expect(
      try #require(bought.vouched(by: .apple)).account
        == ApplicationAccount("7e3973a5-97d4-4f63-9e36-8a2b3bd8f6a1"))
  }

  @Test("a token names key, account, audience and application, and counts five minutes")
  func token() throws {
    let key = try PrivateKey.generate(.p256)
    let apiKey = try StoreAPIKey(
      pem: try key.pem(), issuer: "issuer-1", keyIdentifier: "ABC1234567", bundle: "com.example.b")
    let parts = try apiKey.token(at: Timestamp(millisecondsSinceEpoch: 1_700_000_000_999)).split(
      separator: ".")
    func members(_ part: Substring) throws -> [String: Any] {
      let bytes = try #require(Base64.decode(part, .url))
      return try #require(try JSONSerialization.jsonObject(with: Data(bytes)) as? [String: Any])
    }
    let (header, claims) = (try members(parts[0]), try members(parts[1]))
    #expect(header as? [String: String] == ["alg": "ES256", "kid": "ABC1234567", "typ": "JWT"])
    #expect(claims["iss"] as? String == "issuer-1")
    #expect(claims["bid"] as? String == "com.example.b")
    #expect(claims["aud"] as? String == "appstoreconnect-v1")
    #expect(claims["iat"] as? Int == 1_700_000_000)
    #expect(claims["exp"] as? Int == 1_700_000_300)
    #expect(Base64.decode(parts[2], .url)?.count == 64)
    #expect("\(apiKey)" == "store API key ABC1234567")
    let other = try PrivateKey.generate(.p384)
    #expect(throws: ReceiptError.self) {
      try StoreAPIKey(pem: try other.pem(), issuer: "i", keyIdentifier: "k", bundle: "b")
    }
  }
}
