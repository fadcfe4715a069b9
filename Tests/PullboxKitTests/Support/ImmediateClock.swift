import CoreTypes
import Synchronization

/// A clock that is never waited for; it remembers how long it was asked to wait.
final class ImmediateClock: MonotonicClock {
  private let asked = Mutex<[Duration]>([])

  var delays: [Duration] { asked.withLock { $0 } }

  func now() -> MonotonicInstant { MonotonicInstant(nanoseconds: 1) }

  func sleep(for duration: Duration) async throws {
    try Task.checkCancellation()
    asked.withLock { $0.append(duration) }
    await Task.yield()
  }
}
