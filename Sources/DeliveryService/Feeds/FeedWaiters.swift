import CoreTypes
import ServiceRuntime
import Synchronization

/// The requests that wait for something to tell: one of each feed, whose later request takes the place of an earlier one. A
/// wake costs each of them a look at the database; while nothing wakes them, they cost none.
final class FeedWaiters: Sendable {
  /// A request that waits. It is in the list until ``FeedWaiters/remove(_:)``.
  final class Waiter: Sendable {
    let feed: Int64
    let signal = AsyncSignal()
    /// Whether it is to answer at once with what it has: a later request has come, or the server stops.
    private let over = Atomic(false)

    fileprivate init(feed: Int64) {
      self.feed = feed
    }

    var isOver: Bool { over.load(ordering: .relaxed) }

    fileprivate func end() {
      over.store(true, ordering: .relaxed)
      signal.signal()
    }
  }

  private struct State {
    var waiters: [Int64: Waiter] = [:]
    var isClosed = false
  }

  private let state = Mutex(State())

  var count: Int { state.withLock { $0.waiters.count } }

  /// To be called before the first look, so that nothing that happens after that is missed.
  func add(_ feed: Int64) -> Waiter {
    let waiter = Waiter(feed: feed)
    let (earlier, isClosed) = state.withLock { state in
      (state.waiters.updateValue(waiter, forKey: feed), state.isClosed)
    }
    earlier?.end()
    if isClosed { waiter.end() }
    return waiter
  }

  func remove(_ waiter: Waiter) {
    state.withLock { state in
      if state.waiters[waiter.feed] === waiter { state.waiters[waiter.feed] = nil }
    }
  }

  func wake() {
    for waiter in state.withLock({ Array($0.waiters.values) }) { waiter.signal.signal() }
  }

  func wake(_ feeds: [Int64]) {
    for waiter in state.withLock({ state in feeds.compactMap { state.waiters[$0] } }) {
      waiter.signal.signal()
    }
  }

  /// Ends every wait, and those that come from now on.
  func close() {
    let waiters = state.withLock { state in
      state.isClosed = true
      return Array(state.waiters.values)
    }
    for waiter in waiters { waiter.end() }
  }
}
