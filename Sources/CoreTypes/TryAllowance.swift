/// The rule by which wrong passwords and keys are slowed: so many at once, and one more after each interval. Pure: the caller keeps
/// one number for each client, the time until which its tries are paid for. Times are nanoseconds of one monotonic clock.
///
///     let allowance = TryAllowance(burst: 5, interval: .seconds(30))
///     if let seconds = allowance.wait(paidUntil: paidUntil, now: now) { … }  // no try before that
///     paidUntil = allowance.charged(paidUntil: paidUntil, now: now)          // one more was wrong
public struct TryAllowance: Hashable, Sendable {
  private let burst: UInt64
  private let interval: UInt64

  /// - Parameters:
  ///   - burst: tries at once, at least 1.
  ///   - interval: the time after which there may be one more.
  public init(burst: UInt64, interval: Duration) {
    self.burst = burst
    self.interval = UInt64(interval.nanoseconds)
  }

  /// Nil where there may be a try at `now`, else the whole seconds until then, at least 1.
  public func wait(paidUntil: UInt64, now: UInt64) -> Int? {
    let (next, limit) = (max(paidUntil, now) + interval, now + burst * interval)
    return next > limit ? Int(clamping: (next - limit + 999_999_999) / 1_000_000_000) : nil
  }

  /// The time until which the tries are paid for after one more. However many were made at once, the next one waits no longer than for
  /// the last of those that may be.
  public func charged(paidUntil: UInt64, now: UInt64) -> UInt64 {
    min(max(paidUntil, now) + interval, now + burst * interval)
  }
}
