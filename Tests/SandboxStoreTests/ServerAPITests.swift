import Commerce
import CoreTypes
import HTTPServer
import PullboxAPI
import PullboxTesting
import Receipts
import SandboxRecords
import ServiceAPI
import Testing

@testable import SandboxStore

/// The questions of servers under `/inApps`: fields, filters and pages, and every error by its code.
@Suite("The App Store Server API")
struct ServerAPITests {
  let api: ServerAPIHarness

  init() throws {
    api = try ServerAPIHarness()
  }

  private var store: StoreHarness { api.store }

  @Test("a signed transaction has every field that the store knows, and leaves out the others")
  func transactionInfo() async throws {
    let token = try await store.openAccount()
    let bought = try await store.buy(StoreHarness.magazine, token: token)
    let answer: [String: String] = try await api.call(.get, "/v1/transactions/\(bought.id)")
    let text = try #require(answer["signedTransactionInfo"])
    let members: [String: JSONScalar] = try PlainSigner.payload(of: text)
    let date = bought.purchaseDate.millisecondsSinceEpoch
    let expected: [String: JSONScalar] = [
      "transactionId": .text(bought.id.description), "originalTransactionId": .text(bought.id.description),
      "webOrderLineItemId": .text(bought.id.description), "bundleId": .text("com.example.pullbox"),
      "productId": .text("com.example.magazine.monthly"),
      "subscriptionGroupIdentifier": .text("com.example.magazine"), "purchaseDate": .integer(date),
      "originalPurchaseDate": .integer(date), "expiresDate": .integer(date + 300_000),
      "quantity": .integer(1),
      "type": .text("Auto-Renewable Subscription"), "inAppOwnershipType": .text("PURCHASED"),
      "signedDate": .integer(store.clock.now().millisecondsSinceEpoch), "environment": .text("Sandbox"),
      "storefront": .text("FRA"), "transactionReason": .text("PURCHASE"), "currency": .text("EUR"),
      "price": .integer(2990), "appTransactionId": .text("700000000000000001"),
    ]
    #expect(members == expected)
  }

