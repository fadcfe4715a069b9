/// The limits of one rate class: bodies at once, and bytes by time. A missing bucket is no limit.
package struct RateLimits: Hashable, Sendable {
  /// The kernel paces a connection whose share is at most this much a second. Its timers cost more than fairness gains
  /// where a grant may have more; there the bucket alone keeps the rate.
  static let largestPacedRate: Int64 = 256 << 20

  /// Bodies that may run at once.
  package var bodiesPerGrant: Int
  package var bodiesPerDevice: Int
  package var grant: TokenBucket?
  package var device: TokenBucket?

  package init(
    bodiesPerGrant: Int, bodiesPerDevice: Int, grant: TokenBucket? = nil, device: TokenBucket? = nil
  ) {
    self.bodiesPerGrant = bodiesPerGrant
    self.bodiesPerDevice = bodiesPerDevice
    self.grant = grant
    self.device = device
  }

  /// Neither bodies nor bytes are bounded.
  package static let none = RateLimits(bodiesPerGrant: .max, bodiesPerDevice: .max)
}

/// The limits of each rate class, and which class the tickets for a product get.
package struct RateClasses: Hashable, Sendable {
  package struct Named: Hashable, Sendable {
    /// The number that tickets carry; never 0.
    package var number: UInt8
    /// Product identifiers; one that ends in `*` stands for all with that prefix.
    package var products: [String]
    package var limits: RateLimits

    package init(number: UInt8, products: [String], limits: RateLimits) {
      self.number = number
      self.products = products
      self.limits = limits
    }
  }

  /// Class 0, and every class that is not configured any more.
  package var standard: RateLimits
  package var named: [Named] = []

  package init(standard: RateLimits, named: [Named] = []) {
    self.standard = standard
    self.named = named
  }

  package func limits(of number: UInt8) -> RateLimits {
    named.first { $0.number == number }?.limits ?? standard
  }

  /// The number of the first class that names the product; 0 without one.
  package func number(for product: String) -> UInt8 {
    let first = named.first { named in
      named.products.contains { pattern in
        pattern.hasSuffix("*") ? product.hasPrefix(pattern.dropLast()) : product == pattern
      }
    }
    return first?.number ?? 0
  }
}
