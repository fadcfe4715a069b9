import Measures
import Synchronization

/// Lets one loop sleep until something is due or somebody has news for it. News that come while nobody waits are kept.
final class WakeUp: Sendable {
  private struct State {
    var isSignalled = false
    var waiting: CheckedContinuation<Void, Never>?
  }

  private let state = Mutex(State())

  func signal() {
    resume { $0.isSignalled = true }
  }

  /// Returns after `duration` (never by itself for nil), after a signal, or once the task is cancelled.
  func wait(atMost duration: Duration?, on clock: any MonotonicClock) async {
    await withTaskGroup(of: Void.self) { group in
      group.addTask { await self.waitForSignal() }
      if let duration {
        group.addTask {
          // Cancelled because a signal came first, or with the loop: both end the wait.
          try? await clock.sleep(for: duration)
        }
      }
      await group.next()
      group.cancelAll()
    }
  }

  private func waitForSignal() async {
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let isOver = state.withLock { state in
          if state.isSignalled || Task.isCancelled {
            state.isSignalled = false
            return true
          }
          state.waiting = continuation
          return false
        }
        if isOver { continuation.resume() }
      }
    } onCancel: {
      resume { _ in }
    }
  }

  private func resume(_ change: (inout sending State) -> Void) {
    let waiting = state.withLock { state in
      change(&state)
      let waiting = state.waiting.take()
      if waiting != nil { state.isSignalled = false }
      return waiting
    }
    waiting?.resume()
  }
}
