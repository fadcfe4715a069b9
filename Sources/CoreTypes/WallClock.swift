internal import CLinux

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
    Timestamp(millisecondsSinceEpoch: clinux_realtime() / 1_000_000)
  }
}
