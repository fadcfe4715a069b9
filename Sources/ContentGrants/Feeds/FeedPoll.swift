import CoreTypes
import HTTPServer
import Synchronization

/// A request that waits for something to tell: no task, only what is needed to look for it (``FeedService/tellPolls()``). It is over once
/// something was found, its time has passed, a later request of the same feed has come, or the device has gone.
///
/// A poll has two states: it waits, or it is over. The first call of ``end(with:awaited:)`` or ``cancel()``
/// ends it and sets the finding, and every later one changes nothing. The request is resumed once, by whichever
/// of the end and ``begin(_:)`` comes second.
package final class FeedPoll: ResponsePostponement {
  /// The finding that the request is answered with.
  enum Finding: Sendable {
    /// The page behind the cursor, which the look has written down.
    case page(FeedService.Page)
    /// There is no such feed any more.
    case forgotten
  }

  private struct State {
    var finding: Finding?
    var isOver = false
    var isAwaited = false
    var resume: (@Sendable () -> Void)?
  }

  /// The feed that the request asks, as its token names it.
  let feed: FeedService.Name
  /// The device's place in the feed; nil where the request named none.
  let cursor: FeedService.Cursor?
  /// Whether the answer must bring a token.
  let renewsToken: Bool
  /// When it is answered with nothing.
  let deadline: MonotonicInstant
  private let state = Mutex(State())

  /// Creates a poll that waits.
  ///
  /// - Parameters:
  ///   - feed: the feed that is asked.
  ///   - cursor: the place behind which news is looked for.
  ///   - renewsToken: whether the answer must bring a new token.
  ///   - deadline: when the request is answered though there is no news.
  init(
    _ feed: FeedService.Name, after cursor: FeedService.Cursor?, renewsToken: Bool,
    until deadline: MonotonicInstant
  ) {
    self.feed = feed
    self.cursor = cursor
    self.renewsToken = renewsToken
    self.deadline = deadline
  }

  /// Whether the poll has ended, for whichever reason.
  var isOver: Bool { state.locked { $0.isOver } }

  /// The finding that the poll ended with; nil where its time has passed or a later request has come. Then a last look shows
  /// what the feed has.
  var finding: Finding? { state.locked { $0.finding } }

  /// Whether the one who ended it waits for its answer.
  var isAwaited: Bool { state.locked { $0.isAwaited } }

  /// Has the request answered: with what was found, or what a last look shows. Answers whether it was not over before.
  ///
  /// - Parameters:
  ///   - finding: the answer; nil has the request look once more.
  ///   - isAwaited: whether ``FeedWaiters`` counts this end until the request is answered.
  @discardableResult
  func end(with finding: Finding? = nil, awaited isAwaited: Bool = false) -> Bool {
    let (isNew, resume) = state.locked { state in
      let isNew = !state.isOver
      if isNew { (state.finding, state.isAwaited) = (finding, isAwaited) }
      state.isOver = true
      return (isNew, state.resume.take())
    }
    resume?()
    return isNew
  }

  /// Resumes the request when the poll ends, or at once where it has ended. Called by the HTTP server once the
  /// handler's task is gone.
  func begin(_ resume: @escaping @Sendable () -> Void) {
    let isOver = state.locked { state in
      if !state.isOver { state.resume = resume }
      return state.isOver
    }
    if isOver { resume() }
  }

  /// The answer is empty, without a look. A device that named no cursor has no place to stay at, so that its
  /// request ends without a finding.
  func cancel() {
    end(with: cursor.map { .page(FeedService.Page(items: [], cursor: $0, isWhole: false)) })
  }
}

/// The polls that wait, in the order in which they are to be looked at. A value without a lock of its own:
/// ``FeedWaiters`` keeps it behind one. At most one poll of each feed waits.
struct FeedPolls {
  private struct Due {
    var at: MonotonicInstant
    var poll: FeedPoll
  }

  /// By feed.
  private var polls: [Int64: FeedPoll] = [:]
  /// Feeds whose polls something has woken, each once: from `next` on in the order in which they were.
  private var woken: (feeds: [Int64], next: Int) = ([], 0)
  private var isWoken: Set<Int64> = []
  /// A heap by time: a date comes, or the poll's time is over. It may have more of a poll than one, and some that have ended.
  private var dues: [Due] = []

