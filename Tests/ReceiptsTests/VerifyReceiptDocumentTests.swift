import CoreTypes
import FoundationEssentials
import Testing

@testable import Receipts

@Suite("The documents of verifyReceipt")
struct VerifyReceiptDocumentTests {
  func response(_ json: String) throws -> VerifyReceiptResponse {
    try VerifyReceiptResponse(json: Array(json.utf8))
  }

  func purchase(_ members: String) throws -> InAppPurchase {
    let json = #"{"transaction_id":"1","product_id":"p","purchase_date_ms":"1536124713000"\#(members)}"#
    return try JSONDecoder().decode(InAppPurchase.self, from: Data(json.utf8))
  }

  func members(_ purchase: InAppPurchase) throws -> [String: String] {
    try JSONDecoder().decode([String: String].self, from: JSONEncoder().encode(purchase))
  }

  @Test("every date is written three times, in GMT, in milliseconds and in California's time")
  func triplet() throws {
    var purchase = Fixtures.purchase("1")
    purchase.purchaseDate = Fixtures.moment("2018-09-05T05:18:33Z")
    let members = try members(purchase)
    #expect(members["purchase_date"] == "2018-09-05 05:18:33 Etc/GMT")
    #expect(members["purchase_date_ms"] == "1536124713000")
    #expect(members["purchase_date_pst"] == "2018-09-04 22:18:33 America/Los_Angeles")
  }

  @Test(
    "California has summer time from the second Sunday of March to the first of November",
    arguments: [
      ("2026-03-08T09:59:59Z", "2026-03-08 01:59:59"), ("2026-03-08T10:00:00Z", "2026-03-08 03:00:00"),
      ("2026-11-01T08:59:59Z", "2026-11-01 01:59:59"), ("2026-11-01T09:00:00Z", "2026-11-01 01:00:00"),
    ])
  func california(moment: String, local: String) throws {
    var purchase = Fixtures.purchase("1")
    purchase.purchaseDate = Fixtures.moment(moment)
    #expect(try members(purchase)["purchase_date_pst"] == "\(local) America/Los_Angeles")
  }

  @Test(
    "dates are read from milliseconds as text or number, from GMT text, and from old milliseconds",
    arguments: [
      #""expires_date_ms":"1536124713000""#, #""expires_date_ms":1536124713000"#,
      #""expires_date":"2018-09-05 05:18:33 Etc/GMT""#, #""expires_date":"1536124713000""#,
      #""expires_date":"2018-09-05T05:18:33Z""#,
    ])
  func dateSpellings(member: String) throws {
    #expect(try purchase("," + member).expiresDate == Fixtures.moment("2018-09-05T05:18:33Z"))
  }

  @Test("identifiers are read as text or as numbers, and an empty cancellation date is none")
  func lenientIdentifiers() throws {
    let json = """
      {"transaction_id":2000000000000001,"original_transaction_id":"2000000000000000","product_id":"p",
       "purchase_date_ms":1536124713000,"web_order_line_item_id":2000000000000000,"quantity":2,
       "cancellation_date":"","is_trial_period":"false","is_in_intro_offer_period":true}
      """
    let purchase = try JSONDecoder().decode(InAppPurchase.self, from: Data(json.utf8))
    #expect(purchase.transactionIdentifier == "2000000000000001")
    #expect(purchase.webOrderLineItemIdentifier == 2_000_000_000_000_000)
    #expect(purchase.quantity == 2)
    #expect(purchase.cancellationDate == nil)
    #expect(purchase.isTrialPeriod == false)
    #expect(purchase.isInIntroductoryOfferPeriod == true)
  }

