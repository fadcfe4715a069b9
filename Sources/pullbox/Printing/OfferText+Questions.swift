import Commerce
import PullboxAPI
import PullboxKit
import ServiceRuntime
import SystemCalls

/// The command line's words for a reader's ownership, for codes and for the question before a purchase. Pure.
extension OfferText {
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
