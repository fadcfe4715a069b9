import CoreTypes
import Synchronization

/// A count of changes that any number of tasks wait for: each looks at what it is interested in, and waits for the next change where that
/// has not come. No change between the look and the wait is missed.
package final class ChangeSignal: Sendable {
  private struct State {
    var count: UInt64 = 0
    var waiting: [UInt64: CheckedContinuation<Void, Never>] = [:]
    var next: UInt64 = 0
  }

  private let state = Mutex(State())

  package init() {}

  /// Changes so far.
  package var count: UInt64 { state.locked { $0.count } }

  /// Something has changed: all that wait go on.
  package func signal() {
    let waiting = state.locked { state in
      state.count += 1
      defer { state.waiting = [:] }
      return state.waiting.values
    }
    for continuation in waiting { continuation.resume() }
  }

  /// Returns once there were more than `count` changes, at once where there were. Throws `CancellationError` in a task that is cancelled.
  package func wait(after count: UInt64) async throws(CancellationError) {
    let token = state.locked { state in
      state.next += 1
      return state.next
    }
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let isOver = state.locked { state in
          guard state.count <= count, !Task.isCancelled else { return true }
          state.waiting[token] = continuation
          return false
        }
        if isOver { continuation.resume() }
      }
    } onCancel: {
      state.locked { $0.waiting.removeValue(forKey: token) }?.resume()
    }
    if Task.isCancelled { throw CancellationError() }
  }
}
