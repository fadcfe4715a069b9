import Commerce
import CoreTypes
import Testing

@testable import Receipts

@Suite("What Google Play vouches for")
struct GooglePurchaseTests {
  private static let asOf = GoogleDocuments.now

  private func verdict(product document: [UInt8], known: KnownOrders = KnownOrders()) throws -> GoogleVerdict
  {
    try GoogleProductPurchase(response: document)
      .verdict(for: GoogleDocuments.token(), by: .google, known: known, asOf: Self.asOf)
  }

  private func verdict(
    subscription document: [UInt8], known: KnownOrders = KnownOrders(), asOf: Timestamp = asOf
  ) throws -> GoogleVerdict {
    try GoogleSubscriptionPurchase(response: document)
      .verdict(for: GoogleDocuments.token(), by: .google, known: known, asOf: asOf)
  }

  @Test("a one-time purchase is a transaction named by its order, with account, date and acknowledgement")
  func product() throws {
    let verdict = try verdict(product: GoogleDocuments.product())
    let transaction = try #require(verdict.transactions.first)
    #expect(verdict.transactions.count == 1 && verdict.replaced == nil)
    #expect(transaction.id.description == "GPA.3345-1111-2222-33333")
    #expect(transaction.originalID == transaction.id)
    #expect(transaction.product.description == "com.example.issue1")
    #expect(transaction.environment == .production)
    #expect(try transaction.purchaseDate == GoogleDocuments.date("2027-01-15T08:00:00.123Z"))
    #expect(transaction.account == ApplicationAccount("reader-7"))
    #expect(transaction.asOf == Self.asOf && transaction.revokedDate == nil && transaction.quantity == 1)
  }

