import CoreTypes
import PullboxTesting
import Testing

@testable import ContentGrants

@Suite("Polls of feeds")
struct FeedPollTests {
  private let start = MonotonicInstant(nanoseconds: 1_000_000_000)

  private func poll(_ feed: Int64) -> FeedPoll {
    FeedPoll(
      FeedService.Name(number: feed, customer: 0), after: nil, renewsToken: false,
      until: start + .seconds(300))
  }

  @Test("those that are due are taken in the order of their times, not more than asked for, each once")
  func order() {
    var polls = FeedPolls()
    var generator = SplitMix(seed: 7)
    let all = (0..<200).map { poll($0) }
    var moments: [Int64: MonotonicInstant] = [:]
    for poll in all {
      #expect(polls.add(poll) == nil)
      let moment = start + .milliseconds(Int64.random(in: 0...1000, using: &generator))
      moments[poll.feed.number] = moment
      polls.schedule(poll, at: moment)
    }
    #expect(polls.next == moments.values.min())
    #expect(polls.take(at: MonotonicInstant(nanoseconds: 1), limit: 16).isEmpty)
    var taken: [MonotonicInstant] = []
    var feeds: Set<Int64> = []
    while true {
      let next = polls.take(at: start + .seconds(1), limit: 16)
      if next.isEmpty { break }
      #expect(next.count <= 16)
      taken += next.compactMap { moments[$0.feed.number] }
      feeds.formUnion(next.map(\.feed.number))
    }
    #expect(taken == taken.sorted() && feeds.count == 200)
  }

  @Test("what was woken is taken though it is not due; a poll that was replaced or has ended is not")
  func woken() {
    var polls = FeedPolls()
    let (first, second, later) = (poll(1), poll(2), poll(1))
    _ = polls.add(first)
    _ = polls.add(second)
    polls.schedule(first, at: start + .seconds(1))
    polls.schedule(second, at: start + .seconds(1))
    polls.wake([2, 3])
    #expect(polls.take(at: start, limit: 1).map(\.feed.number) == [2])
    #expect(polls.add(later) === first)
    polls.remove(second)
    polls.wake([2])
    #expect(polls.take(at: start, limit: 16).isEmpty)
    polls.wake()
    polls.wake([1])
    #expect(polls.take(at: start, limit: 16).map { $0 === later } == [true])
    // A wake counts for whichever poll of the feed waits by then.
    polls.wake([1])
    #expect(polls.add(first) === later)
    polls.wake([1])
    #expect(polls.take(at: start, limit: 16).map { $0 === first } == [true])
    #expect(polls.take(at: start, limit: 16).isEmpty)
  }

  @Test("however often all are woken, each is looked at in its turn, and what is due first")
  func fairness() {
    var polls = FeedPolls()
    for feed in 1...50 {
      let poll = poll(Int64(feed))
      _ = polls.add(poll)
      polls.schedule(poll, at: start + .seconds(feed == 50 ? 0 : 300))
    }
    var taken: [Int64] = []
    for _ in 1...51 {
      polls.wake()
      taken += polls.take(at: start, limit: 1).map(\.feed.number)
    }
    #expect(taken.first == 50)
    #expect(Set(taken).count == 50)
  }

  @Test("however often polls come and go, no more times are kept than about twice as many as wait")
  func bound() {
    var polls = FeedPolls()
    for round in 0..<10_000 {
      let poll = poll(Int64(round % 10))
      _ = polls.add(poll)
      polls.schedule(poll, at: start + .milliseconds(Int64(round)))
      #expect(polls.scheduledCount <= 2 * 10 + 65)
    }
    #expect(polls.count == 10)
  }

  @Test(
    "what was found is told, and a later end changes nothing; one that begins when it is over resumes at once"
  )
  func ends() {
    let poll = poll(1)
    let resumed = Locked(0)
    poll.begin { resumed.withLock { $0 += 1 } }
    #expect(resumed.current == 0 && !poll.isOver)
    poll.end(with: .forgotten)
    poll.cancel()
    #expect(resumed.current == 1 && poll.isOver)
    guard case .forgotten = poll.finding else {
      Issue.record("it lost what it had found")
      return
    }
    let cancelled = self.poll(2)
    cancelled.cancel()
    cancelled.begin { resumed.withLock { $0 += 1 } }
    #expect(resumed.current == 2 && cancelled.finding == nil)
  }
}
