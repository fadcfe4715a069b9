import CoreTypes
import ServiceRuntime
import Synchronization

/// The requests that wait for something to tell: one of each feed, whose later request takes the place of an earlier one. While
/// nothing wakes them, they cost no question to the database. A stream is a task that looks for itself; polls are looked at by one task for all,
/// some at a time, so that those who wait for nothing are answered meanwhile.
final class FeedWaiters: Sendable {
  /// A stream that waits. It is in the list until ``FeedWaiters/remove(_:)``.
  final class Waiter: Sendable {
    let feed: Int64
    let signal = AsyncSignal()
    /// Whether it is to end: a later request has come, or the server stops.
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
    var polls = FeedPolls()
    var quiet = QuietFeeds()
    var isClosed = false
  }

  /// Polls that are over and not answered yet, at most: more would be in the way of other requests.
  static let answersAtOnce = 8

  private let state = Mutex(State())
  private let answering = Atomic<Int>(0)
  private let answered = AsyncSignal()
  /// There is a poll to look at, or an earlier time to do so.
  private let signal = AsyncSignal()

  var count: Int { state.locked { $0.waiters.count + $0.polls.count } }

  /// Whether what happens to feeds has to be heard: a request waits, or one that is about to come rests on that nothing has happened.
  var mustHear: Bool { state.locked { !$0.waiters.isEmpty || $0.polls.count > 0 || !$0.quiet.isEmpty } }

  /// Runs `body` on the feeds of which nothing was heard since their last answers.
  func withQuiet<Value: Sendable>(_ body: (inout QuietFeeds) -> Value) -> Value {
    state.locked { body(&$0.quiet) }
  }

  /// To be called before the first look, so that nothing that happens after that is missed.
  func add(_ feed: Int64) -> Waiter {
    let waiter = Waiter(feed: feed)
    let (earlier, poll, isClosed) = state.locked { state in
      (state.waiters.updateValue(waiter, forKey: feed), state.polls.remove(feed), state.isClosed)
    }
    earlier?.end()
    poll?.end()
    if isClosed { waiter.end() }
    return waiter
  }

  /// Adds a request that needs no task, like ``add(_:)-(Int64)``.
  func add(_ poll: FeedPoll) {
    let (stream, earlier, isClosed) = state.locked { state in
      (state.waiters.removeValue(forKey: poll.feed.number), state.polls.add(poll), state.isClosed)
    }
    stream?.end()
    earlier?.end()
    if isClosed { poll.end() }
  }

  func remove(_ waiter: Waiter) {
    state.locked { state in
      if state.waiters[waiter.feed] === waiter { state.waiters[waiter.feed] = nil }
    }
  }

  /// The poll is looked at then, unless something wakes it before.
  func schedule(_ poll: FeedPoll, at moment: MonotonicInstant) {
    let isEarlier = state.locked { state in
      let next = state.polls.next
      state.polls.schedule(poll, at: moment)
      return next.map { moment < $0 } ?? true
    }
    if isEarlier { signal.signal() }
  }

  /// Polls to look at, `limit` at most, as soon as there are any; none when the task is cancelled.
  func nextPolls(limit: Int, clock: any MonotonicClock) async -> [FeedPoll] {
    while !Task.isCancelled {
      let now = clock.now()
      let (polls, next) = state.locked { state in
        (state.polls.take(at: now, limit: limit), state.polls.next)
      }
      if !polls.isEmpty { return polls }
      await signal.wait(atMost: next.map { $0 - now }, clock: clock)
    }
    return []
  }

  /// Ends a poll with what was found, and counts it until it is answered.
  func end(_ poll: FeedPoll, with finding: FeedPoll.Finding? = nil) {
    answering.add(1, ordering: .relaxed)
    if !poll.end(with: finding, awaited: true) { noteAnswer() }
  }

  /// Its request is being answered, and whatever is found for it from now on comes too late.
  func didAnswer(_ poll: FeedPoll) {
    state.locked { $0.polls.remove(poll) }
    if !poll.end(), poll.isAwaited { noteAnswer() }
  }

  private func noteAnswer() {
    let left = answering.subtract(1, ordering: .relaxed).newValue
    if left == Self.answersAtOnce / 2 { answered.signal() }
  }

  /// Returns when so many of those that ended are answered that others may.
  func waitForAnswers(clock: any MonotonicClock) async {
    while answering.load(ordering: .relaxed) > Self.answersAtOnce, !Task.isCancelled {
      await answered.wait(atMost: .milliseconds(100), clock: clock)
    }
  }

  func wake() {
    let waiters = state.locked { state in
      state.polls.wake()
      state.quiet.forgetAll()
      return Array(state.waiters.values)
    }
    for waiter in waiters { waiter.signal.signal() }
    signal.signal()
  }

  func wake(_ feeds: [Int64]) {
    let waiters = state.locked { state in
      state.polls.wake(feeds)
      state.quiet.forget(feeds)
      return feeds.compactMap { state.waiters[$0] }
    }
    for waiter in waiters { waiter.signal.signal() }
    signal.signal()
  }

  /// Ends every wait, and those that come from now on.
  func close() {
    let (waiters, polls) = state.locked { state in
      state.isClosed = true
      return (Array(state.waiters.values), state.polls.removeAll())
    }
    for waiter in waiters { waiter.end() }
    for poll in polls { poll.cancel() }
  }
}