  @Test(
    "an upgraded period is signed with the moment at which the other took its place, which servers take for no refund"
  )
  func upgraded() async throws {
    let token = try await store.openAccount()
    let first = try await store.buy(StoreHarness.magazine, token: token)
    store.clock.advance(by: .seconds(100))
    let better = try await store.buy(StoreHarness.premium, token: token)
    func signed<Payload: Decodable>(_ transaction: StoreTransaction) async throws -> Payload {
      let answer: [String: String] = try await api.call(.get, "/v1/transactions/\(transaction.id)")
      return try PlainSigner.payload(of: try #require(answer["signedTransactionInfo"]))
    }
    let old: TransactionPayload = try await signed(first)
    #expect(old.isUpgraded == true && old.revocationDate == better.purchaseDate.millisecondsSinceEpoch)
    #expect(old.revocationReason == nil && old.revocationType == nil && old.revocationPercentage == nil)
    let taken: SignedTransaction = try await signed(first)
    let vouched = try #require(taken.vouched(by: .apple))
    #expect(vouched.expiresDate == better.purchaseDate && vouched.revokedDate == nil)
    let new: TransactionPayload = try await signed(better)
    #expect(new.isUpgraded == nil && new.revocationDate == nil)

    let answer = try await store.send(.post, "/sandbox/v1/transactions/\(first.id)/refund")
    #expect(answer.status == 200)
    let refunded: SignedTransaction = try await signed(first)
    #expect(refunded.vouched(by: .apple)?.revokedDate != nil)
  }

  @Test("a transaction names the offer that it was sold under, and the status what the next renewal is under")
  func offers() async throws {
    let prices = ["FRA": try #require(Price(amount: "0.99", currency: "EUR"))]
    let month = BillingPeriod.month
    let cases: [(offer: StoreOffer, discount: String, price: Int64, renewal: Int64)] = [
      (StoreOffer(payment: .freeTrial, period: month), "FREE_TRIAL", 0, 2990),
      (
        StoreOffer(payment: .payAsYouGo, period: month, payments: 2, prices: prices), "PAY_AS_YOU_GO", 990,
        990
      ),
      (StoreOffer(payment: .payUpFront, period: month, prices: prices), "PAY_UP_FRONT", 990, 2990),
    ]
    for (offer, discount, price, renewalPrice) in cases {
      let _: ProductOffers = try await store.call(
        .put, "/sandbox/v1/offers/\(StoreHarness.magazine)", body: ProductOffers(introductory: offer))
      let bought = try await store.buy(StoreHarness.magazine, token: try await store.openAccount())
      let answer: [String: String] = try await api.call(.get, "/v1/transactions/\(bought.id)")
      let payload: TransactionPayload = try PlainSigner.payload(
        of: try #require(answer["signedTransactionInfo"]))
      #expect(payload.offerType == 1 && payload.offerIdentifier == nil)
      #expect(payload.offerDiscountType == discount && payload.offerPeriod == "P1M")
      #expect(payload.price == price && payload.currency == "EUR")
      let statuses: ServerAPIHarness.Statuses = try await api.call(.get, "/v1/subscriptions/\(bought.id)")
      let last = try #require(statuses.data.first?.lastTransactions.first)
      let renewal: RenewalPayload = try PlainSigner.payload(of: last.signedRenewalInfo)
      #expect(renewal.renewalPrice == renewalPrice && renewal.currency == "EUR")
      #expect(renewal.offerDiscountType == (discount == "PAY_AS_YOU_GO" ? discount : nil))
    }
  }

  @Test("a refund is in the transaction with its date, reason, kind and percentage in thousandths")
  func refundedTransaction() async throws {
    let token = try await store.openAccount()
    let bought = try await store.buy(StoreHarness.issue, token: token)
    try await api.control("transactions/\(bought.id)/refund", body: RefundRequest(percentage: 40, reason: 1))
    let answer: [String: String] = try await api.call(.get, "/v1/transactions/\(bought.id)")
    let payload: TransactionPayload = try PlainSigner.payload(
      of: try #require(answer["signedTransactionInfo"]))
    #expect(payload.revocationDate == store.clock.now().wholeSeconds.millisecondsSinceEpoch)
    #expect(payload.revocationReason == 1 && payload.revocationType == "REFUND_PRORATED")
    #expect(payload.revocationPercentage == 40_000)
    struct Refunds: Decodable {
      var signedTransactions: [String]
      var hasMore: Bool
      var revision: String
    }
    let refunds: Refunds = try await api.call(.get, "/v2/refund/lookup/\(bought.id)")
    #expect(refunds.signedTransactions.count == 1 && !refunds.hasMore)
    let later: Refunds = try await api.call(
      .get, "/v2/refund/lookup/\(bought.id)?revision=\(refunds.revision)")
    #expect(later.signedTransactions.isEmpty)
    #expect(try await api.refusal(.get, "/v2/refund/lookup/\(bought.id)?revision=x") == 4_000_005)
  }

  @Test(
    "history has pages of 20, in both orders, and goes on from its revision with what was bought or refunded since"
  )
  func pages() async throws {
    let token = try await store.openAccount()
    var bought: [String] = []
    for _ in 0..<23 { bought.append(try await store.buy(StoreHarness.coins, token: token).id.description) }
    let id = try #require(TransactionIdentifier(bought[0]))
    let first = try await api.history(id)
    #expect(try first.transactions.map(\.transactionId) == Array(bought[..<20]) && first.hasMore)
    #expect(first.bundleId == "com.example.pullbox" && first.environment == "Sandbox")
    let second = try await api.history(id, "?revision=\(first.revision)")
    #expect(try second.transactions.map(\.transactionId) == Array(bought[20...]) && !second.hasMore)
    try await api.control("transactions/\(bought[3])/refund")
    let third = try await api.history(id, "?revision=\(second.revision)")
    #expect(try third.transactions.map(\.transactionId) == [bought[3]])
    let newest = try await api.history(id, "?sort=DESCENDING")
    #expect(try newest.transactions.first?.transactionId == bought[3])
    let query = "?sort=DESCENDING&revision=\(first.revision)"
    #expect(try await api.refusal(.get, "/v2/history/\(id)\(query)") == 4_000_005)
  }

  @Test(
    "history is filtered by product, type, group, date, ownership and refund, also with repeated keys and Python's booleans"
  )
  func filters() async throws {
    let token = try await store.openAccount()
    let issue = try await store.buy(StoreHarness.issue, token: token)
    store.clock.advance(by: .seconds(10))
    let coins = try await store.buy(StoreHarness.coins, token: token)
    let magazine = try await store.buy(StoreHarness.magazine, token: token)
    try await api.control("transactions/\(coins.id)/refund")
    func found(_ query: String, version: String = "v2") async throws -> Set<String> {
      Set(try await api.history(issue.id, query, version: version).transactions.map(\.transactionId))
    }
    let (first, second, third) = (issue.id.description, coins.id.description, magazine.id.description)
    #expect(try await found("?productId=\(issue.product)&productId=\(coins.product)") == [first, second])
    #expect(try await found("?productType=AUTO_RENEWABLE&productType=NON_CONSUMABLE") == [first, third])
    #expect(try await found("?subscriptionGroupIdentifier=com.example.magazine") == [third])
    #expect(try await found("?revoked=True") == [second])
    #expect(try await found("?revoked=False") == [first, third])
    #expect(try await found("?inAppOwnershipType=FAMILY_SHARED") == [])
    let start = coins.purchaseDate.millisecondsSinceEpoch
    #expect(try await found("?startDate=\(start)") == [second, third])
    #expect(try await found("?startDate=\(start - 10_000)&endDate=\(start)") == [first])
    // A finished consumable is in version 1 only when it was refunded.
    let finished = try await store.finish(store.buy(StoreHarness.coins, token: token))
    #expect(try await found("", version: "v1") == [first, second, third])
    #expect(try await found("") == [first, second, third, finished.id.description])
  }

  @Test(
    "a parameter that cannot be is refused by the code of its own",
    arguments: [
      ("startDate=x", 4_000_015), ("endDate=-1", 4_000_016), ("startDate=2&endDate=2", 4_000_013),
      ("sort=UP", 4_000_021), ("productType=BOOK", 4_000_022), ("productId=%20", 4_000_023),
      ("subscriptionGroupIdentifier=%20", 4_000_024), ("excludeRevoked=1", 4_000_025),
      ("inAppOwnershipType=STOLEN", 4_000_026), ("revoked=1", 4_000_030), ("revision=AAAA", 4_000_005),
    ])
  func historyErrors(query: String, code: Int) async throws {
    let token = try await store.openAccount()
    let bought = try await store.buy(StoreHarness.issue, token: token)
    #expect(try await api.refusal(.get, "/v2/history/\(bought.id)?\(query)") == code)
  }

  @Test("transactions that are unknown, or were not sold, are 4040010, and what names none 4000006")
  func unknownTransactions() async throws {
    let token = try await store.openAccount()
    let body = try APIJSON.encode(PurchaseFailureRequest(error: "payment-declined"))
    _ = try await store.send(.post, "/sandbox/v1/purchases/fail-next", token: token, body: body)
    let failed = try await store.buy(StoreHarness.coins, token: token)
    for path in [
      "/v1/transactions/", "/v2/history/", "/v1/history/", "/v1/subscriptions/", "/v2/refund/lookup/",
    ] {
      #expect(try await api.refusal(.get, path + "2000000000099999") == 4_040_010)
      #expect(try await api.refusal(.get, path + failed.id.description) == 4_040_010)
      #expect(try await api.refusal(.get, path + "x") == 4_000_006)
    }
    #expect(try await api.refusal(.get, "/v1/transactions/700000000000000001") == 4_000_048)
    #expect(try await api.refusal(.post, "/v1/transactions/2000000000099999/finish") == 4_040_010)
  }

  @Test("statuses tell a subscription's group, last transaction and renewal, and are filtered")
  func statuses() async throws {
    let token = try await store.openAccount()
    let bought = try await store.buy(StoreHarness.magazine, token: token)
    store.clock.advance(by: .seconds(300))
    // An app transaction names the customer as well.
    let answer: ServerAPIHarness.Statuses = try await api.call(
      .get, "/v1/subscriptions/700000000000000001?status=1&status=4")
    let last = try #require(answer.data.first?.lastTransactions.first)
    #expect(answer.data.first?.subscriptionGroupIdentifier == "com.example.magazine")
    #expect(last.status == 1 && last.originalTransactionId == bought.id.description)
    let transaction: TransactionPayload = try PlainSigner.payload(of: last.signedTransactionInfo)
    #expect(transaction.transactionReason == "RENEWAL")
    let renewal: [String: JSONScalar] = try PlainSigner.payload(of: last.signedRenewalInfo)
    let start = bought.purchaseDate.millisecondsSinceEpoch
    #expect(
      renewal == [
        "originalTransactionId": .text(bought.id.description),
        "autoRenewProductId": .text("com.example.magazine.monthly"),
        "productId": .text("com.example.magazine.monthly"), "autoRenewStatus": .integer(1),
        "signedDate": .integer(store.clock.now().millisecondsSinceEpoch), "environment": .text("Sandbox"),
        "recentSubscriptionStartDate": .integer(start), "renewalDate": .integer(start + 600_000),
        "currency": .text("EUR"), "renewalPrice": .integer(2990),
        "appTransactionId": .text("700000000000000001"),
      ])
    let others: ServerAPIHarness.Statuses = try await api.call(
      .get, "/v1/subscriptions/\(bought.id)?status=2")
    #expect(others.data.isEmpty)
    #expect(try await api.refusal(.get, "/v1/subscriptions/\(bought.id)?status=6") == 4_000_031)
  }

  @Test(
    "the status of a subscription is 4 in the grace period, 3 while billing is retried, 2 when it is over, 5 once it is refunded"
  )
  func courseOfStatuses() async throws {
    let token = try await store.openAccount()
    let bought = try await store.buy(StoreHarness.magazine, token: token)
    try await api.control("subscriptions/\(bought.id)/fail-renewals")
    store.clock.advance(by: .seconds(301))
    #expect(try await api.status(bought.id) == 4)
    store.clock.advance(by: .seconds(150))
    #expect(try await api.status(bought.id) == 3)
    store.clock.advance(by: .seconds(600))
    #expect(try await api.status(bought.id) == 2)
    let again = try await store.buy(StoreHarness.magazine, token: token)
    #expect(try await api.status(bought.id) == 1)
    try await api.control("transactions/\(again.id)/refund")
    #expect(try await api.status(bought.id) == 5)
  }

  @Test("an order is found by its identifier, and another is none")
  func orders() async throws {
    struct Order: Decodable {
      var status: Int
      var signedTransactions: [String]
    }
    let token = try await store.openAccount()
    let bought = try await store.buy(StoreHarness.issue, token: token)
    let order: Order = try await api.call(.get, "/v1/lookup/MT\(bought.id)")
    #expect(order.status == 0 && order.signedTransactions.count == 1)
    let none: Order = try await api.call(.get, "/v1/lookup/MT1")
    #expect(none.status == 1 && none.signedTransactions.isEmpty)
  }

  @Test("an app transaction says what Apple's sandbox says of every application")
  func appTransaction() async throws {
    let token = try await store.openAccount()
    let bought = try await store.buy(StoreHarness.issue, token: token)
    let answer: [String: String] = try await api.call(.get, "/v1/transactions/appTransactions/\(bought.id)")
    let payload: [String: JSONScalar] = try PlainSigner.payload(
      of: try #require(answer["signedAppTransactionInfo"]))
    #expect(
      payload == [
        "receiptType": .text("Sandbox"), "bundleId": .text("com.example.pullbox"),
        "applicationVersion": .text("1"),
        "versionExternalIdentifier": .integer(0),
        "receiptCreationDate": .integer(store.clock.now().millisecondsSinceEpoch),
        "originalPurchaseDate": .integer(1_375_340_400_000), "originalApplicationVersion": .text("1.0"),
        "appTransactionId": .text("700000000000000001"), "originalPlatform": .text("iOS"),
      ])
  }

  @Test("a finished transaction has left the queue, and finishing it again is as good")
  func finishing() async throws {
    let token = try await store.openAccount()
    let bought = try await store.buy(StoreHarness.issue, token: token)
    for _ in 0..<2 {
      let answer = try await api.send(
        .post, "/inApps/v1/transactions/\(bought.id)/finish", token: api.token())
      #expect(answer.status == 200 && answer.body.isEmpty)
    }
    #expect(try await store.queue(token).isEmpty)
  }

  @Test("an application account token is set on the original transaction, and is in lower case then")
  func accountToken() async throws {
    let token = try await store.openAccount()
    let bought = try await store.buy(StoreHarness.magazine, token: token)
    store.clock.advance(by: .seconds(300))
    let renewal = try #require(try await store.all(token).last)
    func set(_ id: TransactionIdentifier, _ uuid: String) async throws -> (Int, [UInt8]) {
      let answer = try await api.send(
        .put, "/inApps/v1/transactions/\(id)/appAccountToken", token: api.token(),
        body: "{\"appAccountToken\":\"\(uuid)\"}")
      return (answer.status, answer.body)
    }
    let uuid = "7E3FB20B-4CDB-47CC-936D-99D65F608138"
    let answer = try await set(bought.id, uuid)
    #expect(answer.0 == 200 && answer.1.isEmpty)
    let tokens = try await api.history(bought.id).transactions.map(\.appAccountToken)
    #expect(tokens == [uuid.lowercased(), uuid.lowercased()])
    let path = "/v1/transactions/\(bought.id)/appAccountToken"
    #expect(try await api.refusal(.put, path, body: "{\"appAccountToken\":\"me\"}") == 4_000_183)
    let later = "/v1/transactions/\(renewal.id)/appAccountToken"
    #expect(try await api.refusal(.put, later, body: "{\"appAccountToken\":\"\(uuid)\"}") == 4_000_187)
    try await api.control("transactions/\(bought.id)/revoke")
    #expect(try await api.refusal(.put, path, body: "{\"appAccountToken\":\"\(uuid)\"}") == 4_000_185)
  }
}
