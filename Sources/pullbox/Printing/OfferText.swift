import Commerce
import PullboxAPI
import ServiceRuntime

/// What a product costs and what the reader has of it, in words. Pure.
enum OfferText {
  /// `$2.99`, or `free`.
  static func price(_ listing: ProductListing) -> String { listing.price?.formatted ?? "free" }

  /// `$2.99 a month`, `free`.
  static func priceAndPeriod(_ listing: ProductListing) -> String {
    price(listing) + (listing.period.map { " " + every($0) } ?? "")
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

  /// What is bought, at which price and where: `2 × Coins, $0.99 each (Sandbox)`.
  static func offer(_ product: AgentProduct, quantity: Int?, environment: String) -> String {
    let count = quantity ?? 1
    let price = priceAndPeriod(product.listing) + (count > 1 ? " each" : "")
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
