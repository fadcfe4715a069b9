import CoreTypes
import Synchronization

/// Something that happens once, and that any number of tasks wait for.
public final class Event: Sendable {
  /// The tasks that wait, and whether they need to.
  private struct State {
    /// Whether it has happened, after which nothing waits.
    var hasHappened = false
    /// The number of the last wait.
    var nextIdentifier = 0
    /// The tasks that wait, by the numbers of their waits.
    var waiting: [Int: CheckedContinuation<Void, Never>] = [:]
    /// Waits cancelled before they began.
    var cancelled: Set<Int> = []
  }

  /// Guards the state; no task is woken while it is held.
  private let state = Mutex(State())

  /// Has not happened.
  public init() {}

  /// Once true, always true.
  public var hasHappened: Bool { state.locked { $0.hasHappened } }

  /// Happens now; false when it had before.
  @discardableResult
  public func happen() -> Bool {
    let waiting: [CheckedContinuation<Void, Never>]? = state.locked { state in
      guard !state.hasHappened else { return nil }
      state.hasHappened = true
      defer { state.waiting = [:] }
      return Array(state.waiting.values)
    }
    for continuation in waiting ?? [] { continuation.resume() }
    return waiting != nil
  }

  /// Returns when it happens or has happened, and when the task is cancelled.
  public func wait() async {
    let identifier = state.locked { state in
      state.nextIdentifier += 1
      return state.nextIdentifier
    }
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let isOver = state.locked { state in
          if state.hasHappened || state.cancelled.remove(identifier) != nil { return true }
          state.waiting[identifier] = continuation
          return false
        }
        if isOver { continuation.resume() }
      }
    } onCancel: {
      let continuation: CheckedContinuation<Void, Never>? = state.locked { state in
        if let continuation = state.waiting.removeValue(forKey: identifier) { return continuation }
        state.cancelled.insert(identifier)
        return nil
      }
      continuation?.resume()
    }
    // A cancellation that came after the wait's end left its mark.
    state.locked { _ = $0.cancelled.remove(identifier) }
  }
}