  /// Polls that wait.
  var count: Int { polls.count }
  /// Times that are kept, some of polls that have ended.
  var scheduledCount: Int { dues.count }
  /// When there is something to do though nothing happens.
  var next: MonotonicInstant? { dues.first?.at }

  /// Takes the place of the feed's earlier one, which it answers. Returns that earlier poll, which the caller
  /// ends outside its lock.
  mutating func add(_ poll: FeedPoll) -> FeedPoll? { polls.updateValue(poll, forKey: poll.feed.number) }

  /// Takes the poll out, unless a later one of its feed has taken its place.
  mutating func remove(_ poll: FeedPoll) {
    if polls[poll.feed.number] === poll { polls[poll.feed.number] = nil }
  }

  /// Takes the poll of a feed out and returns it; nil where none waits.
  mutating func remove(_ feed: Int64) -> FeedPoll? { polls.removeValue(forKey: feed) }

  /// Takes every poll out and returns them, in no order. All wakes and times are forgotten.
  mutating func removeAll() -> [FeedPoll] {
    defer { self = FeedPolls() }
    return Array(polls.values)
  }

  /// Wakes every poll that waits, in no order.
  mutating func wake() { wake(Array(polls.keys)) }

  /// Wakes the polls of these feeds behind those that were woken before. A feed that was woken already keeps
  /// its place.
  mutating func wake(_ feeds: [Int64]) {
    for feed in feeds where polls[feed] != nil && isWoken.insert(feed).inserted { woken.feeds.append(feed) }
  }

  /// Has the poll looked at from that moment on. Ignored where the poll no longer waits. An earlier time of the
  /// same poll stays in the heap and counts as well.
  mutating func schedule(_ poll: FeedPoll, at moment: MonotonicInstant) {
    guard polls[poll.feed.number] === poll else { return }
    if dues.count > 2 * polls.count + 64 { compact() }
    var place = dues.count
    dues.append(Due(at: moment, poll: poll))
    while place > 0, dues[place].at < dues[(place - 1) / 2].at {
      dues.swapAt(place, (place - 1) / 2)
      place = (place - 1) / 2
    }
  }

  /// The next ones to look at, `limit` at most: those that are due, then those that were woken, the first of them first, so that none
  /// waits for ever however often all are woken.
  mutating func take(at now: MonotonicInstant, limit: Int) -> [FeedPoll] {
    var taken: [FeedPoll] = []
    while taken.count < limit, let due = dues.first, due.at <= now {
      removeFirstDue()
      if polls[due.poll.feed.number] === due.poll { taken.append(due.poll) }
    }
    while taken.count < limit, woken.next < woken.feeds.count {
      let feed = woken.feeds[woken.next]
      woken.next += 1
      isWoken.remove(feed)
      if let poll = polls[feed], !taken.contains(where: { $0 === poll }) { taken.append(poll) }
    }
    if woken.next == woken.feeds.count {
      woken = ([], 0)
    } else if woken.next > 1024, 2 * woken.next > woken.feeds.count {
      woken = (Array(woken.feeds[woken.next...]), 0)
    }
    return taken
  }

  /// Keeps the earliest time of each poll that waits.
  private mutating func compact() {
    var earliest: [Int64: Due] = [:]
    for due in dues where polls[due.poll.feed.number] === due.poll {
      if let other = earliest[due.poll.feed.number], other.at <= due.at { continue }
      earliest[due.poll.feed.number] = due
    }
    dues = earliest.values.sorted { $0.at < $1.at }
  }

  /// Takes the earliest time off the heap.
  private mutating func removeFirstDue() {
    dues.swapAt(0, dues.count - 1)
    dues.removeLast()
    var place = 0
    while true {
      let children = (2 * place + 1)...(2 * place + 2)
      guard let least = children.filter({ $0 < dues.count }).min(by: { dues[$0].at < dues[$1].at }),
        dues[least].at < dues[place].at
      else { return }
      dues.swapAt(place, least)
      place = least
    }
  }
}
