import Commerce
import PullboxAPI
import Testing

@Suite("What was shown before a purchase")
struct ShownPriceTests {
  @Test("an offer whose members fit together is read back from the text of what was shown, and no other one")
  func consistentOffers() throws {
    let listing = ProductListing(
      id: try #require(ProductIdentifier("com.example.monthly")), type: .autoRenewableSubscription,
      title: "Heroes", description: "", price: .init(amount: "4.99", currency: "EUR", formatted: "4.99 €"),
      period: .month)
    let price = try #require(Price(amount: "0.99", currency: "EUR"))
    var consistent = 0
    for payment in StoreOffer.Payment.allCases {
      for payments in [-1, 0, 1, 2, 12, 13] {
        for paid in [price, nil] {
          let offer = AccountOffer(
            kind: .introductory, payment: payment, period: .month, payments: payments, price: paid)
          let shown = ShownPrice(of: listing, under: offer)
          #expect((ShownPrice(shown.description) == shown) == offer.isConsistent, "\(shown)")
          if offer.isConsistent { consistent += 1 }
        }
      }
    }
    #expect(consistent == 7)
  }

  @Test(
    "a bonus is read back behind the price, and behind the offer; nothing stands behind it, and it has a period"
  )
  func bonus() throws {
    let price = try #require(Price(amount: "4.99", currency: "EUR"))
    let trial = ShownPrice.Offer(payment: .freeTrial, period: .month, payments: 1, price: nil)
    let texts: [(String, ShownPrice.Offer?)] = [
      ("4.99 EUR; bonus P1M", nil), ("4.99 EUR; free-trial P1M; bonus P1M", trial),
    ]
    for (text, offer) in texts {
      let shown = ShownPrice(price: price, offer: offer, bonus: .month)
      #expect(ShownPrice(text) == shown && shown.description == text)
    }
    #expect(ShownPrice("free; bonus P2W")?.bonus == BillingPeriod("P2W"))
    for text in [
      "4.99 EUR; bonus", "4.99 EUR; bonus ", "4.99 EUR; bonus a month", "4.99 EUR; bonus P1M; free-trial P1M",
      "4.99 EUR; bonus P1M; bonus P1M", "bonus P1M", "4.99 EUR; ; bonus P1M", "4.99 EUR;bonus P1M",
    ] {
      #expect(ShownPrice(text) == nil, "\(text)")
    }
  }
}
