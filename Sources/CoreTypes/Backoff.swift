/// How long to wait after failures in a row: doubled each time up to a cap, less a random part so that many
/// clients do not retry in step.
///
/// ```swift
/// let backoff = Backoff(initial: .milliseconds(250), cap: .seconds(5))
/// backoff.delay(afterFailures: 0)  // none
/// backoff.delay(afterFailures: 3)  // 0.5 s to 1 s
/// ```
public struct Backoff: Hashable, Sendable {
  /// The delay after the first failure.
  public var initial: Duration
  /// Each further failure multiplies the delay by this; 1 or less keeps it.
  public var factor: Double
  /// The longest delay.
  public var cap: Duration
  /// The largest part of a delay that is taken away at random: 0 takes nothing, 1 may take all of it.
  public var jitter: Double

  /// 1 s, doubled up to 5 minutes, of which chance takes up to half, unless given.
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
    let chance = jitter > 0 ? Double.random(in: 0...1, using: &generator) : 0
    return delay(afterFailures: failures, chance: chance)
  }

  /// Returns the same delay as ``delay(afterFailures:using:)``, with the random number given: 0 takes nothing
  /// away, 1 all that ``jitter`` allows.
  public func delay(afterFailures failures: Int, chance: Double) -> Duration {
    guard failures > 0 else { return .zero }
    var full = min(initial.inSeconds, cap.inSeconds)
    var step = 1
    while step < failures, full < cap.inSeconds, factor > 1 {
      full = min(full * factor, cap.inSeconds)
      step += 1
    }
    return .seconds(full * (1 - jitter * chance))
  }

  /// The same as ``delay(afterFailures:using:)``, with the system's random numbers.
  public func delay(afterFailures failures: Int) -> Duration {
    var generator = SystemRandomNumberGenerator()
    return delay(afterFailures: failures, using: &generator)
  }
}
