import Commerce

/// The values that many products of a catalog share, kept in memory once: prices, and the names of publications.
struct CommonValues: Sendable {
  /// Values of each kind that are remembered. With one more all are forgotten: products keep what they have, and what comes after
  /// is shared anew.
  private static let capacity = 4096

  private var prices: Set<[String: Price]> = []
  private var publications: Set<ProductIdentifier> = []

  /// Puts what is known in the place of what is equal to it.
  mutating func share(with product: inout Product) {
    product.prices = Self.remembered(product.prices, in: &prices)
    product.publication = product.publication.map { Self.remembered($0, in: &publications) }
  }

  /// Returns what is known and equal to the value, or remembers the value and returns it.
  private static func remembered<Value: Hashable>(_ value: Value, in known: inout Set<Value>) -> Value {
    if let index = known.firstIndex(of: value) { return known[index] }
    if known.count >= capacity { known = [] }
    known.insert(value)
    return value
  }
}
