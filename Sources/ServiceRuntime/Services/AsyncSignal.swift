public import CoreTypes
internal import Synchronization

/// Wakes one waiting task: a signal without a waiting task is kept, any number of them as one.
public final class AsyncSignal: Sendable {
  private struct State {
    var isSignalled = false
    var waiter: CheckedContinuation<Void, Never>?
  }

  private let state = Mutex(State())

  /// Not signaled.
  public init() {}

  /// Whether a task waits that no signal has woken.
  var isAwaited: Bool { state.withLock { $0.waiter != nil } }

  /// Wakes the waiting task; without one, the next wait returns at once.
  public func signal() {
    let waiter = state.withLock { state in
      let waiter = state.waiter.take()
      state.isSignalled = waiter == nil
      return waiter
    }
    waiter?.resume()
  }

  /// Returns at a signal (one given since the last wait included), after `duration` where given, or when the
  /// task is cancelled. One task waits at a time.
  public func wait(atMost duration: Duration?, clock: any MonotonicClock) async {
    await withTaskGroup { group in
      group.addTask { await self.wait() }
      if let duration {
        group.addTask {
          // Cancelled when the signal came first.
          try? await clock.sleep(for: duration)
        }
      }
      await group.next()
      group.cancelAll()
    }
  }

  private func wait() async {
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let isOver = state.withLock { state in
          precondition(state.waiter == nil, "one task waits at a time")
          if state.isSignalled || Task.isCancelled {
            state.isSignalled = false
            return true
          }
          state.waiter = continuation
          return false
        }
        if isOver { continuation.resume() }
      }
    } onCancel: {
      state.withLock { $0.waiter.take() }?.resume()
    }
  }
}
