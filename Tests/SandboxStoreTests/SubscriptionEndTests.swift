import Commerce
import CoreTypes
import HTTPServer
import PullboxAPI
import PullboxTesting
import Receipts
import ServiceAPI
import Testing

@testable import SandboxStore

/// How subscriptions end, and what receipts and `verifyReceipt` say of their renewal: facts §2.2 (`pending_renewal_info`).
@Suite("The end of a subscription, and what is said of its renewal")
struct SubscriptionEndTests {
  let store: StoreHarness

  init() throws {
    store = try StoreHarness()
  }

  private func answer(_ token: String) async throws -> VerifyReceiptResponse {
    try await store.verify(store.receipt(token))
  }

  private func renewal(_ token: String) async throws -> PendingRenewal {
    let renewals = try #require(try await answer(token).pendingRenewalInfo)
    #expect(renewals.count == 1)
    return try #require(renewals.first)
  }

  @Test("what the catalog sells no more is not renewed; while the catalog does not answer, it is")
  func notForSale() async throws {
    let token = try await store.openAccount()
    let first = try await store.buy(StoreHarness.magazine, token: token)
    store.catalog.setReachable(false)
    store.clock.advance(by: .seconds(301))
    #expect(try await store.all(token).count == 2)
    store.catalog.setReachable(true)
    store.catalog.remove(StoreHarness.magazine)
    store.clock.advance(by: .seconds(300))
    #expect(try await store.all(token).count == 2)
    let over = try await store.subscription(token)
    #expect(over.state == .expired && over.expirationIntent == 4)
    #expect(over.expiresDate == first.purchaseDate + .seconds(600))
    #expect(try await renewal(token).expirationIntent == "4")
  }

  @Test(
    "a refund in the middle ends the renewals; a refund that is taken back leaves the date of the next one")
  func refund() async throws {
    let token = try await store.openAccount()
    let first = try await store.buy(StoreHarness.magazine, token: token)
    store.clock.advance(by: .seconds(60))
    _ = try await store.act("refund", on: first)
    #expect(try await store.subscription(token).autoRenew == false)
    _ = try await store.act("reverse", on: first)
    #expect(try await store.subscription(token).autoRenew)
    store.clock.advance(by: .seconds(241))
    let renewed = try #require(try await store.all(token).last)
    #expect(renewed.purchaseDate == first.expiresDate)
    _ = try await store.act("refund", on: renewed)
    store.clock.advance(by: .seconds(300))
    #expect(try await store.all(token).count == 2)
    #expect(try await store.subscription(token).expirationIntent == 1)
    let latest = try #require(try await answer(token).latestReceiptInfo)
    #expect(latest.map { $0.cancellationDate != nil } == [true, false])
  }

  @Test("a refund of an earlier period leaves the present one as it is")
  func earlierRefund() async throws {
    let token = try await store.openAccount()
    let first = try await store.buy(StoreHarness.magazine, token: token)
    store.clock.advance(by: .seconds(301))
    #expect(try await store.all(token).count == 2)
    _ = try await store.act("refund", on: first)
    #expect(try await store.subscription(token).autoRenew)
    store.clock.advance(by: .seconds(300))
    #expect(try await store.all(token).count == 3)
  }

  @Test("a period that was left for a better one and then given back shows the refund, not the upgrade")
  func upgradedAndRefunded() async throws {
    let token = try await store.openAccount()
    let first = try await store.buy(StoreHarness.magazine, token: token)
    store.clock.advance(by: .seconds(100))
    try await store.buy(StoreHarness.premium, token: token)
    store.clock.advance(by: .seconds(50))
    let refunded = try await store.act("refund", on: first, body: RefundRequest(reason: 1))
    let entry = try #require(try await answer(token).latestReceiptInfo?.last)
    #expect(entry.transactionIdentifier == first.id.description && entry.isUpgraded == nil)
    #expect(entry.cancellationDate == refunded.revocationDate && entry.cancellationReason == "1")
    #expect(refunded.revocationDate == first.purchaseDate + .seconds(150))
  }

  @Test("an upgrade that is approved after a renewal ends the renewed period, and not the one of before it")
  func approvedAfterRenewal() async throws {
    // An approval is waited for a thirtieth of a month.
    try await store.setTime("1h")
    let token = try await store.openAccount()
    let first = try await store.buy(StoreHarness.magazine, token: token)
    store.clock.advance(by: .seconds(3590))
    let asked: TransactionResponse = try await store.call(
      .post, "/store/v1/purchases", token: token,
      body: PurchaseRequest(product: StoreHarness.premium, askToBuy: true), status: 201)
    #expect(asked.transaction.state == .deferred)
    store.clock.advance(by: .seconds(60))
    let upgrade = try await store.act(
      "decide", on: asked.transaction, body: PurchaseDecision(approve: true))
    #expect(upgrade.state == .purchased && upgrade.originalId == first.id)
    let all = try await store.all(token)
    let renewal = try #require(all.first { $0.id != first.id && $0.product == StoreHarness.magazine })
    #expect(all.first?.expiresDate == first.expiresDate)
    #expect(renewal.purchaseDate == first.expiresDate && renewal.expiresDate == upgrade.purchaseDate)
  }

