internal import Glibc

/// Tells the date. Injected wherever a date matters, so that a test can own it.
public protocol WallClock: Sendable {
  /// The present date and time.
  func now() -> Timestamp
}

/// The machine's own wall clock (`CLOCK_REALTIME`).
public struct SystemWallClock: WallClock {
  /// Has no state: all values are alike.
  public init() {}

  /// clock_gettime(2).
  public func now() -> Timestamp {
    var time = timespec()
    unsafe clock_gettime(CLOCK_REALTIME, &time)
    return Timestamp(millisecondsSinceEpoch: Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000)
  }
}
