import CoreTypes
import ServiceRuntime
import Synchronization

/// The machine's date and time, and what a test has added to both. A jump wakes those whose time has come.
final class JumpingClock: WallClock, MonotonicClock {
  private struct State {
    var shift: Duration = .zero
    /// Those that sleep, by number.
    var sleepers: [UInt64: AsyncSignal] = [:]
    var count: UInt64 = 0
  }

  private let state = Mutex(State())

  func now() -> Timestamp { SystemWallClock().now() + state.locked { $0.shift } }

  func now() -> MonotonicInstant { SystemMonotonicClock().now() + state.locked { $0.shift } }

  func sleep(for duration: Duration) async throws {
    let end: MonotonicInstant = now() + duration
    let signal = AsyncSignal()
    let number = state.locked { state in
      state.count += 1
      state.sleepers[state.count] = signal
      return state.count
    }
    defer { state.locked { _ = $0.sleepers.removeValue(forKey: number) } }
    while true {
      try Task.checkCancellation()
      let rest: Duration = end - now()
      guard rest > .zero else { return }
      await signal.wait(atMost: rest, clock: SystemMonotonicClock())
    }
  }

  /// Moves date and time on, and wakes all that sleep, so that they look.
  func advance(by duration: Duration) {
    let sleepers = state.locked { state in
      state.shift += duration
      return Array(state.sleepers.values)
    }
    for sleeper in sleepers { sleeper.signal() }
  }
}
