internal import Glibc

/// Measures durations and waits. Injected wherever something is timed or retried, so that a test can own it.
public protocol MonotonicClock: Sendable {
  func now() -> MonotonicInstant
  /// Returns after `duration` or throws `CancellationError` as soon as the task is cancelled.
  func sleep(for duration: Duration) async throws
}
