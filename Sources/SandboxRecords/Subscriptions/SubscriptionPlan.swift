package import Commerce
package import PullboxAPI

/// The price of a subscription, and how long one payment lasts.
package struct SubscriptionPlan: Hashable, Sendable, Codable {
  package var product: ProductIdentifier
  package var period: BillingPeriod
  /// Nil for a free one.
  package var price: Price?

  init(product: ProductIdentifier, period: BillingPeriod, price: Price?) {
    self.product = product
    self.period = period
    self.price = price
  }

  /// Creates the plan from a listing of the catalog. The period is a month where the listing names none. A
  /// price that cannot be read makes it free.
  package init(_ listing: ProductListing) {
    self.init(
      product: listing.id, period: listing.period ?? .month,
      price: listing.price.flatMap { Price(amount: $0.amount, currency: $0.currency) })
  }

  /// When a change from this plan to another of its group takes effect: what costs more for the same time, and what costs the
  /// same for it, at once; what costs less, and what lasts another time, with the next renewal.
  func isLeftAtOnce(for other: SubscriptionPlan) -> Bool {
    period == other.period && !other.price.isLess(than: price)
  }
}

extension Price? {
  /// By the amount: both are of one territory, and so of one currency.
  fileprivate func isLess(than other: Price?) -> Bool {
    thousandths < other.thousandths
  }

  /// Zero for a free one. Signed data has prices so. It is exact: prices have three decimals at most.
  package var thousandths: Int64 {
    guard let self else { return 0 }
    let parts = self.amount.split(separator: ".")
    let decimals = (parts.count > 1 ? "\(parts[1])000" : "000").prefix(3)
    return Int64("\(parts[0])\(decimals)", radix: 10) ?? 0
  }
}
