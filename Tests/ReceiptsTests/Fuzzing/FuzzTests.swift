import CoreTypes
import Crypto
import PullboxTesting
import Testing

@testable import Receipts

/// Bounded runs of the fuzz targets; `scripts/fuzz` runs them without bounds.
@Suite("Bytes of stores and customers, changed at random")
struct FuzzTests {
  static let rounds = 20_000

  /// Signatures of zeros over a header without certificates, one with garbage for certificates, and payloads of each type.
  private static let jwsSeeds = [
    #"{"alg":"ES256"}"#, #"{"alg":"ES256","x5c":["AAAA","MIIB","MA=="]}"#,
  ].flatMap { header in
    [
      "{}", #"{"signedDate":1795249800000,"transactionId":"1","environment":"Sandbox"}"#,
      #"{"notificationType":"REFUND","data":{"bundleId":"a.b"},"signedDate":1e300}"#,
    ].map { payload in
      [Array(header.utf8), Array(payload.utf8), [UInt8](repeating: 0, count: 64)]
        .map { Base64.encode($0, .url) }.joined(separator: ".")
    }
  }

  /// The notifications of a refund, of a renewal that is put off for all, and of a test.
  private static let notificationSeeds = [
    #"{"notificationType":"TEST","notificationUUID":"1","version":"2.0","signedDate":1795249800000,"#
      + #""data":{"bundleId":"a.b","environment":"Sandbox"}}"#,
    #"{"notificationType":"REFUND","subtype":"OTHER","notificationUUID":"2","signedDate":1795249800000,"data":{"#
      + #""appAppleId":7,"bundleId":"a.b","bundleVersion":"1","environment":"Production","status":5,"#
      + #""signedTransactionInfo":"\#(jwsSeeds[1])","signedRenewalInfo":"\#(jwsSeeds[3])"}}"#,
    #"{"notificationType":"RENEWAL_EXTENSION","subtype":"SUMMARY","notificationUUID":"3","signedDate":1,"#
      + #""summary":{"bundleId":"a.b","productId":"p","succeededCount":2,"failedCount":0}}"#,
  ]

  /// An access token, a set of keys, the claims of a caller, and a token without a signature.
  private static let oauthSeeds = [
    #"{"access_token":"ya29.a","expires_in":3599,"token_type":"Bearer"}"#,
    #"{"keys":[{"kty":"RSA","kid":"k1","alg":"RS256","use":"sig","n":"\#(Base64.encode([UInt8](repeating: 0xA5, count: 256), .url))","e":"AQAB"}]}"#,
    #"{"iss":"https://accounts.google.com","aud":"https://a.example","email":"push@a.b","email_verified":true,"#
      + #""iat":1799999990,"exp":1800003590}"#,
    "eyJhbGciOiJSUzI1NiIsImtpZCI6ImsxIn0.e30.AAAA",
  ]

