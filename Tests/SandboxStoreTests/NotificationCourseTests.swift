import Commerce
import CoreTypes
import HTTPServer
import PullboxAPI
import PullboxTesting
import SandboxRecords
import ServiceAPI
import Testing

@testable import SandboxStore

/// The notifications of a purchase and of a subscription's course, each at its moment.
@Suite("What notifications tell")
struct NotificationCourseTests {
  let api: ServerAPIHarness

  init() throws {
    api = try ServerAPIHarness()
  }

  private var store: StoreHarness { api.store }

  private func change(
    _ id: TransactionIdentifier, to change: SubscriptionChange, token: String
  ) async throws {
    let _: StoreSubscription = try await store.call(
      .patch, "/store/v1/subscriptions/\(id)", token: token, body: change)
  }

  @Test("one-time purchases, refunds, their reversals and the end of sharing are told; restored ones are not")
  func oneTime() async throws {
    let token = try await store.openAccount()
    let issue = try await store.buy(StoreHarness.issue, token: token)
    _ = try await store.buy(StoreHarness.issue, token: token)
    try await api.control("transactions/\(issue.id)/refund")
    try await api.control("transactions/\(issue.id)/reverse")
    try await api.control("transactions/\(issue.id)/revoke")
    #expect(
      try await api.notifications() == ["ONE_TIME_CHARGE", "REFUND", "REFUND_REVERSED", "REVOKE"])
    let told = try await api.written()
    #expect(
      told.map { $0.content.transaction?.transactionId } == Array(repeating: issue.id.description, count: 4))
    #expect(told.map { $0.content.transaction?.revocationDate != nil } == [false, true, false, true])
    #expect(
      told.map { $0.content.transaction?.revocationType } == [nil, "REFUND_FULL", nil, "FAMILY_REVOKE"])
    #expect(Set(told.map(\.uuid)).count == 4)
    let dates = try told.map { try #require($0.signed) }
    #expect(zip(dates, dates.dropFirst()).allSatisfy { $0 < $1 })
  }

  @Test(
    "six renewals and the end of a subscription are told with their own periods, also after the store was away"
  )
  func renewals() async throws {
    let token = try await store.openAccount()
    let bought = try await store.buy(StoreHarness.magazine, token: token)
    store.clock.advance(by: .seconds(3600))
    let expected =
      ["SUBSCRIBED INITIAL_BUY"] + Array(repeating: "DID_RENEW", count: 6) + ["EXPIRED VOLUNTARY"]
    #expect(try await api.notifications() == expected)
    let told = try await api.written()
    let start = bought.purchaseDate.millisecondsSinceEpoch
    #expect(
      told.prefix(7).map { $0.content.transaction?.purchaseDate } == (0..<7).map { start + $0 * 300_000 })
    #expect(told.map(\.content.status) == Array(repeating: .active, count: 7) + [.expired])
    #expect(told.allSatisfy { $0.content.transaction?.subscriptionGroupIdentifier == "com.example.magazine" })
    #expect(told.prefix(7).map { $0.content.renewal?.renewalDate } == (1...7).map { start + $0 * 300_000 })
    #expect(told.last?.content.renewal?.expirationIntent == 1)
    #expect(told.last?.content.renewal?.autoRenewStatus == 0)
  }

  @Test("a subscriber who comes back is told as such")
  func comingBack() async throws {
    let token = try await store.openAccount()
    let bought = try await store.buy(StoreHarness.magazine, token: token)
    try await api.control("subscriptions/\(bought.id)/expire")
    _ = try await store.buy(StoreHarness.magazine, token: token)
    #expect(
      try await api.notifications() == [
        "SUBSCRIBED INITIAL_BUY", "EXPIRED VOLUNTARY", "SUBSCRIBED RESUBSCRIBE",
      ])
    #expect(try await api.written().last?.content.renewal?.autoRenewStatus == 1)
  }

  @Test("auto-renewal off and on, and an upgrade, a downgrade and its being taken back, are told")
  func preferences() async throws {
    let token = try await store.openAccount()
    let bought = try await store.buy(StoreHarness.magazine, token: token)
    try await change(bought.id, to: SubscriptionChange(autoRenew: false), token: token)
    try await change(bought.id, to: SubscriptionChange(autoRenew: true), token: token)
    try await change(bought.id, to: SubscriptionChange(product: StoreHarness.basic), token: token)
    try await change(bought.id, to: SubscriptionChange(product: StoreHarness.magazine), token: token)
    store.clock.advance(by: .seconds(10))
    let upgrade = try await store.buy(StoreHarness.premium, token: token)
    #expect(
      try await api.notifications() == [
        "SUBSCRIBED INITIAL_BUY", "DID_CHANGE_RENEWAL_STATUS AUTO_RENEW_DISABLED",
        "DID_CHANGE_RENEWAL_STATUS AUTO_RENEW_ENABLED", "DID_CHANGE_RENEWAL_PREF DOWNGRADE",
        "DID_CHANGE_RENEWAL_PREF", "DID_CHANGE_RENEWAL_PREF UPGRADE",
      ])
    let told = try await api.written()
    #expect(told[3].content.renewal?.autoRenewProductId == StoreHarness.basic.description)
    #expect(told[4].content.renewal?.autoRenewProductId == StoreHarness.magazine.description)
    #expect(told[5].content.transaction?.transactionId == upgrade.id.description)
    #expect(told[5].content.renewal?.productId == StoreHarness.premium.description)
  }

  @Test("a payment that fails, its grace period and the end of the attempts are told at their moments")
  func billing() async throws {
    let token = try await store.openAccount()
    let bought = try await store.buy(StoreHarness.magazine, token: token)
    try await api.control("subscriptions/\(bought.id)/fail-renewals")
    store.clock.advance(by: .seconds(301))
    #expect(
      try await api.notifications() == ["SUBSCRIBED INITIAL_BUY", "DID_FAIL_TO_RENEW GRACE_PERIOD"])
    store.clock.advance(by: .seconds(150))
    #expect(try await api.notifications().last == "GRACE_PERIOD_EXPIRED")
    store.clock.advance(by: .seconds(600))
    #expect(try await api.notifications().suffix(2) == ["GRACE_PERIOD_EXPIRED", "EXPIRED BILLING_RETRY"])
    #expect(
      try await api.written().map(\.content.status) == [
        .active, .billingGracePeriod, .billingRetry, .expired,
      ])
    let failed = try #require(try await api.written()[1].content.renewal)
    let end = try #require(bought.expiresDate).millisecondsSinceEpoch
    #expect(failed.isInBillingRetryPeriod == true && failed.gracePeriodExpiresDate == end + 150_000)
  }

  @Test("a payment that succeeds in the grace period is a recovery, and the end of the grace is not told")
  func recovery() async throws {
    let token = try await store.openAccount()
    let bought = try await store.buy(StoreHarness.magazine, token: token)
    try await api.control("subscriptions/\(bought.id)/fail-renewals")
    store.clock.advance(by: .seconds(301))
    try await store.store.catchUp()
    try await api.control("subscriptions/\(bought.id)/recover")
    store.clock.advance(by: .seconds(200))
    #expect(
      try await api.notifications() == [
        "SUBSCRIBED INITIAL_BUY", "DID_FAIL_TO_RENEW GRACE_PERIOD", "DID_RENEW BILLING_RECOVERY",
      ])
    #expect(try await api.written().last?.content.status == .active)
  }

  @Test(
    "a higher price is told as pending, then as accepted or as the end; without the need of consent as accepted",
    arguments: [(true, true), (true, false), (false, false)])
  func prices(needsConsent: Bool, accepts: Bool) async throws {
    let token = try await store.openAccount()
    let bought = try await store.buy(StoreHarness.magazine, token: token)
    let price = try #require(Price(amount: "3.49", currency: "EUR"))
    try await api.control(
      "subscriptions/\(bought.id)/raise-price",
      body: PriceIncreaseRequest(prices: ["FRA": price], needsConsent: needsConsent))
    if accepts { try await change(bought.id, to: SubscriptionChange(acceptPrice: true), token: token) }
    store.clock.advance(by: .seconds(300))
    let told = try await api.notifications().dropFirst()
    switch (needsConsent, accepts) {
    case (true, true): #expect(told == ["PRICE_INCREASE PENDING", "PRICE_INCREASE ACCEPTED", "DID_RENEW"])
    case (true, false): #expect(told == ["PRICE_INCREASE PENDING", "EXPIRED PRICE_INCREASE"])
    default: #expect(told == ["PRICE_INCREASE ACCEPTED", "DID_RENEW"])
    }
    let renewal = try #require(try await api.written()[1].content.renewal)
    #expect(renewal.priceIncreaseStatus == (needsConsent ? 0 : 1) && renewal.renewalPrice == 3490)
  }

  @Test("the refund of a running subscription tells its status as revoked, and taking it back as active")
  func refundedSubscription() async throws {
    let token = try await store.openAccount()
    let bought = try await store.buy(StoreHarness.magazine, token: token)
    try await api.control("transactions/\(bought.id)/refund")
    try await api.control("transactions/\(bought.id)/reverse")
    let told = try await api.written()
    #expect(
      told.map(\.type) == [
        .subscribed, .refund, .didChangeRenewalStatus, .refundReversed, .didChangeRenewalStatus,
      ])
    #expect(told.map(\.content.status) == [.active, .revoked, .revoked, .active, .active])
    #expect(told.map(\.subtype) == [.initialBuy, nil, .autoRenewDisabled, nil, .autoRenewEnabled])
  }

  @Test("a refund that is asked for, and one that is declined, are told")
  func refundRequests() async throws {
    let token = try await store.openAccount()
    let coins = try await store.buy(StoreHarness.coins, token: token)
    try await api.control(
      "transactions/\(coins.id)/request-refund", body: ["reason": "UNSATISFIED_WITH_PURCHASE"])
    try await api.control("transactions/\(coins.id)/decline-refund")
    #expect(try await api.notifications() == ["ONE_TIME_CHARGE", "CONSUMPTION_REQUEST", "REFUND_DECLINED"])
    #expect(try await api.written()[1].content.consumptionReason == "UNSATISFIED_WITH_PURCHASE")
    let body = Array("{\"reason\":\"BORED\"}".utf8)
    let path = "/sandbox/v1/transactions/\(coins.id)/request-refund"
    #expect(try await store.refusal(.post, path, body: body) == .requestMalformed)
  }

  private func redeem(_ request: CodeRequest, token: String) async throws -> StoreTransaction {
    let made: StoreCode = try await store.call(.post, "/sandbox/v1/codes", body: request, status: 201)
    let answer: TransactionResponse = try await store.call(
      .post, "/store/v1/codes/\(made.code)", token: token, body: String?.none, status: 201)
    return answer.transaction
  }

  @Test(
    "a code that is redeemed for what runs is told: for the next renewal, for more at once, for less later")
  func redeemedOffers() async throws {
    let token = try await store.openAccount()
    _ = try await store.buy(StoreHarness.magazine, token: token)
    let trial = StoreOffer(payment: .freeTrial, period: .month, name: "summer")
    // The offer of the first waits for a renewal, and no other code is taken before that.
    for (product, seconds) in [
      (StoreHarness.magazine, 10), (StoreHarness.premium, 300), (StoreHarness.basic, 10),
    ] {
      store.clock.advance(by: .seconds(seconds))
      _ = try await redeem(CodeRequest(product: product, offer: trial, uses: 1), token: token)
    }
    #expect(
      try await api.notifications() == [
        "SUBSCRIBED INITIAL_BUY", "OFFER_REDEEMED", "DID_RENEW", "OFFER_REDEEMED UPGRADE",
        "OFFER_REDEEMED DOWNGRADE",
      ])
    let told = try await api.written()
    let renewals = try told.map { try #require($0.content.renewal) }
    #expect(renewals.map(\.offerType) == [nil, 3, nil, nil, 3])
    #expect(renewals.map(\.offerIdentifier) == [nil, "summer", nil, nil, "summer"])
    #expect(renewals.map(\.renewalPrice) == [2990, 0, 2990, 5990, 0])
    #expect(renewals[1].offerDiscountType == "FREE_TRIAL" && renewals[1].offerPeriod == "P1M")
    #expect(renewals[4].autoRenewProductId == StoreHarness.basic.description)
    let upgrade = try #require(told[3].content.transaction)
    #expect(upgrade.offerType == 3 && upgrade.offerIdentifier == "summer" && upgrade.price == 0)
  }

  @Test("what a member of a family gains and loses is told of the member")
  func family() async throws {
    let organizer = try await store.openNamedAccount()
    let member = try await store.openNamedAccount()
    let family = StoreFamily(organizer: organizer.account, members: [member.account])
    try await api.control("families", body: family)
    let bought = try await store.buy(StoreHarness.magazine, token: organizer.token)
    try await api.control("transactions/\(bought.id)/refund")
    let own = try await store.all(member.token).map(\.id.description)
    let told = try await api.written().filter {
      $0.content.transaction.map { own.contains($0.transactionId) } ?? false
    }
    #expect(told.map(\.type) == [.subscribed, .revoke])
    #expect(told.first?.subtype == .initialBuy)
    #expect(told.map { $0.content.transaction?.inAppOwnershipType } == ["FAMILY_SHARED", "FAMILY_SHARED"])
  }
}
