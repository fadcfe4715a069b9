package import Commerce
package import PullboxAPI

/// The words for a product's price. Pure.
package enum OfferText {
  /// `$2.99`, or `free`.
  package static func price(_ listing: ProductListing) -> String { listing.price?.formatted ?? "free" }

  /// `$2.99 a month`, `free`.
  package static func priceAndPeriod(_ listing: ProductListing) -> String {
    price(listing) + (listing.period.map { " " + every($0) } ?? "")
  }

  /// `free for a week, then $4.99 a month`; where the store does not say whether the account gets the offer, `$4.99 a month, or free for a
  /// week first`.
  package static func price(of product: AgentProduct) -> String {
    let price = priceAndPeriod(product.listing)
    if product.subscribedUntil != nil { return price }
    if let offer = product.offer { return "\(introduction(of: offer)), then \(price)" }
    guard let possible = product.offers?.first(where: { $0.eligible == nil }) else { return price }
    return "\(price), or \(introduction(of: possible)) first"
  }

  /// `$4.99 a month, and a month more the first time for contact data`: the price, and the bonus that the account may have.
  package static func terms(of product: AgentProduct) -> String {
    price(of: product) + (bonus(product).map { ", and \($0)" } ?? "")
  }

  /// `a month more the first time for contact data`; nil where the account gets no bonus, as far as the store says.
  package static func bonus(_ product: AgentProduct) -> String? {
    guard product.subscribedUntil == nil, let period = product.bonusPeriod else { return nil }
    return "\(length(period)) more the first time for contact data"
  }

  /// The words for an offer of the account, in the terms of a code.
  private static func introduction(of offer: AccountOffer) -> String {
    introduction(
      CodeTerms(
        payment: offer.payment, period: offer.period, payments: offer.payments, price: offer.price))
  }

  /// `free for a week`, `0.99 USD a month, 3 times`, `9.99 USD for 6 months`.
  package static func introduction(_ terms: CodeTerms) -> String {
    let price = terms.price.map { "\($0.amount) \($0.currency)" } ?? "free"
    switch terms.payment {
    case .freeTrial, .payUpFront: return "\(price) for \(length(terms.period))"
    case .payAsYouGo:
      guard terms.payments > 1 else { return "\(price) for \(length(terms.period))" }
      return "\(price) \(every(terms.period)), \(terms.payments) times"
    }
  }

  /// `a week`, `3 months`.
  private static func length(_ period: BillingPeriod) -> String {
    period.count == 1 ? every(period) : String(every(period).dropFirst("every ".count))
  }

  /// `a month`, `every 3 months`.
  package static func every(_ period: BillingPeriod) -> String {
    let unit =
      switch period.unit {
      case .day: "day"
      case .week: "week"
      case .month: "month"
      case .year: "year"
      }
    return period.count == 1 ? "a \(unit)" : "every \(period.count) \(unit)s"
  }
}