  @Test("the renewal to come is told with its product, its switch and its price")
  func coming() async throws {
    let token = try await store.openAccount()
    let first = try await store.buy(StoreHarness.magazine, token: token)
    var coming = try await renewal(token)
    #expect(coming.originalTransactionIdentifier == first.id.description)
    #expect(coming.productIdentifier == "com.example.magazine.monthly")
    #expect(coming.autoRenewProductIdentifier == "com.example.magazine.monthly")
    #expect(coming.autoRenews == true && coming.expirationIntent == nil)
    #expect(coming.isInBillingRetryPeriod == nil && coming.consentsToPrice == nil)
    try await store.buy(StoreHarness.basic, token: token)
    let price = try #require(Price(amount: "3.49", currency: "EUR"))
    _ = try await store.control(
      "raise-price", first, body: PriceIncreaseRequest(prices: ["FRA": price], needsConsent: true))
    coming = try await renewal(token)
    #expect(coming.autoRenewProductIdentifier == "com.example.magazine.basic")
    #expect(coming.consentsToPrice == false && coming.acceptsPriceIncrease == false)
    _ = try await store.change(first, token: token, SubscriptionChange(acceptPrice: true))
    #expect(try await renewal(token).consentsToPrice == true)
    _ = try await store.change(first, token: token, SubscriptionChange(autoRenew: false))
    #expect(try await renewal(token).autoRenews == false)
    store.clock.advance(by: .seconds(301))
    let over = try await renewal(token)
    #expect(over.autoRenews == false && over.expirationIntent == "1")
    let group = try await answer(token).latestReceiptInfo?.first?.subscriptionGroupIdentifier
    #expect(group == "com.example.magazine")
  }

  @Test(
    "one that its customer ended while its payment was tried again is charged no more, and ends by that customer's will"
  )
  func endedInRetry() async throws {
    let token = try await store.openAccount()
    let first = try await store.buy(StoreHarness.magazine, token: token)
    _ = try await store.control("fail-renewals", first)
    store.clock.advance(by: .seconds(310))
    _ = try await store.change(first, token: token, SubscriptionChange(autoRenew: false))
    _ = try await store.control("recover", first)
    #expect(try await store.all(token).map(\.id) == [first.id])
    // Sixty days of a month of five minutes.
    store.clock.advance(by: .seconds(600))
    #expect(try await renewal(token).expirationIntent == "1")
    #expect(try await store.all(token).map(\.id) == [first.id])
  }

  @Test(
    "while a payment is tried again the answer tells until when the grace lasts, and no more once its customer ends it"
  )
  func retry() async throws {
    let token = try await store.openAccount()
    let first = try await store.buy(StoreHarness.magazine, token: token)
    _ = try await store.control("fail-renewals", first)
    store.clock.advance(by: .seconds(310))
    let retried = try await renewal(token)
    #expect(retried.isInBillingRetryPeriod == true)
    #expect(retried.gracePeriodExpiresDate == first.purchaseDate + .seconds(450))
    let text = try await store.send(
      .post, "/verifyReceipt",
      body: APIJSON.encode(VerifyReceiptRequest(receiptData: store.receipt(token))))
    #expect(String(decoding: text.body, as: UTF8.self).contains(#""is_in_billing_retry_period":"1""#))
    store.clock.advance(by: .seconds(600))
    let over = try await renewal(token)
    #expect(over.isInBillingRetryPeriod == false && over.expirationIntent == "2")
    #expect(over.gracePeriodExpiresDate == nil)

    let other = try await store.openAccount()
    let second = try await store.buy(StoreHarness.magazine, token: other)
    _ = try await store.control("fail-renewals", second)
    store.clock.advance(by: .seconds(310))
    _ = try await store.change(second, token: other, SubscriptionChange(autoRenew: false))
    #expect(try await answer(other).pendingRenewalInfo == [])
  }

  @Test("of more purchases than a receipt holds the newest are in it")
  func newest() async throws {
    var limits = StoreLimits()
    limits.purchasesPerReceipt = 3
    let store = try StoreHarness(limits: limits)
    let token = try await store.openAccount()
    try await store.buy(StoreHarness.magazine, token: token)
    store.clock.advance(by: .seconds(6 * 300))
    let all = try await store.all(token).map(\.id.description)
    #expect(all.count == 7)
    let receipt = try UnverifiedAppReceipt(base64: await store.receipt(token)).claims
    #expect(receipt.purchases.map(\.transactionIdentifier).sorted() == Array(all.suffix(3)))
    let latest = try await store.verify(store.receipt(token)).latestReceiptInfo
    #expect(latest?.map(\.transactionIdentifier) == all.suffix(3).reversed())
  }
}
