import Commerce
import CoreTypes
import PullboxAPI
import PullboxKit
import ServiceRuntime
import SystemCalls
import Testing

@testable import pullbox

@Suite("What a product costs, in words")
struct OfferTextTests {
  private func product(
    _ type: ProductType, price: String? = "$2.99", period: String? = nil, owned: Bool = false,
    until: Timestamp? = nil
  ) throws -> AgentProduct {
    AgentProduct(
      listing: ProductListing(
        id: try #require(ProductIdentifier("com.example.a")), type: type, title: "Heroes", description: "",
        price: price.map { .init(amount: "2.99", currency: "USD", formatted: $0) },
        period: try period.map { try #require(BillingPeriod($0)) }),
      owned: owned, subscribedUntil: until)
  }

  @Test("an offer has title, price, period, quantity and environment")
  func offers() throws {
    let issue = try product(.nonConsumable)
    #expect(
      OfferText.offer(issue, quantity: nil, environment: "Production") == "Heroes, $2.99 (Production)")
    #expect(
      OfferText.offer(try product(.consumable), quantity: 3, environment: "Sandbox")
        == "3 × Heroes, $2.99 each (Sandbox)")
    #expect(
      OfferText.offer(
        try product(.autoRenewableSubscription, period: "P1M"), quantity: 1, environment: "Sandbox")
        == "Heroes, $2.99 a month (Sandbox)")
    #expect(
      OfferText.offer(
        try product(.autoRenewableSubscription, price: nil, period: "P3M"), quantity: 1,
        environment: "Sandbox")
        == "Heroes, free every 3 months (Sandbox)")
  }

  @Test(
    "the first payments under an offer are told with what follows; both prices where the store does not say who gets it"
  )
  func introductions() throws {
    var monthly = try product(.autoRenewableSubscription, period: "P1M")
    func text(
      _ payment: StoreOffer.Payment, _ period: String, _ payments: Int = 1, _ eligible: Bool? = true
    ) throws -> String {
      monthly.offers = [
        AccountOffer(
          kind: .introductory, payment: payment, period: try #require(BillingPeriod(period)),
          payments: payments,
          price: payment == .freeTrial ? nil : Price(amount: "0.99", currency: "USD"), eligible: eligible)
      ]
      return OfferText.price(of: monthly)
    }
    #expect(try text(.freeTrial, "P1W") == "free for a week, then $2.99 a month")
    #expect(try text(.payUpFront, "P3M") == "0.99 USD for 3 months, then $2.99 a month")
    #expect(try text(.payAsYouGo, "P1M", 3) == "0.99 USD a month, 3 times, then $2.99 a month")
    #expect(try text(.payAsYouGo, "P1M") == "0.99 USD for a month, then $2.99 a month")
    #expect(try text(.freeTrial, "P2W", 1, nil) == "$2.99 a month, or free for 2 weeks first")
    #expect(try text(.freeTrial, "P1W", 1, false) == "$2.99 a month")
    monthly.subscribedUntil = Timestamp(millisecondsSinceEpoch: 0)
    #expect(OfferText.price(of: monthly) == "$2.99 a month")
  }

  @Test(
    "what a code gives is told with its terms, the price behind them and their beginning, as far as it is known"
  )
  func codes() throws {
    let monthly = try product(.autoRenewableSubscription, period: "P1M").listing
    let account = StoreAccount(
      territory: "USA", currency: "USD", environment: "Sandbox", canMakePayments: true)
    func text(_ preview: CodePreview?, isListed: Bool = true) -> String? {
      OfferText.code(
        AgentCodePreview(account: account, preview: preview, listing: isListed ? monthly : nil))
    }
    let free = CodeTerms(payment: .freeTrial, period: .month, payments: 1)
    var preview = CodePreview(product: monthly.id, kind: .promotional, terms: free)
    #expect(text(preview) == "Heroes, free for a month, then $2.99 a month (Sandbox)")
    #expect(text(preview, isListed: false) == "com.example.a, free for a month, then its price (Sandbox)")
    let start = try #require(Timestamp(rfc3339: "2026-12-21T08:30:00.000Z"))
    preview.start = start
    #expect(
      text(preview)
        == "Heroes, free for a month from \(LocalTime.text(start)) on, then $2.99 a month (Sandbox)")
    preview = CodePreview(
      product: monthly.id, kind: .offer,
      terms: CodeTerms(
        payment: .payAsYouGo, period: .month, payments: 3, price: Price(amount: "0.99", currency: "USD")))
    #expect(text(preview) == "Heroes, 0.99 USD a month, 3 times, then $2.99 a month (Sandbox)")
    #expect(text(CodePreview(product: monthly.id, kind: .gift)) == "Heroes as a gift (Sandbox)")
    #expect(text(nil) == nil)
  }

  @Test("a bonus is told in the shop and to who gives contact data, where the store gives it to the account")
  func bonuses() throws {
    var monthly = try product(.autoRenewableSubscription, period: "P1M")
    #expect(OfferText.terms(of: monthly) == "$2.99 a month")
    monthly.bonus = AccountBonus(period: .month, eligible: true)
    let told = "$2.99 a month, and a month more the first time for contact data"
    #expect(OfferText.terms(of: monthly) == told)
    func offer(optsIn: Bool) -> String {
      OfferText.offer(monthly, quantity: nil, environment: "Sandbox", optsIn: optsIn)
    }
    #expect(offer(optsIn: true) == "Heroes, \(told) (Sandbox)")
    #expect(offer(optsIn: false) == "Heroes, $2.99 a month (Sandbox)")
    monthly.bonus = AccountBonus(period: try #require(BillingPeriod("P3M")), eligible: true)
    #expect(OfferText.bonus(monthly) == "3 months more the first time for contact data")
    for eligible in [false, nil] {
      monthly.bonus?.eligible = eligible
      #expect(OfferText.terms(of: monthly) == "$2.99 a month")
    }
    monthly.bonus?.eligible = true
    monthly.subscribedUntil = Timestamp(millisecondsSinceEpoch: 0)
    #expect(OfferText.bonus(monthly) == nil)
  }

  @Test("what the reader has is told with its end")
  func standings() throws {
    #expect(OfferText.standing(try product(.nonConsumable)) == "")
    #expect(OfferText.standing(try product(.nonConsumable, owned: true)) == "owned")
    let until = try #require(Timestamp(rfc3339: "2026-12-21T08:30:00.000Z"))
    let subscribed = try product(.autoRenewableSubscription, until: until)
    #expect(OfferText.standing(subscribed) == "subscribed until \(LocalTime.text(until))")
    #expect(OfferText.held(subscribed, isHere: false).contains("subscribed until"))
  }

  @Test("what is owned is fetched by a restore, unless it is on this device", arguments: [true, false])
  func owned(isHere: Bool) throws {
    let told = OfferText.held(try product(.nonConsumable, owned: true), isHere: isHere)
    #expect(told.contains("owned already"))
    #expect(told.contains("pullbox restore") != isHere && told.contains("pullbox path") == isHere)
  }

  @Test(
    "the first variable that POSIX reads names the reader's language",
    arguments: [
      (["LANG": "fr_FR.UTF-8"], "fr-FR"), (["LC_ALL": "pt_BR", "LANG": "fr_FR"], "pt-BR"),
      (["LC_ALL": "", "LC_MESSAGES": "de@euro"], "de"), (["LANG": "C.UTF-8"], nil), (["LANG": "POSIX"], nil),
      (["LANG": "../x"], nil), ([:], nil),
    ])
  func locale(variables: [String: String], tag: String?) {
    #expect(ReaderLocale.tag(variables) == tag)
  }

  @Test("what comes after a subscription's period")
  func next() throws {
    let now = Timestamp(millisecondsSinceEpoch: 1_800_000_000_000)
    var subscription = StoreSubscription(
      originalId: try #require(TransactionIdentifier("7")),
      product: try #require(ProductIdentifier("com.example.monthly")), state: .active, autoRenew: true,
      purchaseDate: now, expiresDate: now + .seconds(60))
    #expect(SubscriptionCommand.next(subscription) == "goes on")
    subscription.renewalProduct = ProductIdentifier("com.example.yearly")
    #expect(SubscriptionCommand.next(subscription) == "goes on as com.example.yearly")
    subscription.autoRenew = false
    #expect(SubscriptionCommand.next(subscription) == "ends")
    subscription.state = .expired
    #expect(SubscriptionCommand.next(subscription) == "")
  }
}
