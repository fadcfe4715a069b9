import Commerce
import CoreTypes
import Database
import HTTPServer
import PullboxAPI
import PullboxTesting
import Receipts
import ServiceAPI
import Testing

@testable import SandboxStore

/// A month is five minutes unless a test says otherwise; the clock moves only when a test moves it.
@Suite("The course of a subscription")
struct SubscriptionCourseTests {
  let store: StoreHarness

  init() throws {
    store = try StoreHarness()
  }

  private func refusal(
    of product: ProductIdentifier, token: String
  ) async throws -> ProblemCode? {
    try await store.refusal(
      .post, "/store/v1/purchases", token: token, body: APIJSON.encode(PurchaseRequest(product: product)))
  }

  // MARK: Renewal

  @Test(
    "it is renewed six times, each period begins at the millisecond at which the last one ends, and then it ends"
  )
  func sixRenewals() async throws {
    try await store.setTime("2s")
    store.clock.set(Timestamp(millisecondsSinceEpoch: 1_795_249_800_123))
    let token = try await store.openAccount()
    let first = try await store.buy(StoreHarness.magazine, token: token)
    store.clock.advance(by: .seconds(3600))
    let all = try await store.all(token)
    #expect(all.count == 7)
    #expect(all.allSatisfy { $0.originalId == first.id && $0.state == .purchased })
    for (earlier, later) in zip(all, all.dropFirst()) {
      #expect(later.purchaseDate == earlier.expiresDate)
      #expect(later.device == nil, "a renewal belongs to no device")
      #expect(later.price == "2.99" && later.currency == "EUR")
    }
    let last = try await store.subscription(token)
    #expect(last.state == .expired && last.expirationIntent == 1 && !last.autoRenew)
    #expect(last.expiresDate == all.last?.expiresDate)
    #expect(first.purchaseDate + .seconds(14) == last.expiresDate)
  }

  @Test(
    "a store that was away while three renewals fell due has made them before it answers, with their own dates"
  )
  func away() async throws {
    let token = try await store.openAccount()
    let first = try await store.buy(StoreHarness.magazine, token: token)
    store.database.close()

    let again = try StoreHarness(in: store.directory)
    again.clock.advance(by: .seconds(3 * 300 + 1))
    // A start does this before the first request.
    try await again.store.catchUp()
    let rows = try await again.database.read { connection in
      try connection.query("SELECT purchased, expires FROM transactions ORDER BY id").map {
        [try $0.integer("purchased"), try $0.integer("expires")]
      }
    }
    let start = first.purchaseDate.millisecondsSinceEpoch
    #expect(rows == (0...3).map { [start + $0 * 300_000, start + ($0 + 1) * 300_000] })
    try await again.store.catchUp()
    #expect(try await again.all(token).count == 4, "none is made twice")
  }

  @Test("the receipt, verifyReceipt and the queue tell the same periods")
  func samePeriods() async throws {
    let token = try await store.openAccount()
    let first = try await store.buy(StoreHarness.magazine, token: token)
    let earlier = try await store.receipt(token)
    store.clock.advance(by: .seconds(2 * 300 + 10))
    let ids = try await store.queue(token).map(\.id.description)
    #expect(ids.count == 3)
    let receipt = try UnverifiedAppReceipt(base64: await store.receipt(token)).claims
    #expect(receipt.purchases.map(\.transactionIdentifier).sorted() == ids)
    #expect(Set(receipt.purchases.map(\.originalPurchaseDate)) == [first.purchaseDate])
    // The earlier receipt holds one; what the store knows since is beside it.
    let answer = try await store.verify(earlier)
    #expect(answer.receipt?.purchases.count == 1)
    #expect(answer.latestReceiptInfo?.map(\.transactionIdentifier) == ids.reversed())
  }

