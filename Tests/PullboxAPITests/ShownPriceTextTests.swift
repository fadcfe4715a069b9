import Commerce
import PullboxAPI
import PullboxTesting
import Testing

/// `shown` of `POST /v1/purchases`, docs/agent.md.
@Suite("Texts of what was shown before a purchase")
struct ShownPriceTextTests {
  private let dollars: Price
  private let week: BillingPeriod

  init() throws {
    dollars = try #require(Price(amount: "4.99", currency: "USD"))
    week = try #require(BillingPeriod("P1W"))
  }

  @Test("the texts of docs/agent.md say what the page says they do")
  func documented() throws {
    let reduced = try #require(Price(amount: "0.99", currency: "USD"))
    let expected = [
      "2.99 EUR": ShownPrice(price: Price(amount: "2.99", currency: "EUR"), offer: nil),
      "free": ShownPrice(price: nil, offer: nil),
      "4.99 USD; free-trial P1W": ShownPrice(
        price: dollars, offer: .init(payment: .freeTrial, period: week, payments: 1, price: nil)),
      "4.99 USD; pay-as-you-go P1M 3 0.99 USD": ShownPrice(
        price: dollars, offer: .init(payment: .payAsYouGo, period: .month, payments: 3, price: reduced)),
      "4.99 USD; bonus P1M": ShownPrice(price: dollars, offer: nil, bonus: .month),
    ]
    let page = try RepositoryFile("docs/agent.md").text
    for (text, shown) in expected {
      #expect(page.contains("`\(text)`"), "\(text)")
      #expect(ShownPrice(text) == shown, "\(text)")
      #expect(shown.description == text)
    }
  }

  @Test(
    "a price has an amount and a currency, with one space between and none around",
    arguments: [
      "", " ", "2.99", "EUR", "EUR 2.99", "2.99EUR", "2.99  EUR", " 2.99 EUR", "2.99 EUR ", "2,99 EUR",
      "-2.99 EUR", "2.9999 EUR", ".99 EUR", "2. EUR", "2.99 eur", "2.99 EURO", "2.99 €", "1000000000 EUR",
      "Free", "FREE", "free EUR", "0 free", "2.99 EUR\n", "2.99\tEUR",
    ])
  func noPrices(text: String) {
    #expect(ShownPrice(text) == nil)
  }

  @Test(
    "an offer is told whole: a free trial by its period, another one by period, number and price",
    arguments: [
      "free-trial", "free-trial P1W 1", "free-trial P1W 1 0 USD", "free-trial  P1W", "free-trial 1W",
      "pay-as-you-go P1M", "pay-as-you-go P1M 3", "pay-as-you-go P1M 3 0.99", "pay-as-you-go P1M 0 0.99 USD",
      "pay-as-you-go P1M 13 0.99 USD", "pay-as-you-go P1M 03 0.99 USD", "pay-as-you-go P1M +3 0.99 USD",
      "pay-as-you-go P1M -3 0.99 USD", "pay-as-you-go P1M 3 0.99 USD ", "pay-as-you-go P1M 3 free USD",
      "pay-up-front P6M", "pay-later P1M 1 0.99 USD", "Free-Trial P1W", "", " ",
    ])
  func noOffers(offer: String) {
    #expect(ShownPrice("4.99 USD; \(offer)") == nil)
    #expect(ShownPrice("4.99 USD; free-trial P1W; \(offer)") == nil)
  }

  @Test("whatever may be shown is read back from its text, one text for each")
  func everything() throws {
    var random = SplitMix(seed: 3)
    var texts: Set<String> = []
    var shown: Set<ShownPrice> = []
    func price() throws -> Price {
      let amount = "\(Int.random(in: 0...999_999_999, using: &random))"
      let decimals = ["", ".5", ".99", ".125"].randomElement(using: &random) ?? ""
      return try #require(Price(amount: amount + decimals, currency: ["EUR", "KWD"][texts.count % 2]))
    }
    func period() throws -> BillingPeriod {
      let unit = ["D", "W", "M", "Y"].randomElement(using: &random) ?? "D"
      return try #require(BillingPeriod("P\(Int.random(in: 1...999, using: &random))\(unit)"))
    }
    for round in 0..<500 {
      let payment = StoreOffer.Payment.allCases[round % StoreOffer.Payment.allCases.count]
      let isFree = payment == .freeTrial
      let offer = ShownPrice.Offer(
        payment: payment, period: try period(),
        payments: isFree ? 1 : Int.random(in: 1...12, using: &random), price: isFree ? nil : try price())
      let value = ShownPrice(
        price: round % 5 == 0 ? nil : try price(), offer: round % 4 == 0 ? nil : offer,
        bonus: round % 7 == 0 ? try period() : nil)
      #expect(ShownPrice(value.description) == value, "\(value)")
      texts.insert(value.description)
      shown.insert(value)
    }
    #expect(texts.count == shown.count && texts.count > 400)
  }

  @Test("what a listing shows is its price with the currency, and nothing of how it looks there")
  func listings() throws {
    var listing = ProductListing(
      id: try #require(ProductIdentifier("a")), type: .autoRenewableSubscription, title: "A", description: "",
      price: .init(amount: "499.5", currency: "JPY", formatted: "¥499.5", locale: "ja-JP"), period: .month)
    #expect(ShownPrice(of: listing).description == "499.5 JPY")
    #expect(ShownPrice(of: listing, with: week).description == "499.5 JPY; bonus P1W")
    listing.price = nil
    #expect(ShownPrice(of: listing).description == "free")
    let trial = AccountOffer(kind: .introductory, payment: .freeTrial, period: week, payments: 1)
    #expect(
      ShownPrice(of: listing, under: trial, with: .month).description == "free; free-trial P1W; bonus P1M")
  }
}
