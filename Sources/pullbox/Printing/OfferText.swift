import Commerce
import PullboxAPI
import ServiceRuntime

/// The words for a product's price and for the reader's ownership of it. Pure.
enum OfferText {
  /// `$2.99`, or `free`.
  static func price(_ listing: ProductListing) -> String { listing.price?.formatted ?? "free" }

  /// `$2.99 a month`, `free`.
  static func priceAndPeriod(_ listing: ProductListing) -> String {
    price(listing) + (listing.period.map { " " + every($0) } ?? "")
  }

  /// `free for a week, then $4.99 a month`; where the store does not say whether the account gets the offer, `$4.99 a month, or free for a
  /// week first`.
  static func price(of product: AgentProduct) -> String {
    let price = priceAndPeriod(product.listing)
    if product.subscribedUntil != nil { return price }
    if let offer = product.offer { return "\(introduction(of: offer)), then \(price)" }
    guard let possible = product.offers?.first(where: { $0.eligible == nil }) else { return price }
    return "\(price), or \(introduction(of: possible)) first"
  }

  /// `$4.99 a month, and a month more the first time for contact data`: the price, and the bonus that the account may have.
  static func terms(of product: AgentProduct) -> String {
    price(of: product) + (bonus(product).map { ", and \($0)" } ?? "")
  }

  /// `a month more the first time for contact data`; nil where the account gets no bonus, as far as the store says.
  static func bonus(_ product: AgentProduct) -> String? {
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
  private static func introduction(_ terms: CodeTerms) -> String {
    let price = terms.price.map { "\($0.amount) \($0.currency)" } ?? "free"
    switch terms.payment {
    case .freeTrial, .payUpFront: return "\(price) for \(length(terms.period))"
    case .payAsYouGo:
      guard terms.payments > 1 else { return "\(price) for \(length(terms.period))" }
      return "\(price) \(every(terms.period)), \(terms.payments) times"
    }
  }

  /// Returns what a code gives: `Heroes 3 as a gift (Sandbox)`, `Heroes, free for a month, then $4.99 a month (Sandbox)`, or, where
  /// that begins with the next renewal, `Heroes, free for a month from 2026-12-21 09:30 on, then …`. Nil where the store does not say.
  /// Times are in the reader's zone.
  static func code(_ shown: AgentCodePreview) -> String? {
    guard let preview = shown.preview else { return nil }
    let title = shown.listing?.title ?? preview.product.description
    let environment = shown.account.environment
    guard let terms = preview.terms else { return "\(title) as a gift (\(environment))" }
    let start = preview.start.map { " from \(LocalTime.text($0)) on" } ?? ""
    let later = shown.listing.map(priceAndPeriod) ?? "its price"
    return "\(title), \(introduction(terms))\(start), then \(later) (\(environment))"
  }

  /// `a week`, `3 months`.
  private static func length(_ period: BillingPeriod) -> String {
    period.count == 1 ? every(period) : String(every(period).dropFirst("every ".count))
  }

  /// `a month`, `every 3 months`.
  static func every(_ period: BillingPeriod) -> String {
    let unit =
      switch period.unit {
      case .day: "day"
      case .week: "week"
      case .month: "month"
      case .year: "year"
      }
    return period.count == 1 ? "a \(unit)" : "every \(CountText.of(period.count, unit))"
  }

  /// `owned`, `subscribed until 2026-12-21 09:30`, or nothing.
  static func standing(_ product: AgentProduct) -> String {
    if let until = product.subscribedUntil { return "subscribed until \(LocalTime.text(until))" }
    return product.owned ? "owned" : ""
  }

  /// Returns the product to be bought, its price and the environment: `2 × Coins, $0.99 each (Sandbox)`; with the bonus for who
  /// `optsIn`.
  ///
  /// - Parameter quantity: nil for one.
  static func offer(
    _ product: AgentProduct, quantity: Int?, environment: String, optsIn: Bool = false
  ) -> String {
    let count = quantity ?? 1
    let price = (optsIn ? terms(of: product) : price(of: product)) + (count > 1 ? " each" : "")
    return (count > 1 ? "\(count) × " : "") + "\(product.listing.title), \(price) (\(environment))"
  }

  /// Why nothing is bought of what the reader has; `isHere` where it is on this device.
  static func held(_ product: AgentProduct, isHere: Bool) -> String {
    let id = product.listing.id
    if let until = product.subscribedUntil {
      return "\(id): subscribed until \(LocalTime.text(until)); nothing was bought"
    }
    let advice = isHere ? "'pullbox path \(id)' says where it is" : "'pullbox restore \(id)' fetches it"
    return "\(id): owned already; nothing was bought (\(advice))"
  }
}