  @Test("with auto-renewal off it ends with its period, and back on in time it goes on")
  func autoRenew() async throws {
    let token = try await store.openAccount()
    let first = try await store.buy(StoreHarness.magazine, token: token)
    #expect(
      try await store.change(first, token: token, SubscriptionChange(autoRenew: false)).autoRenew == false)
    #expect(try await store.change(first, token: token, SubscriptionChange(autoRenew: true)).autoRenew)
    store.clock.advance(by: .seconds(301))
    #expect(try await store.all(token).count == 2)
    _ = try await store.change(first, token: token, SubscriptionChange(autoRenew: false))
    #expect(try await store.subscription(token).state == .active, "what is paid for serves on")
    store.clock.advance(by: .seconds(300))
    #expect(try await store.all(token).count == 2)
    let over = try await store.subscription(token)
    #expect(over.state == .expired && over.expirationIntent == 1)
    let body = try APIJSON.encode(SubscriptionChange(autoRenew: true))
    let path = "/store/v1/subscriptions/\(first.originalId)"
    #expect(try await store.refusal(.patch, path, token: token, body: body) == .stateConflict)
  }

  @Test("after a lapse it is bought again under the same original, with a gap between the periods")
  func lapse() async throws {
    try await store.setTime("5m", renewals: 0)
    let token = try await store.openAccount()
    let first = try await store.buy(StoreHarness.magazine, token: token)
    store.clock.advance(by: .seconds(1000))
    let second = try await store.buy(StoreHarness.magazine, token: token)
    #expect(second.state == .purchased && second.originalId == first.id)
    #expect(second.purchaseDate == first.purchaseDate + .seconds(1000))
    #expect(try await store.subscription(token).state == .active)
  }

  @Test("an account changes its own subscriptions only")
  func others() async throws {
    let token = try await store.openAccount()
    let first = try await store.buy(StoreHarness.magazine, token: token)
    let other = try await store.openAccount()
    let body = try APIJSON.encode(SubscriptionChange(autoRenew: false))
    let path = "/store/v1/subscriptions/\(first.originalId)"
    #expect(try await store.refusal(.patch, path, token: other, body: body) == .subscriptionUnknown)
    #expect(try await store.refusal(.patch, path, body: body) == .unauthorized)
    #expect(try await store.refusal(.get, "/store/v1/subscriptions") == .unauthorized)
  }

  // MARK: Other products of the group

  @Test("an upgrade begins at once, and the old period ends there")
  func upgrade() async throws {
    let token = try await store.openAccount()
    let first = try await store.buy(StoreHarness.magazine, token: token)
    store.clock.advance(by: .seconds(100))
    let better = try await store.buy(StoreHarness.premium, token: token)
    #expect(better.originalId == first.id)
    #expect(better.purchaseDate == first.purchaseDate + .seconds(100))
    #expect(better.expiresDate == first.purchaseDate + .seconds(400))
    let old = try #require(try await store.all(token).first)
    #expect(old.expiresDate == better.purchaseDate)
    let answer = try await store.verify(store.receipt(token))
    let entry = try #require(answer.latestReceiptInfo?.last)
    #expect(entry.isUpgraded == true)
    #expect(entry.cancellationDate == better.purchaseDate)
    #expect(try await store.subscription(token).product == StoreHarness.premium)
  }

  @Test(
    "a downgrade, and a plan of another duration, begin with the next renewal and charge nothing now",
    arguments: [(StoreHarness.basic, 300), (StoreHarness.yearly, 3600)])
  func later(product: ProductIdentifier, seconds: Int) async throws {
    let token = try await store.openAccount()
    let first = try await store.buy(StoreHarness.magazine, token: token)
    let answer = try await store.buy(product, token: token)
    #expect(answer.id == first.id, "the answer is the period that runs")
    #expect(try await store.all(token).count == 1)
    #expect(try await store.subscription(token).renewalProduct == product)
    store.clock.advance(by: .seconds(301))
    let renewal = try #require(try await store.all(token).last)
    #expect(renewal.product == product && renewal.purchaseDate == first.expiresDate)
    #expect(renewal.expiresDate == renewal.purchaseDate + .seconds(seconds))
    #expect(try await store.subscription(token).renewalProduct == nil)
    // Back before the renewal: nothing changes.
    _ = try await store.change(first, token: token, SubscriptionChange(product: StoreHarness.magazine))
    #expect(
      try await store.change(first, token: token, SubscriptionChange(product: product)).renewalProduct == nil)
  }

  @Test("a free subscription that runs is restored, and not refused")
  func free() async throws {
    let token = try await store.openAccount()
    let first = try await store.buy(StoreHarness.free, token: token)
    #expect(first.price == nil)
    let again = try await store.buy(StoreHarness.free, token: token)
    #expect(again.state == .restored && again.originalId == first.id && again.id != first.id)
    #expect(again.expiresDate == first.expiresDate)
  }

  @Test("a change is to a subscription of the same publication")
  func badChange() async throws {
    let token = try await store.openAccount()
    let first = try await store.buy(StoreHarness.magazine, token: token)
    let path = "/store/v1/subscriptions/\(first.originalId)"
    for (product, code) in [
      (StoreHarness.season, ProblemCode.requestMalformed),
      (StoreHarness.name("com.example.none"), .productUnknown),
    ] {
      let body = try APIJSON.encode(SubscriptionChange(product: product))
      #expect(try await store.refusal(.patch, path, token: token, body: body) == code)
    }
  }

  // MARK: Payments that fail

  @Test("recovered in its grace, the next period begins where the last one ended")
  func graceRecovery() async throws {
    let token = try await store.openAccount()
    let first = try await store.buy(StoreHarness.magazine, token: token)
    _ = try await store.control("fail-renewals", first)
    store.clock.advance(by: .seconds(310))
    let waiting = try await store.subscription(token)
    #expect(waiting.state == .billingRetry)
    #expect(waiting.gracePeriodExpiresDate == first.purchaseDate + .seconds(300 + 150))
    #expect(try await store.all(token).count == 1)
    #expect(try await store.control("recover", first).state == .active)
    let renewal = try #require(try await store.all(token).last)
    #expect(renewal.purchaseDate == first.expiresDate)
    #expect(renewal.expiresDate == first.purchaseDate + .seconds(600))
  }

  @Test("recovered after its grace, it has a new anniversary")
  func lateRecovery() async throws {
    let token = try await store.openAccount()
    let first = try await store.buy(StoreHarness.magazine, token: token)
    _ = try await store.control("fail-renewals", first)
    store.clock.advance(by: .seconds(300 + 200))
    _ = try await store.control("recover", first)
    let renewal = try #require(try await store.all(token).last)
    #expect(renewal.purchaseDate == first.purchaseDate + .seconds(500))
    #expect(renewal.expiresDate == first.purchaseDate + .seconds(800))
  }

  @Test("a payment that fails for all of the retry ends it for that")
  func billingEnd() async throws {
    let token = try await store.openAccount()
    let first = try await store.buy(StoreHarness.magazine, token: token)
    _ = try await store.control("fail-renewals", first)
    store.clock.advance(by: .seconds(300 + 599))
    #expect(try await store.subscription(token).state == .billingRetry)
    store.clock.advance(by: .seconds(1))
    let over = try await store.subscription(token)
    #expect(over.state == .expired && over.expirationIntent == 2)
    #expect(try await store.all(token).count == 1)
  }

  // MARK: Prices, and the end

  @Test("renewals cost what the subscription began with, whatever the catalog asks new customers by now")
  func preservedPrice() async throws {
    let token = try await store.openAccount()
    let first = try await store.buy(StoreHarness.magazine, token: token)
    store.catalog.setPrice("4.99", of: StoreHarness.magazine)
    store.clock.advance(by: .seconds(601))
    #expect(try await store.all(token).map(\.price) == ["2.99", "2.99", "2.99"])
    #expect(try await store.buy(StoreHarness.magazine, token: store.openAccount()).price == "4.99")
    // So it goes on with another subscription of the same customer, which begins anew.
    _ = try await store.change(first, token: token, SubscriptionChange(autoRenew: false))
    store.clock.advance(by: .seconds(301))
    #expect(try await store.buy(StoreHarness.magazine, token: token).price == "4.99")
  }

  @Test(
    "a higher price is paid without a consent that nothing asks for, or with one; a missing one ends it",
    arguments: [(needsConsent: false, accepts: false), (true, true), (true, false)])
  func priceRise(needsConsent: Bool, accepts: Bool) async throws {
    let token = try await store.openAccount()
    let first = try await store.buy(StoreHarness.magazine, token: token)
    let price = try #require(Price(amount: "3.49", currency: "EUR"))
    _ = try await store.control(
      "raise-price", first, body: PriceIncreaseRequest(prices: ["FRA": price], needsConsent: needsConsent))
    if accepts { _ = try await store.change(first, token: token, SubscriptionChange(acceptPrice: true)) }
    store.clock.advance(by: .seconds(301))
    let all = try await store.all(token)
    if needsConsent && !accepts {
      #expect(all.count == 1)
      #expect(try await store.subscription(token).expirationIntent == 3)
    } else {
      #expect(all.map(\.price) == ["2.99", "3.49"])
    }
    let path = "/sandbox/v1/subscriptions/\(first.originalId)/raise-price"
    let body = try APIJSON.encode(PriceIncreaseRequest(prices: ["USA": price], needsConsent: false))
    #expect(try await store.refusal(.post, path, body: body) == .requestMalformed)
  }

  @Test("a test ends a subscription at once, and it can be bought again")
  func expire() async throws {
    let token = try await store.openAccount()
    let first = try await store.buy(StoreHarness.magazine, token: token)
    store.clock.advance(by: .seconds(60))
    let over = try await store.control("expire", first)
    #expect(over.state == .expired && over.expiresDate == first.purchaseDate + .seconds(60))
    #expect(try await store.all(token).first?.expiresDate == over.expiresDate)
    #expect(try await store.buy(StoreHarness.magazine, token: token).state == .purchased)
    #expect(
      try await store.refusal(.post, "/sandbox/v1/subscriptions/17/expire") == .subscriptionUnknown)
  }

  @Test("a subscription that is ended in the second of its beginning has had that second")
  func expireAtOnce() async throws {
    let token = try await store.openAccount()
    let first = try await store.buy(StoreHarness.magazine, token: token)
    let over = try await store.control("expire", first)
    #expect(over.state == .expired && over.expiresDate == first.purchaseDate + .seconds(1))
    #expect(try await store.all(token).first?.expiresDate == over.expiresDate)
  }

  @Test("a month that changes does not change the period that runs")
  func timeChange() async throws {
    let token = try await store.openAccount()
    let first = try await store.buy(StoreHarness.magazine, token: token)
    store.clock.advance(by: .seconds(310))
    try await store.setTime("30s")
    store.clock.advance(by: .seconds(300))
    let all = try await store.all(token)
    #expect(all[1].expiresDate == first.purchaseDate + .seconds(600), "it fell due before the change")
    #expect(all[2].expiresDate == first.purchaseDate + .seconds(630))
    let bad = try APIJSON.encode(StoreTime(month: "1s", renewals: 6))
    #expect(try await store.refusal(.put, "/sandbox/v1/time", body: bad) == .requestMalformed)
  }
}
