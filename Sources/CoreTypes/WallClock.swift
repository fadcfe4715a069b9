internal import Glibc

/// Tells the date. Injected wherever a date matters, so that a test can own it.
public protocol WallClock: Sendable {
  func now() -> Timestamp
}