  @Test(
    "is_retryable has two spellings and five kinds of value",
    arguments: [
      (#""is_retryable":true"#, true), (#""is_retryable":false"#, false), (#""is-retryable":"1""#, true),
      (#""is-retryable":"0""#, false), (#""is-retryable":1"#, true), (#""is_retryable":0"#, false),
      (#""is_retryable":"true""#, true),
    ])
  func retryable(member: String, expected: Bool) throws {
    let answer = try response(#"{"environment":"Production","status":21010,\#(member)}"#)
    #expect(answer.isRetryable == expected)
    #expect(answer.status.rawValue == 21010)
  }

  @Test("pending_renewal_info is read in any spelling, and written as text")
  func pendingRenewals() throws {
    let member =
      #"{"original_transaction_id":"7","product_id":"com.example.monthly","auto_renew_product_id":"com.example.yearly","#
      + #""auto_renew_status":"1","expiration_intent":"2","is_in_billing_retry_period":"1","#
      + #""grace_period_expires_date":"2018-09-05 05:18:33 Etc/GMT","grace_period_expires_date_ms":"1536124713000","#
      + #""grace_period_expires_date_pst":"2018-09-04 22:18:33 America/Los_Angeles","#
      + #""price_consent_status":"0","price_increase_status":"1","promotional_offer_id":"p","offer_code_ref_name":"c"}"#
    let lenient = member.replacing(#""auto_renew_status":"1""#, with: #""auto_renew_status":1"#)
      .replacing(#""expiration_intent":"2""#, with: #""expiration_intent":2"#)
      .replacing(#""original_transaction_id":"7""#, with: #""original_transaction_id":7"#)
    for (list, text) in [(true, member), (false, member), (true, lenient)] {
      let answer = try response(#"{"status":0,"pending_renewal_info":\#(list ? "[\(text)]" : text)}"#)
      let renewal = try #require(answer.pendingRenewalInfo?.first)
      #expect(renewal.originalTransactionIdentifier == "7")
      #expect(renewal.productIdentifier == "com.example.monthly")
      #expect(renewal.autoRenewProductIdentifier == "com.example.yearly")
      #expect(renewal.autoRenews == true)
      #expect(renewal.expirationIntent == "2")
      #expect(renewal.isInBillingRetryPeriod == true)
      #expect(renewal.gracePeriodExpiresDate?.millisecondsSinceEpoch == 1_536_124_713_000)
      #expect(renewal.consentsToPrice == false)
      #expect(renewal.acceptsPriceIncrease == true)
      let written = try JSONEncoder().encode(answer)
      #expect(
        try JSONDecoder().decode(VerifyReceiptResponse.self, from: written).pendingRenewalInfo == [renewal])
      let text = String(decoding: written, as: UTF8.self)
      #expect(
        text.contains(#""auto_renew_status":"1""#)
          && text.contains(#""grace_period_expires_date_ms":"1536124713000""#))
    }
    #expect(throws: ReceiptError.self) { try response(#"{"status":0,"pending_renewal_info":[{}]}"#) }
  }

  @Test("latest_receipt_info is an object or an array")
  func objectOrArray() throws {
    let one = #"{"transaction_id":"7","product_id":"p","purchase_date_ms":"1"}"#
    for info in [one, "[\(one)]"] {
      let answer = try response(#"{"status":0,"latest_receipt_info":\#(info)}"#)
      #expect(answer.latestReceiptInfo?.map(\.transactionIdentifier) == ["7"])
    }
    #expect(try response(#"{"status":0}"#).latestReceiptInfo == nil)
  }

  @Test("an old flat receipt is a receipt with one purchase")
  func flatReceipt() throws {
    let answer = try response(
      """
      {"status":21006,"receipt":{"bid":"com.example.pullbox","transaction_id":"7","product_id":"p",
       "purchase_date_ms":"1","expires_date":"1536124713000"}}
      """)
    #expect(answer.receipt?.bundleIdentifier == "com.example.pullbox")
    #expect(answer.receipt?.purchases.first?.expiresDate == Fixtures.moment("2018-09-05T05:18:33Z"))
  }

  @Test("an answer that is written is read back")
  func roundTrip() throws {
    var purchase = Fixtures.purchase("2000000000000001")
    purchase.expiresDate = Fixtures.moment("2026-12-21T09:00:00Z")
    var answer = VerifyReceiptResponse(status: .valid)
    answer.environment = "Sandbox"
    answer.receipt = .init(Fixtures.receipt([purchase]), requestDate: Fixtures.now)
    let read = try VerifyReceiptResponse(json: Array(JSONEncoder().encode(answer)))
    #expect(read.receipt == answer.receipt)
    #expect(read.environment == "Sandbox")
  }

  @Test(
    "what is no answer is refused without being repeated",
    arguments: ["", "{}", "[]", #"{"status":"x"}"#, "<html>secret</html>", #"{"status":0,"receipt":{}}"#])
  func refused(json: String) {
    let error = #expect(throws: ReceiptError.self) { try response(json) }
    #expect(error?.message == "the store's answer is not readable")
  }
}