  @Test("what is pending never counts, nor what is in a state that is not known")
  func pending() {
    for state in [
      #""purchaseStateContext":{"purchaseState":"PENDING"}"#,
      #""purchaseStateContext":{"purchaseState":"SOMETHING"}"#, #""purchaseStateContext":{}"#,
      #""purchaseStateContext":null"#,
    ] {
      #expect(throws: GoogleRefusal.pending) { try verdict(product: GoogleDocuments.product(state)) }
    }
    for state in ["PENDING", "PENDING_PURCHASE_CANCELED", "UNSPECIFIED", "NEW"] {
      #expect(throws: GoogleRefusal.pending) {
        try verdict(
          subscription: GoogleDocuments.subscription(#""subscriptionState":"SUBSCRIPTION_STATE_\#(state)""#))
      }
    }
  }

  @Test("a license tester's purchase is of the sandbox")
  func environment() throws {
    let tested = GoogleDocuments.product(#""testPurchaseContext":{"fopType":"TEST"}"#)
    #expect(try verdict(product: tested).transactions.first?.environment == .sandbox)
    let subscribed = GoogleDocuments.subscription(#""testPurchase":{}"#)
    #expect(try verdict(subscription: subscribed).transactions.first?.environment == .sandbox)
    #expect(
      try verdict(subscription: GoogleDocuments.subscription()).transactions.first?.environment == .production
    )
  }

  @Test("a cancelled purchase is revoked; a refund that is known stays one although the answer tells of none")
  func revoked() throws {
    let cancelled = GoogleDocuments.product(#""purchaseStateContext":{"purchaseState":"CANCELLED"}"#)
    let transaction = try #require(try verdict(product: cancelled).transactions.first)
    #expect(transaction.revokedDate == transaction.purchaseDate)
    let refunded = try #require(try verdict(product: GoogleDocuments.product()).transactions.first)
      .revised(revokedDate: Self.asOf, asOf: Self.asOf)
    let known = KnownOrders(transactions: [refunded])
    #expect(
      try verdict(product: GoogleDocuments.product(), known: known).transactions.first?.revokedDate
        == Self.asOf)
    let all =
      #"{"productId":"com.example.issue1","productOfferDetails":{"quantity":2,"refundableQuantity":0}}"#
    #expect(
      try verdict(product: GoogleDocuments.product(#""productLineItem":[\#(all)]"#)).transactions.first?
        .revokedDate != nil)
  }

  @Test("products of one order are transactions of their own; one without an order is named by its token")
  func names() throws {
    let two = #"[{"productId":"a.one"},{"productId":"a.two","productOfferDetails":{"quantity":3}}]"#
    let verdict = try verdict(product: GoogleDocuments.product(#""productLineItem":\#(two)"#))
    #expect(verdict.transactions.map(\.product.description) == ["a.one", "a.two"])
    #expect(verdict.transactions.map(\.quantity) == [1, 3])
    #expect(Set(verdict.transactions.map(\.id)).count == 2)
    #expect(verdict.transactions.allSatisfy { $0.originalID.description == "GPA.3345-1111-2222-33333" })
    let given = try self.verdict(product: GoogleDocuments.product(#""orderId":null"#))
    #expect(given.transactions.first?.id.description.hasPrefix("token.") == true)
  }

  @Test(
    "what lacks a product, a date or an order that can be named, or has too many products, is incomplete",
    arguments: [
      #""productLineItem":[]"#, #""productLineItem":null"#, #""productLineItem":[{"productId":"a b"}]"#,
      #""productLineItem":[{}]"#, #""purchaseCompletionTime":null"#, #""purchaseCompletionTime":"soon""#,
      #""orderId":"a/b""#,
    ])
  func incomplete(_ change: String) {
    #expect(throws: GoogleRefusal.incomplete) { try verdict(product: GoogleDocuments.product(change)) }
  }

  @Test("an order that is a renewal leads to the first one")
  func orders() throws {
    let renewal = try #require(GoogleOrder("GPA.3345-1111-2222-44444..12"))
    #expect(renewal.original.description == "GPA.3345-1111-2222-44444")
    #expect(GoogleOrder("GPA.1")?.original.description == "GPA.1")
    #expect(GoogleOrder("GPA.1..")?.original.description == "GPA.1..")
    #expect(GoogleOrder("..1") == nil)
    #expect(GoogleOrder("a b") == nil)
  }

  @Test("the first period begins with the subscription, a later one where the one before it ended")
  func periods() throws {
    let first = try #require(try verdict(subscription: GoogleDocuments.subscription()).transactions.first)
    #expect(try first.purchaseDate == GoogleDocuments.date("2027-01-01T00:00:00Z"))
    #expect(try first.expiresDate == GoogleDocuments.date("2027-02-01T00:00:00Z"))
    #expect(first.originalID.description == "GPA.3345-1111-2222-44444")
    let item =
      #"{"productId":"com.example.magazine.monthly","expiryTime":"2027-03-01T00:00:00Z","latestSuccessfulOrderId":"GPA.3345-1111-2222-44444..1"}"#
    let renewed = GoogleDocuments.subscription(#""lineItems":[\#(item)]"#)
    let second = try #require(
      try verdict(subscription: renewed, known: KnownOrders(transactions: [first])).transactions.first)
    #expect(second.purchaseDate == first.expiresDate && second.originalID == first.originalID)
    // Asked again, also once more is known, it says the same.
    let again = try verdict(subscription: renewed, known: KnownOrders(transactions: [first, second]))
    #expect(again.transactions == [second])
    // A subscription that was never seen before has one period up to now.
    #expect(try verdict(subscription: renewed).transactions.first?.purchaseDate == first.purchaseDate)
  }

  @Test("the time of a grace serves and is not paid for, also once the subscription is held")
  func grace() throws {
    let paid = try #require(try verdict(subscription: GoogleDocuments.subscription()).transactions.first)
    let item =
      #"{"productId":"com.example.magazine.monthly","expiryTime":"2027-02-08T00:00:00Z","latestSuccessfulOrderId":"GPA.3345-1111-2222-44444..0"}"#
    func document(_ state: String) -> [UInt8] {
      GoogleDocuments.subscription(
        #""lineItems":[\#(item)],"subscriptionState":"SUBSCRIPTION_STATE_\#(state)""#)
    }
    let inGrace = try #require(
      try verdict(subscription: document("IN_GRACE_PERIOD"), known: KnownOrders(transactions: [paid]))
        .transactions.first)
    #expect(inGrace.expiresDate == paid.expiresDate)
    #expect(try inGrace.graceExpiresDate == GoogleDocuments.date("2027-02-08T00:00:00Z"))
    let held = try #require(
      try verdict(
        subscription: document("ON_HOLD"), known: KnownOrders(transactions: [inGrace]),
        asOf: GoogleDocuments.date("2027-02-09T00:00:00Z")
      ).transactions.first)
    #expect(held.expiresDate == paid.expiresDate && held.graceExpiresDate == inGrace.graceExpiresDate)
  }

  @Test("a cancelled subscription opens what it opens up to its expiry; so does one that is over")
  func cancelled() throws {
    for state in ["CANCELED", "EXPIRED"] {
      let transaction = try verdict(
        subscription: GoogleDocuments.subscription(#""subscriptionState":"SUBSCRIPTION_STATE_\#(state)""#)
      ).transactions.first
      #expect(try transaction?.expiresDate == GoogleDocuments.date("2027-02-01T00:00:00Z"))
      #expect(transaction?.revokedDate == nil)
    }
  }

  @Test(
    "one that is held or paused opens nothing from the moment at which that is known, whatever expiry is told",
    arguments: ["PAUSED", "ON_HOLD"])
  func suspended(_ state: String) throws {
    let document = GoogleDocuments.subscription(#""subscriptionState":"SUBSCRIPTION_STATE_\#(state)""#)
    let first = try #require(try verdict(subscription: document).transactions.first)
    #expect(first.expiresDate == Self.asOf && first.graceExpiresDate == nil)
    // Asked again later, it says the same.
    let again = try verdict(
      subscription: document, known: KnownOrders(transactions: [first]), asOf: Self.asOf + .seconds(86_400))
    #expect(again.transactions.first?.expiresDate == first.expiresDate)
    #expect(again.transactions.first?.graceExpiresDate == nil)
    let over = try verdict(
      subscription: document, asOf: GoogleDocuments.date("2027-03-01T00:00:00Z")
    ).transactions.first
    #expect(try over?.expiresDate == GoogleDocuments.date("2027-02-01T00:00:00Z"))
  }

  @Test("an item that nothing is paid for yet is left out; with no other the purchase is pending")
  func unpaidItems() throws {
    let paid =
      #"{"productId":"a.one","expiryTime":"2027-02-01T00:00:00Z","latestSuccessfulOrderId":"GPA.1"}"#
    for unpaid in [
      #"{"productId":"a.two","expiryTime":"2027-02-01T00:00:00Z"}"#,
      #"{"productId":"a.two","latestSuccessfulOrderId":"GPA.1"}"#, #"{"productId":"a.two"}"#,
    ] {
      let both = GoogleDocuments.subscription(#""lineItems":[\#(unpaid),\#(paid)]"#)
      let transactions = try verdict(subscription: both).transactions
      #expect(transactions.map(\.id.description) == ["GPA.1"])
      #expect(transactions.map(\.product.description) == ["a.one"])
      #expect(throws: GoogleRefusal.pending) {
        try verdict(subscription: GoogleDocuments.subscription(#""lineItems":[\#(unpaid)]"#))
      }
    }
    let unreadable =
      #"{"productId":"a b","expiryTime":"2027-02-01T00:00:00Z","latestSuccessfulOrderId":"GPA.1"}"#
    #expect(throws: GoogleRefusal.incomplete) {
      try verdict(subscription: GoogleDocuments.subscription(#""lineItems":[\#(unreadable)]"#))
    }
  }

  @Test("where it was sold is kept; an answer without a refund says nothing of refunds")
  func territory() throws {
    let sold = try verdict(product: GoogleDocuments.product(#""regionCode":"FR""#)).transactions.first
    #expect(sold?.territory?.code == "FRA" && sold?.tellsRefunds == false)
    let subscribed = try verdict(subscription: GoogleDocuments.subscription(#""regionCode":"DE""#))
      .transactions.first
    #expect(subscribed?.territory?.code == "DEU" && subscribed?.tellsRefunds == false)
    #expect(
      try verdict(product: GoogleDocuments.product(#""regionCode":"XX""#)).transactions.first?.territory
        == nil)
  }

  @Test("a token that took another's place names it, with the moment at which the other one ends")
  func linked() throws {
    let verdict = try verdict(
      subscription: GoogleDocuments.subscription(#""linkedPurchaseToken":"old.token""#))
    #expect(verdict.replaced == GooglePurchaseToken("old.token"))
    #expect(try verdict.start == GoogleDocuments.date("2027-01-01T00:00:00Z"))
  }

  @Test(
    "a purchase is to be acknowledged within three days, a tester's within three minutes, until the store was told"
  )
  func acknowledgement() throws {
    let due = try #require(try verdict(product: GoogleDocuments.product()).transactions.first)
    #expect(due.acknowledgement?.kind == .acknowledge)
    #expect(due.acknowledgement?.deadline == due.purchaseDate + .seconds(259_200))
    let tested = try verdict(product: GoogleDocuments.product(#""testPurchaseContext":{}"#)).transactions
      .first
    #expect(tested?.acknowledgement?.deadline == due.purchaseDate + .seconds(180))
    let told = try verdict(
      product: GoogleDocuments.product(#""acknowledgementState":"ACKNOWLEDGEMENT_STATE_ACKNOWLEDGED""#))
    #expect(told.transactions.first?.acknowledgement?.deadline == nil)
    let subscribed = try verdict(subscription: GoogleDocuments.subscription()).transactions.first
    #expect(subscribed?.acknowledgement?.kind == .acknowledge)
    let used = try GoogleProductPurchase(response: GoogleDocuments.product())
      .verdict(
        for: GoogleDocuments.token(), by: .google, known: KnownOrders(), consumes: { _ in true },
        asOf: Self.asOf)
    #expect(used.transactions.first?.acknowledgement?.kind == .consume)
    let reference = try #require(due.acknowledgement.flatMap { GooglePurchaseReference($0.reference) })
    #expect(reference.kind == .product && reference.product == due.product)
    #expect(try reference.token == GoogleDocuments.token() && !"\(reference)".contains(reference.token.text))
    for text in ["", "product a", "product a b c", "other a b", "product a/b c"] {
      #expect(GooglePurchaseReference(text) == nil)
    }
  }

  @Test(
    "a purchase of the last day of the year 9999 is due within that year, the last that RFC 3339 can write")
  func lastYear() throws {
    let document = GoogleDocuments.product(#""purchaseCompletionTime":"9999-12-31T23:00:00Z""#)
    let transaction = try #require(try verdict(product: document).transactions.first)
    #expect(transaction.purchaseDate == Timestamp(rfc3339: "9999-12-31T23:00:00Z"))
    #expect(transaction.acknowledgement?.deadline == Timestamp(rfc3339: "9999-12-31T23:59:59.999Z"))
  }

  @Test("what is no JSON, nested too deep or too long is refused")
  func malformed() {
    let deep = Array((String(repeating: "[", count: 40) + String(repeating: "]", count: 40)).utf8)
    for bytes in [[], Array("x".utf8), Array("[]".utf8), deep, [UInt8](repeating: 0x20, count: 300_000)] {
      #expect(throws: ReceiptError.self) { try GoogleProductPurchase(response: bytes) }
      #expect(throws: ReceiptError.self) { try GoogleSubscriptionPurchase(response: bytes) }
      #expect(throws: ReceiptError.self) { try GoogleNotification(data: bytes) }
      #expect(throws: ReceiptError.self) { try GooglePushMessage(body: bytes) }
    }
  }

  @Test("a token is one segment of a path, and shows nothing of itself")
  func tokens() throws {
    for text in [
      "", "a/b", "a b", "a:acknowledge", ".", "..", "a%2Fb", "a?b", "é", String(repeating: "a", count: 1501),
    ] {
      #expect(GooglePurchaseToken(text) == nil, "\(text)")
    }
    #expect(try !"\(GoogleDocuments.token("secret"))".contains("secret"))
  }
}
