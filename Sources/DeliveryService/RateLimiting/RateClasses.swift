/// The limits of each rate class, and which class the tickets for a product get.
struct RateClasses: Hashable, Sendable {
  struct Named: Hashable, Sendable {
    /// As tickets carry it; never 0.
    var number: UInt8
    /// Product identifiers; one that ends in `*` stands for all that begin so.
    var products: [String]
    var limits: RateLimits
  }

  /// Class 0, and every class that is not configured any more.
  var standard: RateLimits
  var named: [Named] = []

  func limits(of number: UInt8) -> RateLimits {
    named.first { $0.number == number }?.limits ?? standard
  }

  /// The first class that names the product; 0 where none does.
  func number(for product: String) -> UInt8 {
    let first = named.first { named in
      named.products.contains { pattern in
        pattern.hasSuffix("*") ? product.hasPrefix(pattern.dropLast()) : product == pattern
      }
    }
    return first?.number ?? 0
  }
}
