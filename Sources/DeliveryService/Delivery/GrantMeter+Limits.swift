extension GrantMeter {
  /// Told to whoever has as many bodies running as the limits allow: nobody knows when one of them ends.
  static let bodyDelay: UInt64 = 1_000_000_000

  /// Nanoseconds until another body may begin under these limits; zero when it may begin now. `now` is in nanoseconds of
  /// a monotonic clock and asked for only where a bucket needs it.
  func delay(under limits: RateLimits, now: () -> UInt64) -> UInt64 {
    guard rate.bodies < limits.bodiesPerGrant, device.rate.bodies < limits.bodiesPerDevice else {
      return Self.bodyDelay
    }
    let own = if let bucket = limits.grant { rate.delay(bucket, now: now) } else { UInt64(0) }
    guard own == 0, let bucket = limits.device else { return own }
    return device.rate.delay(bucket, now: now)
  }

  /// Bytes a second for a body that begins now: the smaller of the shares that the grant's and the device's rate leave
  /// it. Nil where neither is low enough to be paced.
  func pace(under limits: RateLimits) -> UInt64? {
    var share = Int64.max
    if let bucket = limits.grant, bucket.rate <= RateLimits.largestPacedRate {
      share = bucket.rate / Int64(max(0, rate.bodies) + 1)
    }
    if let bucket = limits.device, bucket.rate <= RateLimits.largestPacedRate {
      share = min(share, bucket.rate / Int64(max(0, device.rate.bodies) + 1))
    }
    return share == .max ? nil : UInt64(max(1, share))
  }
}
