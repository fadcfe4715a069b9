import CoreTypes
import Synchronization

/// The buffers that pieces are received into, shared by all transfers so that their number bounds the agent's
/// memory. A transfer that finds none waits and is woken when one is free.
package final class BufferPool: Sendable {
  private struct State {
    package var free: [[UInt8]] = []
    /// Buffers that could be acquired now, made or not.
    package var remaining: Int
    /// Called once each, at the next release.
    package var waiting: [@Sendable () -> Void] = []
  }

  private let state: Mutex<State>

  /// `limit` is the number of buffers that exist at once: at least two for each transfer, which may hold one
  /// that fills and one for what comes behind it.
  package init(limit: Int) {
    precondition(limit > 0)
    state = Mutex(State(remaining: limit))
  }

  /// Acquires a buffer; nil when all are in use, and then `wake` is called once, when it is worth another
  /// try. A buffer that was used may still hold the bytes of its last piece.
  func acquire(otherwise wake: @escaping @Sendable () -> Void) -> [UInt8]? {
    state.locked { state in
      guard state.remaining > 0 else {
        state.waiting.append(wake)
        return nil
      }
      state.remaining -= 1
      return state.free.popLast() ?? []
    }
  }

  /// Returns a buffer to the pool. `buffer` should have no other owner left, so that the next one need not
  /// copy it, and has none here by the time when one that waits is woken; nil stands for one that was lost.
  package func release(_ buffer: consuming [UInt8]?) {
    var returned = consume buffer
    // All of them are woken: the one that waits longest may have ended meanwhile, and would wake no other.
    let waiting = state.locked { state in
      if let buffer = returned.take(), state.remaining >= 0 { state.free.append(buffer) }
      state.remaining += 1
      let waiting = state.waiting
      state.waiting = []
      return waiting
    }
    for wake in waiting { wake() }
  }

  /// So many more may exist at once from now on, for a connection that is added; fewer where that is below zero, as soon as they come
  /// back.
  func grow(by count: Int) {
    let waiting = state.locked { state in
      state.remaining += count
      // Those beyond the limit are let go.
      if count < 0 { state.free.removeLast(min(state.free.count, -count)) }
      defer { state.waiting = [] }
      return state.waiting
    }
    for wake in waiting { wake() }
  }

  /// Buffers that could be acquired now.
  var available: Int { state.locked { $0.remaining } }
}
