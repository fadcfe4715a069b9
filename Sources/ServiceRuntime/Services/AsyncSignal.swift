public import CoreTypes
internal import Synchronization

/// Wakes one waiting task: a signal without a waiting task is kept, any number of them as one.
public final class AsyncSignal: Sendable {
  /// The signal and the task that waits.
  private struct State {
    /// Whether a signal is kept for the next wait.
    var isSignalled = false
    /// The task that waits; nil without one.
    var waiter: CheckedContinuation<Bool, Never>?
  }

  /// Guards the state; no task is woken while it is held.
  private let state = Mutex(State())

  /// Not signaled.
  public init() {}

  /// Whether a task waits that no signal has woken.
  var isAwaited: Bool { state.locked { $0.waiter != nil } }

  /// Wakes the waiting task; without one, the next wait returns at once.
  public func signal() {
    let waiter = state.locked { state in
      let waiter = state.waiter.take()
      state.isSignalled = waiter == nil
      return waiter
    }
    waiter?.resume(returning: true)
  }

  /// Returns at a signal (one given since the last wait included), after `duration` where given, or when the
  /// task is cancelled; answers whether it took a signal. One task waits at a time.
  @discardableResult
  public func wait(atMost duration: Duration?, clock: any MonotonicClock) async -> Bool {
    await withTaskGroup(of: Bool.self) { group in
      group.addTask { await self.wait() }
      if let duration {
        group.addTask {
          // Cancelled when the signal came first.
          try? await clock.sleep(for: duration)
          return false
        }
      }
      var isSignalled = await group.next() ?? false
      group.cancelAll()
      // A signal may have come at the very end of the time.
      for await result in group { isSignalled = isSignalled || result }
      return isSignalled
    }
  }

  /// Waits without a bound. True for a signal, false when the task was cancelled. Traps where another task waits already.
  private func wait() async -> Bool {
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let outcome = state.locked { state -> Bool? in
          precondition(state.waiter == nil, "one task waits at a time")
          if state.isSignalled {
            state.isSignalled = false
            return true
          }
          if Task.isCancelled { return false }
          state.waiter = continuation
          return nil
        }
        if let outcome { continuation.resume(returning: outcome) }
      }
    } onCancel: {
      state.locked { $0.waiter.take() }?.resume(returning: false)
    }
  }
}
