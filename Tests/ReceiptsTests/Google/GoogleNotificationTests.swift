import Commerce
import CoreTypes
import Crypto
import Testing

@testable import Receipts

@Suite("Notifications of Google Play")
struct GoogleNotificationTests {
  private func notification(_ content: String) throws -> GoogleNotification {
    try GoogleNotification(
      data: Array(
        #"{"version":"1.0","packageName":"com.example.app","eventTimeMillis":"1800000000123",\#(content)}"#
          .utf8))
  }

  @Test("each kind names its purchase and nothing of its state")
  func kinds() throws {
    let token = try GoogleDocuments.token("t")
    let subscription = try notification(
      #""subscriptionNotification":{"version":"1.0","notificationType":2,"purchaseToken":"t"}"#)
    #expect(subscription.subject == .subscription(token) && subscription.kind == "subscription.2")
    #expect(subscription.package == "com.example.app")
    #expect(subscription.date == Timestamp(millisecondsSinceEpoch: 1_800_000_000_123))
    let product = try notification(
      #""oneTimeProductNotification":{"version":"1.0","notificationType":1,"purchaseToken":"t","sku":"s"}"#)
    #expect(product.subject == .product(token) && product.kind == "product.1")
    let order = try #require(GoogleOrder("GPA.1"))
    let voided = try notification(
      #""voidedPurchaseNotification":{"purchaseToken":"t","orderId":"GPA.1","productType":1,"refundType":2}"#)
    #expect(voided.subject == .voided(token, order: order, isSubscription: true, isPartial: true))
    let test = try notification(#""testNotification":{"version":"1.0"}"#)
    #expect(test.subject == .test && test.kind == "test")
    let later = try notification(#""somethingNewNotification":{}"#)
    #expect(later.subject == nil && later.kind == "unknown")
  }

  @Test(
    "one without a purchase, of two things, or without a date is refused",
    arguments: [
      #""subscriptionNotification":{"notificationType":2}"#,
      #""subscriptionNotification":{"purchaseToken":"a/b"}"#,
      #""voidedPurchaseNotification":{"purchaseToken":"t"}"#,
      #""testNotification":{},"oneTimeProductNotification":{"purchaseToken":"t"}"#,
      #""eventTimeMillis":"-1","testNotification":{}"#,
      #""eventTimeMillis":"x","testNotification":{}"#,
    ])
  func refused(_ content: String) {
    #expect(throws: ReceiptError.self) {
      try GoogleNotification(
        data: Array(
          #"{"packageName":"a",\#(content.contains("eventTime") ? "" : #""eventTimeMillis":"1","#)\#(content)}"#
            .utf8))
    }
  }

  @Test("a message of Pub/Sub has a name and data in base 64")
  func envelope() throws {
    let message = try GooglePushMessage(
      body: Array(
        #"{"message":{"attributes":{},"data":"e30=","messageId":"7"},"subscription":"projects/p/subscriptions/s"}"#
          .utf8))
    #expect(message.identifier == "7" && message.data == Array("{}".utf8))
    for body in [
      #"{"message":{"data":"e30="}}"#, #"{"message":{"data":"!","messageId":"7"}}"#,
      #"{"message":{"messageId":"7"}}"#,
      #"{"message":{"data":"e30=","messageId":""}}"#, "{}",
      #"{"message":{"data":"e30=","messageId":"7\u0000"}}"#,
    ] {
      #expect(throws: ReceiptError.self) { try GooglePushMessage(body: Array(body.utf8)) }
    }
  }

  @Test("a page of refunds names orders, tokens and dates; what is not readable is passed over")
  func voided() throws {
    let page = try GoogleVoidedPage(
      response: Array(
        """
        {"tokenPagination":{"nextPageToken":"n"},"voidedPurchases":[
        {"purchaseToken":"t","orderId":"GPA.1..0","purchaseTimeMillis":"1","voidedTimeMillis":"5","voidedReason":8},
        {"purchaseToken":"a b","orderId":"GPA.1","voidedTimeMillis":"5"},{"orderId":"GPA.2"}]}
        """.utf8))
    #expect(page.items.map(\.order.id.description) == ["GPA.1..0"])
    #expect(page.items.first?.date == Timestamp(millisecondsSinceEpoch: 5))
    #expect(page.nextPage == "n")
    #expect(try GoogleVoidedPage(response: Array("{}".utf8)).items.isEmpty)
  }
}

@Suite("Who pushes a notification")
struct IdentityTokenTests {
  private static let expected = IdentityToken.Expectation(
    audience: "https://pullbox.example/v1/notifications/google", email: "push@p.iam.gserviceaccount.com")

  private func token(
    header: String = #"{"alg":"RS256","kid":"k1","typ":"JWT"}"#, _ changes: [String: String] = [:],
    by key: RS256Key = GoogleDocuments.key
  ) -> String {
    var claims = [
      "iss": #""https://accounts.google.com""#, "aud": "\"\(Self.expected.audience)\"",
      "email": #""push@p.iam.gserviceaccount.com""#, "email_verified": "true", "sub": #""1""#,
      "iat": "1800000000", "exp": "1800003600",
    ]
    for (name, value) in changes { claims[name] = value.isEmpty ? nil : value }
    let payload = "{" + claims.map { "\"\($0.key)\":\($0.value)" }.joined(separator: ",") + "}"
    let input = Base64.encode(Array(header.utf8), .url) + "." + Base64.encode(Array(payload.utf8), .url)
    return input + "." + Base64.encode(key.sign(Array(input.utf8)), .url)
  }

  private func check(
    _ token: String, _ expected: IdentityToken.Expectation = expected, at now: Timestamp = GoogleDocuments.now
  ) throws {
    let keys = try IdentityKeys(
      document: IdentityKeys.document(publishing: GoogleDocuments.key.publicKey, named: "k1"))
    _ = try IdentityToken(text: token, keys: keys, expected: expected, at: now)
  }

  @Test(
    "a token of the issuer's for this receiver, by this account, counts for its time and a minute of skew")
  func genuine() throws {
    #expect(IdentityToken.keyIdentifier(of: token()) == "k1")
    try check(token())
    try check(token(["iss": #""accounts.google.com""#]))
    try check(token(["email": #""other@x""#]), .init(audience: Self.expected.audience, email: "other@x"))
    try check(token(), at: GoogleDocuments.now + .seconds(3659))
    try check(token(), at: GoogleDocuments.now - .seconds(60))
  }

  @Test("a token that has a claim twice, or a member of its header, is malformed whichever is the good one")
  func doubledMembers() throws {
    for text in [
      token(["email": #""push@p.iam.gserviceaccount.com","email":"other@x""#]),
      token(["email_verified": #"true,"email_verifi\u0065d":false"#]), token(["sub": #""1","sub":"1""#]),
      token(header: #"{"alg":"RS256","kid":"k1","alg":"none"}"#),
      token(header: #"{"kid":"k2","alg":"RS256","kid":"k1"}"#),
    ] {
      let error = #expect(throws: ReceiptError.self) { try check(text) }
      #expect(error?.code == .malformed)
    }
  }

  @Test("another key, name of a key, issuer, receiver, account, time or algorithm is refused")
  func forged() throws {
    let (early, late) = (GoogleDocuments.now - .seconds(61), GoogleDocuments.now + .seconds(3660))
    for (text, moment) in [
      (token(by: RS256Key()), GoogleDocuments.now),
      (token(header: #"{"alg":"RS256","kid":"k2"}"#), GoogleDocuments.now),
      (token(header: #"{"alg":"RS256"}"#), GoogleDocuments.now),
      (token(header: #"{"alg":"none","kid":"k1"}"#), GoogleDocuments.now),
      (token(header: #"{"alg":"HS256","kid":"k1"}"#), GoogleDocuments.now),
      (token(header: #"{"alg":"RS256","kid":"k1","crit":["b64"]}"#), GoogleDocuments.now),
      (token(["iss": #""https://accounts.example""#]), GoogleDocuments.now),
      (token(["aud": #""https://another.example""#]), GoogleDocuments.now),
      (token(["email": #""another@p""#]), GoogleDocuments.now),
      (token(["email": ""]), GoogleDocuments.now), (token(["email_verified": "false"]), GoogleDocuments.now),
      (token(["exp": "1900000000"]), GoogleDocuments.now), (token(["exp": ""]), GoogleDocuments.now),
      (token(["iat": "9223372036854775807"]), GoogleDocuments.now), (token(), early), (token(), late),
      ("", GoogleDocuments.now), ("a.b", GoogleDocuments.now), (token() + ".x", GoogleDocuments.now),
      (token() + "=", GoogleDocuments.now), (String(token().dropLast(4)), GoogleDocuments.now),
    ] {
      #expect(throws: ReceiptError.self, "\(text)") { try check(text, at: moment) }
    }
    // The payload of another token under this signature.
    let (left, right) = (token().split(separator: "."), token(["aud": #""x""#]).split(separator: "."))
    #expect(throws: ReceiptError.self) { try check("\(left[0]).\(right[1]).\(left[2])") }
  }

  @Test("a set of keys without one for RS256 is refused; others in it are passed over")
  func keys() throws {
    let document = try IdentityKeys.document(publishing: GoogleDocuments.key.publicKey, named: "k1")
    #expect(try IdentityKeys(document: document)["k1"]?.modulus == GoogleDocuments.key.publicKey.modulus)
    for text in [
      #"{"keys":[]}"#, #"{"keys":[{"kty":"EC","kid":"a","crv":"P-256"}]}"#,
      #"{"keys":[{"kty":"RSA","kid":"a","n":"AQAB","e":"AQAB"}]}"#,
      #"{"keys":[{"kty":"RSA","kid":"a","n":"","e":""}]}"#, "{}", "",
    ] {
      #expect(throws: ReceiptError.self, "\(text)") { try IdentityKeys(document: Array(text.utf8)) }
    }
  }
}
