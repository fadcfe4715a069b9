public import CoreTypes

/// Names a price tier: 1 to 64 characters of `A-Z a-z 0-9 . _ -`, the first no dot.
public struct PriceTierName: Hashable, Comparable, Sendable {
  /// The text as stores, files and requests write it.
  public let description: String

  /// The tier that is free in all territories. It is always there.
  public static let free = PriceTierName(known: "0")

  /// Nil when `text` is not such a name.
  public init?(_ text: String) {
    guard IdentifierSyntax.isValid(text, maximumLength: 64) else { return nil }
    self.description = text
  }

  private init(known text: String) {
    self.description = text
  }

  /// Orders names by their characters.
  public static func < (left: PriceTierName, right: PriceTierName) -> Bool {
    left.description < right.description
  }
}

extension PriceTierName: LosslessStringCodable {}

/// The prices that customers who subscribed before a date go on paying after a price change.
public struct PreservedPrices: Hashable, Sendable, Codable {
  /// Subscriptions that began earlier, and have run since, keep these prices.
  public var before: Timestamp
  /// By ISO 3166 alpha-3 territory (`FRA`); never empty.
  public var prices: [String: Price]

  /// Creates the prices.
  public init(before: Timestamp, prices: [String: Price]) {
    self.before = before
    self.prices = prices
  }
}

/// The prices of a product: its own, those of its tier and those that it preserved.
///
///     let prices = ProductPrices(of: product, tier: tiers[product.priceTier])
///     prices.isSold(in: "FRA")
///     prices.price(in: "FRA", since: subscribed)
public struct ProductPrices: Hashable, Sendable {
  /// By ISO 3166 alpha-3 territory. Empty: for sale everywhere, for free.
  public let current: [String: Price]
  private let preserved: [PreservedPrices]

  /// `tier` is what the product's ``Product/priceTier`` stands for; the product's own prices go before it.
  public init(of product: Product, tier: [String: Price]) {
    current = tier.isEmpty ? product.prices : tier.merging(product.prices) { _, own in own }
    preserved = (product.preservedPrices ?? []).sorted { $0.before < $1.before }
  }

  /// One without prices is sold in all territories. Nil asks for any.
  public func isSold(in territory: String?) -> Bool {
    guard let territory, !current.isEmpty else { return true }
    return current[territory] != nil
  }

  /// Returns the price that a customer pays in the territory; nil where there is none. A customer who has
  /// subscribed since `since` pays the price of that time, where it was preserved for the territory.
  public func price(in territory: String, since: Timestamp? = nil) -> Price? {
    if let since {
      let kept = preserved.first { since < $0.before && $0.prices[territory] != nil }
      if let price = kept?.prices[territory] { return price }
    }
    return current[territory]
  }
}
