internal import Glibc

/// A point on a clock that never jumps; only differences mean anything.
public struct MonotonicInstant: Hashable, Comparable, Sendable {
  public var nanoseconds: UInt64

  public init(nanoseconds: UInt64) {
    self.nanoseconds = nanoseconds
  }

  public static func < (left: MonotonicInstant, right: MonotonicInstant) -> Bool {
    left.nanoseconds < right.nanoseconds
  }

  public static func - (left: MonotonicInstant, right: MonotonicInstant) -> Duration {
    .nanoseconds(Int64(bitPattern: left.nanoseconds &- right.nanoseconds))
  }

  /// Ends at the clock's start and at its end, 292 years later.
  public static func + (left: MonotonicInstant, right: Duration) -> MonotonicInstant {
    let (sum, overflow) = Int64(clamping: left.nanoseconds).addingReportingOverflow(right.nanoseconds)
    return MonotonicInstant(nanoseconds: overflow ? UInt64(Int64.max) : UInt64(max(0, sum)))
  }
}
