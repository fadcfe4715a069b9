internal import CLinux

/// Measures durations and waits. Injected wherever something is timed or retried, so that a test can own it.
public protocol MonotonicClock: Sendable {
  /// The present instant.
  func now() -> MonotonicInstant
  /// Returns after `duration` or throws `CancellationError` as soon as the task is cancelled.
  func sleep(for duration: Duration) async throws
}

/// A point on a clock that never jumps; only differences mean anything.
public struct MonotonicInstant: Hashable, Comparable, Sendable {
  /// Nanoseconds since the clock's start, which is arbitrary.
  public var nanoseconds: UInt64

  /// An instant from its number.
  public init(nanoseconds: UInt64) {
    self.nanoseconds = nanoseconds
  }

  /// Whether the left instant is earlier.
  public static func < (left: MonotonicInstant, right: MonotonicInstant) -> Bool {
    left.nanoseconds < right.nanoseconds
  }

  /// The time from `right` to `left`; negative when `right` is later.
  public static func - (left: MonotonicInstant, right: MonotonicInstant) -> Duration {
    .nanoseconds(Int64(bitPattern: left.nanoseconds &- right.nanoseconds))
  }

  /// The instant after a duration, which may be negative; saturates at the clock's start and at its end, 292
  /// years later.
  public static func + (left: MonotonicInstant, right: Duration) -> MonotonicInstant {
    let (sum, overflow) = Int64(clamping: left.nanoseconds).addingReportingOverflow(right.nanoseconds)
    return MonotonicInstant(nanoseconds: overflow ? UInt64(Int64.max) : UInt64(max(0, sum)))
  }
}

/// `CLOCK_BOOTTIME`: goes on while the machine is suspended.
public struct SystemMonotonicClock: MonotonicClock {
  /// Has no state: all values are alike.
  public init() {}

  /// clock_gettime(2).
  public func now() -> MonotonicInstant {
    MonotonicInstant(nanoseconds: UInt64(clinux_boottime()))
  }

  /// Ends on time also where the machine was suspended meanwhile. No thread wakes up before.
  public func sleep(for duration: Duration) async throws {
    guard let sleepers = Sleepers.shared else {
      return try await Task.sleep(for: duration, clock: .continuous)
    }
    try await sleepers.sleep(until: now() + duration)
  }
}
