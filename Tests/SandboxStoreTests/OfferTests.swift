import Commerce
import CoreTypes
import HTTPServer
import PullboxAPI
import PullboxTesting
import Receipts
import ServiceAPI
import Testing

@testable import SandboxStore

/// Facts §7.2 (eligibility) and §9 (the bonus). A month is five minutes.
@Suite("Offers, bonuses and codes")
struct OfferTests {
  let store: StoreHarness

  init() throws {
    store = try StoreHarness()
  }

  private static let euro99 = ["FRA": Price(amount: "0.99", currency: "EUR")].compactMapValues { $0 }

  private func offer(_ offers: ProductOffers, of product: ProductIdentifier = StoreHarness.magazine)
    async throws
  {
    let _: ProductOffers = try await store.call(.put, "/sandbox/v1/offers/\(product)", body: offers)
  }

  private func trials(_ token: String) async throws -> [[Bool?]] {
    let entries = try await store.verify(store.receipt(token)).latestReceiptInfo ?? []
    return entries.reversed().map { [$0.isTrialPeriod, $0.isInIntroductoryOfferPeriod] }
  }

  @Test("a free trial comes first and costs nothing, once for a publication and account")
  func freeTrial() async throws {
    try await store.setTime("5m", renewals: 1)
    try await offer(
      ProductOffers(introductory: StoreOffer(payment: .freeTrial, period: try #require(BillingPeriod("P1W"))))
    )
    try await offer(
      ProductOffers(introductory: StoreOffer(payment: .freeTrial, period: .month)), of: StoreHarness.premium)
    let token = try await store.openAccount()
    let first = try await store.buy(StoreHarness.magazine, token: token)
    #expect(first.price == nil && first.expiresDate == first.purchaseDate + .seconds(180))
    store.clock.advance(by: .seconds(1000))
    let all = try await store.all(token)
    #expect(all.map(\.price) == [nil, "2.99"])
    #expect(all[1].purchaseDate == first.expiresDate)
    #expect(all[1].expiresDate == first.purchaseDate + .seconds(480))
    let again = try await store.buy(StoreHarness.premium, token: token)
    #expect(again.price == "5.99", "another product of the group after a lapse")
    #expect(try await trials(token) == [[true, false], [false, false], [false, false]])
    let other = try await store.openAccount()
    #expect(try await store.buy(StoreHarness.premium, token: other).price == nil)
  }

  @Test("an introduction that is paid for is paid as often as it says, or once for all of it")
  func paid() async throws {
    try await offer(
      ProductOffers(
        introductory: StoreOffer(payment: .payAsYouGo, period: .month, payments: 2, prices: Self.euro99)))
    let token = try await store.openAccount()
    try await store.buy(StoreHarness.magazine, token: token)
    store.clock.advance(by: .seconds(700))
    #expect(try await store.all(token).map(\.price) == ["0.99", "0.99", "2.99"])
    #expect(try await trials(token) == [[false, true], [false, true], [false, false]])

    try await offer(
      ProductOffers(
        introductory: StoreOffer(
          payment: .payUpFront, period: try #require(BillingPeriod("P3M")), prices: Self.euro99)))
    let other = try await store.openAccount()
    let first = try await store.buy(StoreHarness.magazine, token: other)
    #expect(first.price == "0.99" && first.expiresDate == first.purchaseDate + .seconds(900))
    store.clock.advance(by: .seconds(901))
    let renewal = try #require(try await store.all(other).last)
    #expect(renewal.price == "2.99" && renewal.expiresDate == first.purchaseDate + .seconds(1200))
  }

  @Test("the bonus makes the first period longer for who opts in, three months at most, and never again")
  func bonus() async throws {
    try await store.setTime("5m", renewals: 0)
    try await offer(ProductOffers(bonus: BillingPeriod("P3M")))
    let token = try await store.openAccount()
    func buy() async throws -> StoreTransaction {
      let answer: TransactionResponse = try await store.call(
        .post, "/store/v1/purchases", token: token,
        body: PurchaseRequest(product: StoreHarness.magazine, optIn: true), status: 201)
      return answer.transaction
    }
    let first = try await buy()
    #expect(first.expiresDate == first.purchaseDate + .seconds(300 + 900) && first.price == "2.99")
    store.clock.advance(by: .seconds(5000))
    let second = try await buy()
    #expect(second.expiresDate == second.purchaseDate + .seconds(300))
    let other = try await store.openAccount()
    let without = try await store.buy(StoreHarness.magazine, token: other)
    #expect(without.expiresDate == without.purchaseDate + .seconds(300))
    for period in ["P1Y", "P4M", "P91D"] {
      let body = try APIJSON.encode(ProductOffers(bonus: BillingPeriod(period)))
      let path = "/sandbox/v1/offers/\(StoreHarness.magazine)"
      #expect(try await store.refusal(.put, path, body: body) == .requestMalformed)
    }
  }

  @Test(
    "an account is told of the bonus and whether it gets it, also without an introduction, and gets what it was shown or buys nothing"
  )
  func toldBonus() async throws {
    try await store.setTime("5m", renewals: 0)
    let token = try await store.openAccount()
    func told() async throws -> ProductAccountOffers? {
      try await store.get(
        "/store/v1/offers?product=\(StoreHarness.magazine)", token: token, as: AccountOffersResponse.self
      ).products.first
    }
    func buy(_ shown: String, optIn: Bool? = true) async throws -> (code: ProblemCode?, length: Duration?) {
      let request = PurchaseRequest(
        product: StoreHarness.magazine, optIn: optIn, shown: ShownPrice(shown))
      let answer = try await store.send(
        .post, "/store/v1/purchases", token: token, body: try APIJSON.encode(request))
      guard answer.status == 201 else {
        return (try APIJSON.decode(Problem.self, from: answer.body).code, nil)
      }
      let sold = try APIJSON.decode(TransactionResponse.self, from: answer.body).transaction
      return (nil, sold.expiresDate.map { $0 - sold.purchaseDate })
    }
    #expect(try await told() == nil)
    #expect(try await buy("2.99 EUR; bonus P1M").code == .priceChanged, "there is none")
    try await offer(ProductOffers(bonus: .month))
    #expect(try await told()?.offers == [])
    #expect(try await told()?.bonus == AccountBonus(period: .month, eligible: true))
    #expect(try await buy("2.99 EUR; bonus P2M").code == .priceChanged)
    #expect(try await buy("2.99 EUR; bonus P1M", optIn: nil).code == .priceChanged, "no contact data")
    #expect(try await buy("2.99 EUR; bonus P1M").length == .seconds(600))
    #expect(try await told()?.bonus?.eligible == false, "it runs")
    store.clock.advance(by: .seconds(5000))
    _ = try await store.all(token)
    #expect(try await told()?.bonus?.eligible == false, "it was had")
    try await offer(
      ProductOffers(introductory: StoreOffer(payment: .freeTrial, period: .month), bonus: .month))
    let both = try #require(try await told())
    #expect(both.offers.map(\.eligible) == [true] && both.bonus?.eligible == false)
  }

  private func code(_ request: CodeRequest) async throws -> String {
    let made: StoreCode = try await store.call(.post, "/sandbox/v1/codes", body: request, status: 201)
    return made.code
  }

  private func redeem(_ code: String, token: String) async throws -> StoreTransaction {
    let answer: TransactionResponse = try await store.call(
      .post, "/store/v1/codes/\(code)", token: token, body: String?.none, status: 201)
    return answer.transaction
  }

  @Test("a code gives its product for nothing to as many accounts as it has uses, to each once")
  func gift() async throws {
    let code = try await code(CodeRequest(product: StoreHarness.issue, uses: 2))
    let token = try await store.openAccount()
    let gift = try await redeem(code, token: token)
    #expect(gift.state == .purchased && gift.price == nil && gift.device == nil)
    let path = "/store/v1/codes/\(code)"
    #expect(try await store.refusal(.post, path, token: token) == .stateConflict, "once an account")
    let owner = try await store.openAccount()
    try await store.buy(StoreHarness.issue, token: owner)
    #expect(try await store.refusal(.post, path, token: owner) == .stateConflict, "it is owned")
    #expect(
      try await redeem(code, token: store.openAccount()).state == .purchased, "and the code was not used up")
    #expect(try await store.refusal(.post, path, token: store.openAccount()) == .stateConflict)
    #expect(try await store.refusal(.post, "/store/v1/codes/none", token: token) == .notFound)
    let bad = try APIJSON.encode(CodeRequest(product: StoreHarness.issue, uses: 0))
    #expect(try await store.refusal(.post, "/sandbox/v1/codes", body: bad) == .requestMalformed)
  }

  private func preview(_ code: String, token: String) async throws -> CodePreview {
    try await store.get("/store/v1/codes/\(code)", token: token)
  }

  @Test("before it is redeemed a code tells what it gives the account, and changes nothing")
  func previews() async throws {
    let gift = try await code(CodeRequest(product: StoreHarness.issue, uses: 1))
    let month = try await code(CodeRequest(product: StoreHarness.magazine, uses: 9))
    let paid = StoreOffer(payment: .payAsYouGo, period: .month, payments: 3, prices: Self.euro99)
    let summer = try await code(CodeRequest(product: StoreHarness.magazine, offer: paid, uses: 9))
    let token = try await store.openAccount()
    let free = CodeTerms(payment: .freeTrial, period: .month, payments: 1)
    let terms = CodeTerms(
      payment: .payAsYouGo, period: .month, payments: 3, price: Self.euro99["FRA"])
    for _ in 0..<2 {
      #expect(try await preview(gift, token: token) == CodePreview(product: StoreHarness.issue, kind: .gift))
      #expect(
        try await preview(month, token: token)
          == CodePreview(product: StoreHarness.magazine, kind: .promotional, terms: free))
      #expect(
        try await preview(summer, token: token)
          == CodePreview(product: StoreHarness.magazine, kind: .offer, terms: terms))
    }
    #expect(try await store.all(token).isEmpty)
    // One of what runs is for the next renewal.
    let running = try await store.buy(StoreHarness.magazine, token: token)
    #expect(try await preview(summer, token: token).start == running.expiresDate)
    #expect(try await redeem(summer, token: token).id == running.id)
    store.clock.advance(by: .seconds(301))
    #expect(try await store.all(token).map(\.price) == ["2.99", "0.99"])
  }

  @Test("a code that would be refused is refused with the same words before it is redeemed")
  func refusedPreviews() async throws {
    let gift = try await code(CodeRequest(product: StoreHarness.issue, uses: 1))
    let offer = StoreOffer(
      payment: .payUpFront, period: .month,
      prices: ["USA": try #require(Price(amount: "0.99", currency: "USD"))])
    let elsewhere = try await code(CodeRequest(product: StoreHarness.magazine, offer: offer, uses: 1))
    let gone = try await code(
      CodeRequest(product: try #require(ProductIdentifier("com.example.gone")), uses: 1))
    let (token, owner) = (try await store.openAccount(), try await store.openAccount())
    try await store.buy(StoreHarness.issue, token: owner)
    func refusal(_ method: HTTPMethod, _ code: String, _ token: String) async throws -> String {
      let answer = try await store.send(method, "/store/v1/codes/\(code)", token: token)
      let problem = try APIJSON.decode(Problem.self, from: answer.body)
      return "\(problem.status) \(problem.code?.text ?? "-") \(problem.detail ?? "-")"
    }
    func check(_ code: String, _ token: String, _ words: String) async throws {
      let before = try await refusal(.get, code, token)
      #expect(before.contains(words), "\(before)")
      #expect(try await refusal(.post, code, token) == before)
    }
    try await check("none", token, "404 not-found there is no such code")
    try await check(gone, token, "product-unknown")
    try await check(elsewhere, token, "409 state-conflict the code's offer has no price")
    try await check(gift, owner, "is owned")
    _ = try await redeem(gift, token: token)
    try await check(gift, token, "this account has redeemed the code already")
    try await check(gift, store.openAccount(), "the code is used up")
    #expect(try await store.refusal(.get, "/store/v1/codes/\(gift)") == .unauthorized)
  }

  @Test(
    "a repeated request with its key is answered as the first, also where only the next renewal changed; another one is refused"
  )
  func repeatedRedemption() async throws {
    let gift = try await code(CodeRequest(product: StoreHarness.issue, uses: 2))
    let renewal = try await code(CodeRequest(product: StoreHarness.magazine, uses: 2))
    let token = try await store.openAccount()
    let running = try await store.buy(StoreHarness.magazine, token: token)
    func redeem(_ code: String, key: String?) async throws -> (status: Int, id: TransactionIdentifier?) {
      let answer = try await store.send(.post, "/store/v1/codes/\(code)", token: token, key: key)
      guard answer.status == 201 else { return (answer.status, nil) }
      return (201, try APIJSON.decode(TransactionResponse.self, from: answer.body).transaction.id)
    }
    for code in [gift, renewal] {
      let first = try await redeem(code, key: "k1")
      #expect(first.status == 201 && first.id == (code == renewal ? running.id : first.id))
      #expect(try await redeem(code, key: "k1") == first)
      for other in ["k2", nil] { #expect(try await redeem(code, key: other).status == 409) }
    }
    #expect(try await store.all(token).count == 2)
    let pending = try await store.verify(store.receipt(token)).pendingRenewalInfo?.first
    #expect(pending != nil)
    let answer = try await store.send(.post, "/store/v1/codes/\(gift)", token: token)
    #expect(
      try APIJSON.decode(Problem.self, from: answer.body).detail
        == "this account has redeemed the code already")
  }

  private func offers(_ token: String, of product: ProductIdentifier = StoreHarness.magazine) async throws
    -> [AccountOffer]?
  {
    try await store.get("/store/v1/offers?product=\(product)", token: token, as: AccountOffersResponse.self)
      .products.first { $0.product == product }?.offers
  }

  @Test(
    "an account is told of the introduction and whether it gets it: before the first purchase, and after it no more"
  )
  func toldToAccount() async throws {
    try await store.setTime("5m", renewals: 1)
    let token = try await store.openAccount()
    #expect(try await offers(token) == nil)
    try await offer(
      ProductOffers(
        introductory: StoreOffer(payment: .payAsYouGo, period: .month, payments: 2, prices: Self.euro99)))
    var told = AccountOffer(
      kind: .introductory, payment: .payAsYouGo, period: .month, payments: 2, price: Self.euro99["FRA"],
      eligible: true)
    #expect(try await offers(token) == [told])
    try await store.buy(StoreHarness.magazine, token: token)
    told.eligible = false
    #expect(try await offers(token) == [told], "it runs")
    store.clock.advance(by: .seconds(2000))
    #expect(try await offers(token) == [told], "it was had")
    // A customer who has a subscription without one gets it after a lapse, and not as a change within the group.
    try await offer(
      ProductOffers(introductory: StoreOffer(payment: .freeTrial, period: .month)), of: StoreHarness.premium)
    let other = try await store.openAccount()
    try await offer(ProductOffers())
    try await store.buy(StoreHarness.magazine, token: other)
    #expect(try await offers(other, of: StoreHarness.premium)?.map(\.eligible) == [false])
    store.clock.advance(by: .seconds(2000))
    _ = try await store.all(other)
    #expect(try await offers(other, of: StoreHarness.premium)?.map(\.eligible) == [true])
    for query in ["", "?product=a/b", "?product=\(StoreHarness.magazine)&product=\(StoreHarness.magazine)"] {
      #expect(try await store.refusal(.get, "/store/v1/offers\(query)", token: token) == .requestMalformed)
    }
  }

  @Test("an offer that was shown is given, or nothing is sold; who saw none gets it as well")
  func shownOffer() async throws {
    func buy(_ shown: String, _ token: String) async throws -> (code: ProblemCode?, price: String?) {
      let request = PurchaseRequest(product: StoreHarness.magazine, shown: ShownPrice(shown))
      let answer = try await store.send(
        .post, "/store/v1/purchases", token: token, body: try APIJSON.encode(request))
      guard answer.status == 201 else {
        return (try APIJSON.decode(Problem.self, from: answer.body).code, nil)
      }
      return (nil, try APIJSON.decode(TransactionResponse.self, from: answer.body).transaction.price)
    }
    let token = try await store.openAccount()
    let trial = "2.99 EUR; free-trial P1M"
    #expect(try await buy(trial, token).code == .priceChanged, "there is none")
    try await offer(ProductOffers(introductory: StoreOffer(payment: .freeTrial, period: .month)))
    for other in [
      "2.99 EUR; free-trial P1W", "2.99 EUR; pay-as-you-go P1M 1 0.99 EUR", "3.99 EUR; free-trial P1M",
    ] {
      #expect(try await buy(other, token).code == .priceChanged, "\(other)")
    }
    let bought = try await buy(trial, token)
    #expect(bought.code == nil && bought.price == nil)
    let silent = try await buy("2.99 EUR", store.openAccount())
    #expect(silent.code == nil && silent.price == nil)
  }

  @Test("a code of a subscription begins it under its offer; of one that runs the next renewal is under it")
  func subscriptionCode() async throws {
    let summer = StoreOffer(payment: .freeTrial, period: .month, name: "summer")
    let code = try await code(CodeRequest(product: StoreHarness.magazine, offer: summer, uses: 9))
    let token = try await store.openAccount()
    let first = try await redeem(code, token: token)
    #expect(first.price == nil && first.expiresDate == first.purchaseDate + .seconds(300))
    store.clock.advance(by: .seconds(301))
    #expect(try await store.all(token).map(\.price) == [nil, "2.99"])
    let latest = try await store.verify(store.receipt(token)).latestReceiptInfo
    #expect(latest?.map(\.offerCodeReferenceName) == [nil, "summer"])
    #expect(latest?.last?.isTrialPeriod == false)
    let other = try await store.openAccount()
    let running = try await store.buy(StoreHarness.magazine, token: other)
    #expect(try await redeem(code, token: other).id == running.id)
    #expect(try await store.all(other).count == 1)
    let pending = try await store.verify(store.receipt(other)).pendingRenewalInfo?.first
    #expect(pending?.offerCodeReferenceName == "summer")
    store.clock.advance(by: .seconds(301))
    #expect(try await store.all(other).map(\.price) == ["2.99", nil])
    store.clock.advance(by: .seconds(300))
    #expect(try await store.all(other).map(\.price) == ["2.99", nil, "2.99"])
  }

  @Test(
    "a code of more begins at once, one of less with the next renewal, one without a price here not at all")
  func codesWithinGroup() async throws {
    let offer = StoreOffer(payment: .payAsYouGo, period: .month, payments: 1, prices: Self.euro99)
    let token = try await store.openAccount()
    let first = try await store.buy(StoreHarness.magazine, token: token)
    store.clock.advance(by: .seconds(100))
    let better = try await redeem(
      code(CodeRequest(product: StoreHarness.premium, offer: offer, uses: 1)), token: token)
    #expect(better.product == StoreHarness.premium && better.price == "0.99")
    #expect(better.originalId == first.id)
    #expect(try await store.all(token).map(\.expiresDate) == [better.purchaseDate, better.expiresDate])
    let less = try await redeem(
      code(CodeRequest(product: StoreHarness.basic, offer: offer, uses: 1)), token: token)
    #expect(less.id == better.id)
    store.clock.advance(by: .seconds(601))
    let all = try await store.all(token)
    #expect(
      all.map(\.product) == [
        StoreHarness.magazine, StoreHarness.premium, StoreHarness.basic, StoreHarness.basic,
      ])
    #expect(all.suffix(2).map(\.price) == ["0.99", "0.99"], "the offer's price, then its own")
    let elsewhere = StoreOffer(
      payment: .payAsYouGo, period: .month,
      prices: ["USA": try #require(Price(amount: "0.99", currency: "USD"))])
    let foreign = try await code(CodeRequest(product: StoreHarness.magazine, offer: elsewhere, uses: 1))
    let path = "/store/v1/codes/\(foreign)"
    #expect(try await store.refusal(.post, path, token: token) == .stateConflict)
    #expect(try await store.refusal(.post, path, token: store.openAccount()) == .stateConflict)
  }
}
