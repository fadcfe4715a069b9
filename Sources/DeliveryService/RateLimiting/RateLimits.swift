/// What the tickets of one rate class may take at a time. A missing bucket is no limit.
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
