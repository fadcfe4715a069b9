import CoreTypes
import FoundationEssentials
import PullboxTesting
import Testing

@testable import Receipts

/// The request, the answer, and which of its members are strings, numbers and dates in Apple's documentation.
@Suite("verifyReceipt on the wire")
struct VerifyReceiptFormatTests {
  func response(_ json: String) throws -> VerifyReceiptResponse {
    try VerifyReceiptResponse(json: Array(json.utf8))
  }

  func receipt(_ members: String) throws -> VerifyReceiptResponse.Receipt {
    let answer = try response(#"{"status":0,"receipt":{"bundle_id":"com.example.pullbox"\#(members)}}"#)
    return try #require(answer.receipt)
  }

  func purchase(_ members: String) throws -> InAppPurchase {
    let required = #""transaction_id":"7","product_id":"p","purchase_date_ms":"1536124713000""#
    return try #require(try receipt(#","in_app":[{\#(required)\#(members)}]"#).purchases.first)
  }

  @Test("an answer about a receipt: numbers of the app, strings of the purchases, each date three times")
  func golden() throws {
    var answer = VerifyReceiptResponse(status: .valid)
    answer.environment = "Production"
    let claims = try ReceiptVectors.receipt("production").claims
    answer.receipt = .init(claims, requestDate: Fixtures.moment("2026-11-21T09:00:00Z"))
    let golden = """
      {"status":0,"environment":"Production","receipt":{
       "receipt_type":"Production","bundle_id":"com.example.pullbox","adam_id":690661663,
       "app_item_id":690661663,"application_version":"15741","download_id":74011462945433,
       "version_external_identifier":862654545,"original_application_version":"15000",
       "receipt_creation_date":"2024-02-23 17:27:16 Etc/GMT","receipt_creation_date_ms":"1708709236000",
       "receipt_creation_date_pst":"2024-02-23 09:27:16 America/Los_Angeles",
       "request_date":"2026-11-21 09:00:00 Etc/GMT","request_date_ms":"1795251600000",
       "request_date_pst":"2026-11-21 01:00:00 America/Los_Angeles",
       "original_purchase_date":"2023-11-30 19:00:00 Etc/GMT","original_purchase_date_ms":"1701370800000",
       "original_purchase_date_pst":"2023-11-30 11:00:00 America/Los_Angeles",
       "in_app":[
        {"quantity":"1","product_id":"com.example.issue7","transaction_id":"580001100000007",
         "original_transaction_id":"580001100000007","web_order_line_item_id":"0",
         "is_trial_period":"false","is_in_intro_offer_period":"false",
         "purchase_date":"2023-12-01 08:00:00 Etc/GMT","purchase_date_ms":"1701417600000",
         "purchase_date_pst":"2023-12-01 00:00:00 America/Los_Angeles",
         "original_purchase_date":"2023-12-01 08:00:00 Etc/GMT","original_purchase_date_ms":"1701417600000",
         "original_purchase_date_pst":"2023-12-01 00:00:00 America/Los_Angeles",
         "cancellation_date":"2023-12-24 20:15:00 Etc/GMT","cancellation_date_ms":"1703448900000",
         "cancellation_date_pst":"2023-12-24 12:15:00 America/Los_Angeles"},
        {"quantity":"1","product_id":"com.example.monthly","transaction_id":"580001133445566",
         "original_transaction_id":"580001122334455","web_order_line_item_id":"2000000000000000",
         "is_trial_period":"false","is_in_intro_offer_period":"true","promotional_offer_id":"spring",
         "purchase_date":"2024-02-23 17:27:14 Etc/GMT","purchase_date_ms":"1708709234000",
         "purchase_date_pst":"2024-02-23 09:27:14 America/Los_Angeles",
         "original_purchase_date":"2024-01-23 17:27:15 Etc/GMT","original_purchase_date_ms":"1706030835000",
         "original_purchase_date_pst":"2024-01-23 09:27:15 America/Los_Angeles",
         "expires_date":"2024-03-23 16:27:14 Etc/GMT","expires_date_ms":"1711211234000",
         "expires_date_pst":"2024-03-23 09:27:14 America/Los_Angeles"},
        {"quantity":"1","product_id":"com.example.monthly","transaction_id":"580001122334455",
         "original_transaction_id":"580001122334455","web_order_line_item_id":"580000987654321",
         "is_trial_period":"true","is_in_intro_offer_period":"false",
         "purchase_date":"2024-01-23 17:27:14 Etc/GMT","purchase_date_ms":"1706030834000",
         "purchase_date_pst":"2024-01-23 09:27:14 America/Los_Angeles",
         "original_purchase_date":"2024-01-23 17:27:15 Etc/GMT","original_purchase_date_ms":"1706030835000",
         "original_purchase_date_pst":"2024-01-23 09:27:15 America/Los_Angeles",
         "expires_date":"2024-02-23 17:27:14 Etc/GMT","expires_date_ms":"1708709234000",
         "expires_date_pst":"2024-02-23 09:27:14 America/Los_Angeles"}]}}
      """
    #expect(try JSONValue(written: answer) == JSONValue(golden))
    let read = try response(golden)
    #expect(read.receipt == answer.receipt?.withoutHints)
    #expect(read.environment == "Production")
    #expect(read.status == .valid)
  }

  @Test("an entry of latest_receipt_info has what only the store knows, all of it text")
  func goldenLatest() throws {
    var entry = Fixtures.purchase("2000000000000007", product: "com.example.monthly")
    entry.quantity = 1
    entry.cancellationReason = "1"
    entry.ownershipType = "FAMILY_SHARED"
    entry.isUpgraded = true
    entry.subscriptionGroupIdentifier = "20400001"
    entry.offerCodeReferenceName = "launch"
    entry.appAccountToken = "7e3fb20b-4cdb-47cc-936d-99d65f608138"
    var answer = VerifyReceiptResponse(status: .valid)
    answer.latestReceipt = "MIIB"
    answer.latestReceiptInfo = [entry]
    let golden = """
      {"status":0,"latest_receipt":"MIIB","latest_receipt_info":[
       {"quantity":"1","product_id":"com.example.monthly","transaction_id":"2000000000000007",
        "original_transaction_id":"2000000000000007","cancellation_reason":"1",
        "in_app_ownership_type":"FAMILY_SHARED","is_upgraded":"true",
        "subscription_group_identifier":"20400001","offer_code_ref_name":"launch",
        "app_account_token":"7e3fb20b-4cdb-47cc-936d-99d65f608138",
        "purchase_date":"2026-11-21 09:00:00 Etc/GMT","purchase_date_ms":"1795251600000",
        "purchase_date_pst":"2026-11-21 01:00:00 America/Los_Angeles",
        "original_purchase_date":"2026-11-21 09:00:00 Etc/GMT","original_purchase_date_ms":"1795251600000",
        "original_purchase_date_pst":"2026-11-21 01:00:00 America/Los_Angeles"}]}
      """
    #expect(try JSONValue(written: answer) == JSONValue(golden))
    #expect(try response(golden).latestReceiptInfo == [entry])
  }

  @Test("an answer without a receipt is a status alone, and is_retryable is a boolean")
  func goldenRefusals() throws {
    #expect(
      try JSONValue(written: VerifyReceiptResponse(status: .sandboxReceipt))
        == JSONValue(#"{"status":21007}"#))
    #expect(
      try JSONValue(written: VerifyReceiptResponse(status: .init(rawValue: 21100), isRetryable: true))
        == JSONValue(#"{"status":21100,"is_retryable":true}"#))
    let real = #"{"environment":"Production","status":21010,"is_retryable":false}"#
    #expect(try JSONValue(written: response(real)) == JSONValue(real))
  }

  @Test("a volume licence's end is read and written as a date, and absent when there is none")
  func expirationDate() throws {
    let read = try receipt(#","expiration_date_ms":"1708709236000""#)
    #expect(read.expirationDate == ReceiptVectors.created)
    let members = try JSONValue(written: read).members
    #expect(members["expiration_date"] == .text("2024-02-23 17:27:16 Etc/GMT"))
    #expect(members["expiration_date_ms"] == .text("1708709236000"))
    #expect(try receipt("").expirationDate == nil)
  }

  @Test("members that this version does not know are ignored, wherever they stand and whatever they hold")
  func unknownMembers() throws {
    let extra = #","tomorrow":{"a":[1,"2",null,true,{}]},"preorder_date":"2024-01-01 00:00:00 Etc/GMT""#
    #expect(try receipt(extra) == receipt(""))
    #expect(try purchase(extra) == purchase(""))
    let answer = try response(
      """
      {"status":0,"environment":"Sandbox"\(extra),"pending_renewal_info":[{"auto_renew_product_id":"p",
       "auto_renew_status":"1","original_transaction_id":"7","product_id":"p"}]}
      """)
    #expect(answer.environment == "Sandbox")
  }

  @Test(
    "numbers are read from numbers and from text, text from text and from numbers",
    arguments: [
      #""adam_id":690661663,"download_id":74011462945433,"application_version":"15741""#,
      #""adam_id":"690661663","download_id":"74011462945433","application_version":15741"#,
      #""app_item_id":690661663,"download_id":"74011462945433","application_version":"15741""#,
      #""app_item_id":"690661663","download_id":74011462945433,"application_version":15741"#,
    ])
  func numbersAndText(members: String) throws {
    let read = try receipt("," + members)
    #expect(read.appIdentifier == 690_661_663)
    #expect(read.downloadIdentifier == 74_011_462_945_433)
    #expect(read.applicationVersion == "15741")
  }

  @Test(
    "booleans are read from every spelling that stores have used",
    arguments: [
      ("true", true), ("false", false), (#""true""#, true), (#""false""#, false), (#""1""#, true),
      (#""0""#, false), ("1", true), ("0", false), ("null", nil),
    ])
  func flags(value: String, expected: Bool?) throws {
    let read = try purchase(
      #","is_trial_period":\#(value),"is_in_intro_offer_period":\#(value),"is_upgraded":\#(value)"#)
    #expect(read.isTrialPeriod == expected)
    #expect(read.isInIntroductoryOfferPeriod == expected)
    #expect(read.isUpgraded == expected)
  }

  @Test("absent, null and empty mean none, for identifiers of the app and for dates")
  func none() throws {
    for value in ["null", #""""#] {
      let read = try purchase(
        #","cancellation_date":\#(value),"cancellation_date_ms":\#(value),"expires_date":\#(value)"#)
      #expect(read.cancellationDate == nil)
      #expect(read.expiresDate == nil)
      let around = try receipt(#","adam_id":\#(value),"download_id":\#(value)"#)
      #expect(around.appIdentifier == nil)
      #expect(around.downloadIdentifier == nil)
    }
    let bare = try purchase("")
    #expect(bare.originalTransactionIdentifier == "7")
    #expect(bare.originalPurchaseDate == bare.purchaseDate)
    #expect(bare.quantity == 1)
  }

  @Test("milliseconds count before any text, and the text in GMT before none")
  func dateOrder() throws {
    let both = #","expires_date":"2001-01-01 00:00:00 Etc/GMT","expires_date_ms":"1708709236000""#
    #expect(try purchase(both).expiresDate == ReceiptVectors.created)
    let text = #","expires_date":"2024-02-23 17:27:16 Etc/GMT","expires_date_ms":"""#
    #expect(try purchase(text).expiresDate == ReceiptVectors.created)
    let old = #","expires_date":"1708709236000","expires_date_formatted":"2024-02-23 17:27:16 Etc/GMT""#
    #expect(try purchase(old).expiresDate == ReceiptVectors.created)
  }

  @Test(
    "dates before 1970 and after 9999 count as the nearest of these, which RFC 3339 can write",
    arguments: [
      ("253402300800000", 253_402_300_799_999), ("9223372036854775807", 253_402_300_799_999),
      ("-90000000000000", 0), ("-9223372036854775808", 0), ("253402300799999", 253_402_300_799_999),
    ] as [(String, Int64)])
  func extremeDates(text: String, milliseconds: Int64) throws {
    for member in ["expires_date_ms", "expires_date"] {
      let read = try purchase(#","\#(member)":"\#(text)""#).expiresDate
      #expect(read?.millisecondsSinceEpoch == milliseconds)
    }
  }

  @Test(
    "dates in text are brought to the same years as those in milliseconds",
    arguments: [
      ("1009-09-05 05:18:33 Etc/GMT", 0), ("1969-12-31 23:59:59 Etc/GMT", 0), ("0001-01-01T00:00:00Z", 0),
      ("1970-01-01 00:00:01 Etc/GMT", 1000), ("9999-12-31 23:59:59 Etc/GMT", 253_402_300_799_000),
    ] as [(String, Int64)])
  func extremeDatesInText(text: String, milliseconds: Int64) throws {
    #expect(try purchase(#","expires_date":"\#(text)""#).expiresDate?.millisecondsSinceEpoch == milliseconds)
  }

  @Test(
    "what is no date is refused, not guessed",
    arguments: [
      "yesterday", "2024-02-23", "2024-02-23 17:27:16", "2024-02-23 17:27:16 GMT",
      "2024-02-23 09:27:16 America/Los_Angeles", "2024-02-30 17:27:16 Etc/GMT", "2024-02-23 24:00:00 Etc/GMT",
      "2024-02-23 17:27 Etc/GMT", "23/02/2024 17:27:16 Etc/GMT", "2024-02-23T17:27:16", "1708709236000.5",
      "1708709236000ms", "99999999999999999999", " 2024-02-23 17:27:16 Etc/GMT x",
    ])
  func badDates(text: String) {
    #expect(throws: ReceiptError.self) { try purchase(#","expires_date":"\#(text)""#) }
    #expect(throws: ReceiptError.self) { try purchase(#","expires_date_ms":"\#(text)""#) }
  }

  /// By `TZ=America/Los_Angeles date -d @SECONDS '+%F %T'` (tzdata 2025b).
  @Test(
    "California's time is that of the zone database",
    arguments: [
      (1_194_166_799, "2007-11-04 01:59:59"), (1_194_166_800, "2007-11-04 01:00:00"),
      (1_536_124_713, "2018-09-04 22:18:33"), (1_577_836_800, "2019-12-31 16:00:00"),
      (1_583_020_800, "2020-02-29 16:00:00"), (1_609_459_199, "2020-12-31 15:59:59"),
      (1_710_064_799, "2024-03-10 01:59:59"), (1_710_064_800, "2024-03-10 03:00:00"),
      (1_772_963_999, "2026-03-08 01:59:59"), (1_772_964_000, "2026-03-08 03:00:00"),
      (1_793_527_199, "2026-11-01 01:59:59"), (1_793_527_200, "2026-11-01 02:00:00"),
      (2_140_678_799, "2037-11-01 01:59:59"), (2_140_678_800, "2037-11-01 01:00:00"),
    ] as [(Int64, String)])
  func california(seconds: Int64, local: String) throws {
    var entry = Fixtures.purchase("1")
    entry.expiresDate = Timestamp(millisecondsSinceEpoch: seconds * 1000)
    let members = try JSONValue(written: entry).members
    #expect(members["expires_date_pst"] == .text("\(local) America/Los_Angeles"))
  }

  @Test(
    "three spellings of one moment are read as that moment, to the second in text",
    arguments: 0..<100 as Range<UInt64>)
  func triplets(seed: UInt64) throws {
    var generator = SplitMix(seed: seed)
    // From 2008 to the end of the years that four digits can tell.
    let milliseconds = Int64.random(in: 1_200_000_000_000...253_402_000_000_000, using: &generator)
    var entry = Fixtures.purchase("1")
    entry.expiresDate = Timestamp(millisecondsSinceEpoch: milliseconds)
    let members = try JSONValue(written: entry).members
    let text = try #require(members["expires_date"]?.text)
    #expect(members["expires_date_ms"] == .text(String(milliseconds)))
    #expect(try purchase(#","expires_date_ms":"\#(milliseconds)""#).expiresDate == entry.expiresDate)
    let wholeSeconds = Timestamp(millisecondsSinceEpoch: milliseconds / 1000 * 1000)
    #expect(try purchase(#","expires_date":"\#(text)""#).expiresDate == wholeSeconds)
  }

  @Test(
    "a date beyond all calendars is written as it is, not trapped on",
    arguments: [Int64.min, -1, 0, 1, Int64.max])
  func extremes(milliseconds: Int64) throws {
    var entry = Fixtures.purchase("1")
    entry.expiresDate = Timestamp(millisecondsSinceEpoch: milliseconds)
    let members = try JSONValue(written: entry).members
    #expect(members["expires_date_ms"] == .text(String(milliseconds)))
  }

  @Test(
    "what is no answer is malformed, and what it said is not repeated",
    arguments: [
      #"{"status":null}"#, #"{"status":[]}"#, #"{"status":""}"#, #"{"status":0.5}"#, #"{"status":1e30}"#,
      #"{"status":9223372036854775808}"#, #"{"status":0,"receipt":[]}"#, #"{"status":0,"receipt":"secret"}"#,
      #"{"status":0,"receipt":{"bundle_id":null}}"#, #"{"status":0,"receipt":{"bundle_id":{}}}"#,
      #"{"status":0,"receipt":{"bundle_id":"b","in_app":"secret"}}"#,
      #"{"status":0,"receipt":{"bundle_id":"b","in_app":[{}]}}"#,
      #"{"status":0,"receipt":{"bundle_id":"b","in_app":[{"transaction_id":"1"}]}}"#,
      #"{"status":0,"receipt":{"bundle_id":"b","in_app":[{"transaction_id":"1","product_id":"p"}]}}"#,
      #"{"status":0,"receipt":{"bundle_id":"b","adam_id":"secret"}}"#,
      #"{"status":0,"latest_receipt_info":"secret"}"#, #"{"status":0,"latest_receipt_info":[{}]}"#,
      #"{"status":0,"latest_receipt_info":{}}"#, #"{"status":0,"is_retryable":"secret"}"#,
      #"{"status":0,"is_retryable":2}"#, #"{"status":0}{"status":0}"#, "null", "0", #""0""#, "\u{FEFF}",
    ])
  func refused(json: String) {
    let error = #expect(throws: ReceiptError.self) { try response(json) }
    #expect(error == ReceiptError(.malformed, "the store's answer is not readable"))
  }

  @Test("nesting without end is malformed, not a trap")
  func nesting() {
    for piece in ["[", #"{"receipt":"#, #"{"latest_receipt_info":["#] {
      let deep = #"{"status":0,"x":"# + String(repeating: piece, count: 100_000)
      #expect(throws: ReceiptError.self) { try response(deep) }
    }
  }

  @Test(
    "answers cut off anywhere are malformed, and octets of noise as well", arguments: 0..<20 as Range<UInt64>)
  func noise(seed: UInt64) throws {
    var generator = SplitMix(seed: seed)
    let whole = Array(VerifyReceiptStatusTests.vouching("Production").utf8)
    let cut = Int.random(in: 0..<whole.count, using: &generator)
    #expect(throws: ReceiptError.self) { try VerifyReceiptResponse(json: Array(whole[..<cut])) }
    let octets = (0..<200).map { _ in UInt8.random(in: 0...255, using: &generator) }
    #expect(throws: ReceiptError.self) { try VerifyReceiptResponse(json: octets) }
    #expect(throws: ReceiptError.self) { try VerifyReceiptResponse(json: whole + octets) }
  }

  @Test("a question is the receipt, the secret and whether old transactions are wanted")
  func request() throws {
    let full = VerifyReceiptRequest(receiptData: "MIIB", password: "0123abcd", excludesOldTransactions: true)
    let golden = #"{"receipt-data":"MIIB","password":"0123abcd","exclude-old-transactions":true}"#
    #expect(try JSONValue(written: full) == JSONValue(golden))
    let least = VerifyReceiptRequest(receiptData: "MIIB")
    #expect(try JSONValue(written: least) == JSONValue(#"{"receipt-data":"MIIB"}"#))

    let decode = { (json: String) in
      try JSONDecoder().decode(VerifyReceiptRequest.self, from: Data(json.utf8))
    }
    let read = try decode(#"{"receipt-data":"MIIB","password":"x","exclude-old-transactions":false,"a":1}"#)
    #expect(read.receiptData == "MIIB")
    #expect(read.password == "x")
    #expect(read.excludesOldTransactions == false)
    for wrong in [
      "{}", #"{"receipt_data":"MIIB"}"#, #"{"receipt-data":null}"#, #"{"receipt-data":1}"#, "[]", "",
      #"{"receipt-data":"MIIB","password":1}"#, #"{"receipt-data":"MIIB","exclude-old-transactions":"true"}"#,
    ] {
      #expect(throws: DecodingError.self, "\(wrong)") { try decode(wrong) }
    }
  }

  @Test("neither questions nor answers tell in their description what they hold")
  func descriptions() throws {
    let question = VerifyReceiptRequest(receiptData: "MIIBsecret", password: "topsecret")
    let answer = try response(VerifyReceiptStatusTests.vouching("Production"))
    #expect("\(question)" == "verifyReceipt request of 10 characters")
    #expect("\(answer)" == "verifyReceipt status 0")
  }
}

extension VerifyReceiptResponse.Receipt {
  /// The purchase as an answer tells it: the product's type stands in the receipt only.
  fileprivate var withoutHints: Self {
    var copy = self
    for index in copy.purchases.indices { copy.purchases[index].productType = nil }
    return copy
  }
}
