import CoreTypes
import Synchronization

/// A clock that only waiting moves; no test waits for it.
final class AdvancingClock: MonotonicClock {
  private let nanoseconds = Mutex<UInt64>(0)

  func now() -> MonotonicInstant { MonotonicInstant(nanoseconds: nanoseconds.withLock { $0 }) }

  func sleep(for duration: Duration) async throws {
    try Task.checkCancellation()
    nanoseconds.withLock { $0 += UInt64(max(0, duration.nanoseconds)) }
    await Task.yield()
  }
}
