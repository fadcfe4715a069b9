import CoreTypes

/// How long to wait after failures in a row: doubled each time up to a cap, less a random part so that many
/// clients do not come back in step.
public struct Backoff: Hashable, Sendable {
  public var initial: Duration
  public var factor: Double
  public var cap: Duration
  /// The part of the delay that chance may take away: 0 is none, 1 anything down to nothing.
  public var jitter: Double

  public init(
    initial: Duration = .seconds(1), factor: Double = 2, cap: Duration = .seconds(300), jitter: Double = 0.5
  ) {
    self.initial = initial
    self.factor = factor
    self.cap = cap
    self.jitter = jitter
  }

  /// The delay before the next try, after that many failures in a row (1 or more; fewer is no delay).
  public func delay(
    afterFailures failures: Int, using generator: inout some RandomNumberGenerator
  ) -> Duration {
    guard failures > 0 else { return .zero }
    var full = min(initial.inSeconds, cap.inSeconds)
    var step = 1
    while step < failures, full < cap.inSeconds, factor > 1 {
      full = min(full * factor, cap.inSeconds)
      step += 1
    }
    let part = jitter > 0 ? Double.random(in: 0...jitter, using: &generator) : 0
    return .seconds(full * (1 - part))
  }

  public func delay(afterFailures failures: Int) -> Duration {
    var generator = SystemRandomNumberGenerator()
    return delay(afterFailures: failures, using: &generator)
  }
}
