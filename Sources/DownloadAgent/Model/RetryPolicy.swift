import ServiceRuntime

/// How long to wait before a step is tried again: a backoff, so that devices that lost the same server do not come back
/// together, and what the other side asked for, up to a bound.
struct RetryPolicy: Hashable, Sendable {
  var backoff = Backoff(initial: .seconds(1), factor: 2, cap: .seconds(60), jitter: 0.5)
  /// What `Retry-After` is honoured up to.
  var longestRequestedDelay: Duration = .seconds(15 * 60)

  /// `failures` counts those in a row, this one included.
  func delay(
    failures: Int, notBefore: Duration?, using generator: inout some RandomNumberGenerator
  ) -> Duration {
    let delay = backoff.delay(afterFailures: max(failures, 1), using: &generator)
    guard let notBefore else { return delay }
    return max(delay, min(notBefore, longestRequestedDelay))
  }

  func delay(failures: Int, notBefore: Duration?) -> Duration {
    var generator = SystemRandomNumberGenerator()
    return delay(failures: failures, notBefore: notBefore, using: &generator)
  }
}
