/// The limits of one rate class: bodies at once, and bytes by time. A missing bucket is no limit.
struct RateLimits: Hashable, Sendable {
  /// The kernel paces a connection whose share is at most this much a second. Its timers cost more than fairness gains
  /// where a grant may have more; there the bucket alone keeps the rate.
  static let largestPacedRate: Int64 = 256 << 20

  /// Bodies that may run at once.
  var bodiesPerGrant: Int
  var bodiesPerDevice: Int
  var grant: TokenBucket?
  var device: TokenBucket?

  static let none = RateLimits(bodiesPerGrant: .max, bodiesPerDevice: .max)
}

/// The limits of each rate class, and which class the tickets for a product get.
struct RateClasses: Hashable, Sendable {
  struct Named: Hashable, Sendable {
    /// The number that tickets carry; never 0.
    var number: UInt8
    /// Product identifiers; one that ends in `*` stands for all with that prefix.
    var products: [String]
    var limits: RateLimits
  }

  /// Class 0, and every class that is not configured any more.
  var standard: RateLimits
  var named: [Named] = []

  func limits(of number: UInt8) -> RateLimits {
    named.first { $0.number == number }?.limits ?? standard
  }

  /// The number of the first class that names the product; 0 without one.
  func number(for product: String) -> UInt8 {
    let first = named.first { named in
      named.products.contains { pattern in
        pattern.hasSuffix("*") ? product.hasPrefix(pattern.dropLast()) : product == pattern
      }
    }
    return first?.number ?? 0
  }
}