  static func mutator(for target: FuzzTarget) throws -> Mutator {
    switch target {
    case .receipt: return try Mutator(seed: 16, corpus: "receipt")
    case .google: return try Mutator(seed: 17, corpus: "google")
    case .payload:
      var subscription = Fixtures.purchase("2000000000000002", product: "com.example.heroes.monthly")
      subscription.expiresDate = Fixtures.now + .seconds(300)
      subscription.isTrialPeriod = true
      subscription.webOrderLineItemIdentifier = 2_000_000_000_000_000
      var receipt = Fixtures.receipt([])
      let seeds = [[], [Fixtures.purchase("1")], [subscription, Fixtures.purchase("3")]].map { purchases in
        receipt.purchases = purchases
        return receipt.encodedPayload
      }
      return Mutator(
        seed: 11, seeds: seeds,
        words: [
          [0x31, 0x80], [0x30, 0x03, 0x02, 0x01, 0x11], [0x04, 0x82, 0xFF, 0xFF], [0x02, 0x02, 0x06, 0xAA],
          [0x0C, 0x00], [0x16, 0x00], [0x04, 0x84, 0x7F, 0xFF, 0xFF, 0xFF],
          Array("2026-11-21T09:00:00Z".utf8), Array("2020-07-22T18:33:15+0100".utf8),
        ])
    case .verifyReceipt:
      return Mutator(
        seed: 12,
        seeds: [
          #"{"status":21007}"#, #"{"environment":"Production","status":21010,"is-retryable":"0"}"#,
          #"{"status":0,"receipt":{"bid":"a.b","transaction_id":"1","product_id":"p","purchase_date_ms":"5"}}"#,
          #"{"status":0,"environment":"Sandbox","receipt":{"receipt_type":"ProductionSandbox","bundle_id":"a.b","adam_id":0,"#
            + #""in_app":[{"quantity":"1","product_id":"p","transaction_id":"7","original_transaction_id":"7","#
            + #""purchase_date":"2018-09-05 05:18:33 Etc/GMT","purchase_date_ms":"1536124713000","is_trial_period":"false"}]},"#
            + #""latest_receipt_info":{"product_id":"p","transaction_id":"8","purchase_date_ms":9,"expires_date":"1536124713000"}}"#,
          #"{"status":"0","pending_renewal_info":[{"auto_renew_product_id":"p","auto_renew_status":"1","#
            + #""expiration_intent":"2","original_transaction_id":"7","grace_period_expires_date_ms":"1536124713000"}]}"#,
        ],
        words: [
          "{", "}", "[", "]", "\"", ":", ",", "\\u0000", "null", "true", "-1", "1e400", "9223372036854775808",
          "\"cancellation_date_ms\":\"\"", "\"in_app\":", "_ms", "_pst", "Etc/GMT",
        ])
    case .jws:
      return Mutator(
        seed: 13, seeds: jwsSeeds, words: [".", "..", "=", "-", "_", "eyJ", "e30", "W10", "AAAA"])
    case .notification:
      return Mutator(
        seed: 14, seeds: notificationSeeds,
        words: [
          "{", "}", "[", "]", "\"", ":", ",", "\\u0000", "null", "true", "-1", "1e400", "9223372036854775808",
          "\"data\":", "\"summary\":", "\"signedDate\":", "\"signedTransactionInfo\":\"..\"",
          "1795249800000.5",
        ])
    case .oauth:
      return Mutator(
        seed: 15, seeds: oauthSeeds,
        words: [
          "{", "}", "[", "]", "\"", ":", ",", ".", "\\u0000", "\\n", "null", "true", "-1", "1e400",
          "9223372036854775807", "\"access_token\":", "\"expires_in\":", "\"aud\":", "\"iat\":",
          "\"n\":\"AQAB\"",
          "eyJhbGciOiJSUzI1NiIsImtpZCI6ImsxIn0",
        ])
    }
  }

  @Test("no mutation of an input breaks a rule", arguments: FuzzTarget.allCases)
  func mutations(_ target: FuzzTarget) throws {
    var mutator = try Self.mutator(for: target)
    if let failure = mutator.firstFailure(in: Self.rounds, of: target.check) {
      Issue.record("\(target): \(failure)")
    }
  }

  @Test("a seed is taken, not refused: what is found by changing it lies behind the first check")
  func seeds() throws {
    var (payloads, answers) = (try Self.mutator(for: .payload), try Self.mutator(for: .verifyReceipt))
    let taken = (0..<1000).map { _ in (try? AppReceipt(payload: payloads.next())) != nil }
    #expect(taken.contains(true))
    let read = (0..<1000).map { _ in (try? VerifyReceiptResponse(json: answers.next())) != nil }
    #expect(read.contains(true))
    var texts = try Self.mutator(for: .jws)
    let signed = (0..<1000).map { _ in
      (try? SignedData(text: String(decoding: texts.next(), as: UTF8.self))) != nil
    }
    #expect(signed.contains(true))
    var posted = try Self.mutator(for: .notification)
    let told = (0..<1000).map { _ in
      (try? SignedPayload.decode(SignedNotification.self, from: posted.next()))?.data != nil
    }
    #expect(told.contains(true))
    var tokens = try Self.mutator(for: .oauth)
    let given = (0..<1000).map { _ in
      (try? GoogleAccessToken(response: tokens.next(), askedAt: Fixtures.now)) != nil
    }
    #expect(given.contains(true))
    var handed = try Self.mutator(for: .receipt)
    let held = (0..<1000).map { _ in (try? UnverifiedAppReceipt(encoded: handed.next())) != nil }
    #expect(held.contains(true))
  }
}
