import CoreTypes
import PullboxAPI
import Testing

@testable import AgentRecords

/// The shares of one rate, over simulated ways and a clock of the test's own.
@Suite struct RateSharesTests {
  /// A transfer and what its own way brings, in bytes a second.
  private struct Way {
    var claim = RateShares.Claim()
    var speed = Double.infinity
  }

  /// Runs the ways for so long, in steps of a millisecond; the bytes that each has taken.
  private func run(
    _ shares: inout RateShares, _ ways: [Way], from start: Int = 0, milliseconds: Int
  ) -> [Double] {
    for (index, way) in ways.enumerated() where start == 0 { shares.join(UInt64(index), way.claim) }
    var taken = [Double](repeating: 0, count: ways.count)
    var brought = [Double](repeating: 0, count: ways.count)
    var waiting: Set<Int> = []
    let span = RateShares.largestSpan
    for step in start..<(start + milliseconds) {
      let now = MonotonicInstant(nanoseconds: UInt64(step) * 1_000_000)
      for member in shares.grant(at: now) { waiting.remove(Int(member)) }
      for (index, way) in ways.enumerated() {
        brought[index] = min(brought[index] + way.speed / 1000, 1e12)
        while !waiting.contains(index), brought[index] >= Double(span) {
          guard shares.take(span, by: UInt64(index), at: now) else {
            waiting.insert(index)
            break
          }
          brought[index] -= Double(span)
          taken[index] += Double(span)
        }
      }
    }
    return taken
  }

  @Test(
    "so many transfers together have the rate, within five percent over five seconds", arguments: [1, 2, 3])
  func together(count: Int) {
    for rate in [ByteCount.kibibytes(256), .mebibytes(2), .mebibytes(40)] {
      var shares = RateShares(rate: rate)
      let taken = run(&shares, Array(repeating: Way(), count: count), milliseconds: 5000)
      let wanted = Double(rate.rawValue) * 5
      #expect(abs(taken.reduce(0, +) - wanted) < wanted * 0.05, "\(rate)")
      for one in taken { #expect(abs(one - wanted / Double(count)) < wanted * 0.05, "\(rate)") }
    }
  }

  @Test("the more urgent one goes first, and the other keeps a sixty-fourth") func urgency() {
    var shares = RateShares(rate: .mebibytes(2))
    let ways = [Way(claim: .init(urgency: .background)), Way(claim: .init(urgency: .now))]
    let taken = run(&shares, ways, milliseconds: 20_000)
    let whole = taken.reduce(0, +)
    #expect(taken[1] > whole * 0.96)
    #expect(taken[0] > 0 && taken[0] < whole * 0.04)
  }

  @Test("of one urgency, a priority of 1 has twice what 0 has, and -1 half") func weights() {
    var shares = RateShares(rate: .mebibytes(7))
    let ways = [1, 0, -1].map { Way(claim: .init(urgency: .normal, priority: $0)) }
    let taken = run(&shares, ways, milliseconds: 5000)
    let unit = taken.reduce(0, +) / 7
    for (one, parts) in zip(taken, [4.0, 2, 1]) { #expect(abs(one - unit * parts) < unit * 0.3) }
  }

  @Test("what one does not use goes to the others", arguments: [DownloadUrgency.now, .normal])
  func leftover(of urgency: DownloadUrgency) {
    var shares = RateShares(rate: .mebibytes(4))
    let slow = 1024.0 * 1024
    let ways = [Way(claim: .init(urgency: urgency), speed: slow), Way()]
    let taken = run(&shares, ways, milliseconds: 5000)
    #expect(abs(taken[0] - slow * 5) < slow * 0.25, "all that its own way brings")
    #expect(abs(taken[1] - slow * 15) < slow * 0.75)
  }

  @Test("another rate counts at once, and none lets all go on") func change() throws {
    var shares = RateShares(rate: .mebibytes(1))
    _ = run(&shares, [Way()], milliseconds: 1000)
    shares.setRate(.mebibytes(8), at: MonotonicInstant(nanoseconds: 1_000_000_000))
    let quick = run(&shares, [Way()], from: 1000, milliseconds: 1000)[0]
    #expect(abs(quick - Double(8 << 20)) < Double(8 << 20) * 0.05)
    let now = MonotonicInstant(nanoseconds: 2_000_000_000)
    while shares.take(RateShares.largestSpan, by: 0, at: now) {}
    #expect(try #require(shares.nextTurn(at: now)) > .zero)
    shares.setRate(nil, at: now)
    #expect(shares.nextTurn(at: now) == .zero)
    let released = shares.grant(at: now)
    let isTaken = shares.take(RateShares.largestSpan, by: 0, at: now)
    #expect(released == [0] && isTaken && shares.nextTurn(at: now) == nil)
  }

  @Test("what has gone takes nothing with it, and is not waited for") func leaving() {
    var shares = RateShares(rate: .mebibytes(1))
    let start = MonotonicInstant(nanoseconds: 0)
    for member: UInt64 in [1, 2] { shares.join(member, .init()) }
    _ = shares.take(1, by: 1, at: start)
    _ = shares.take(1, by: 2, at: start)
    #expect(shares.isAwaited)
    let later = start + .milliseconds(30)
    let served = shares.grant(at: later)
    #expect(served == [1, 2])
    shares.leave(1)
    // Of one turn of 20 ms each, that of the one that left is there again.
    let isTaken = shares.take(RateShares.largestSpan, by: 2, at: later)
    #expect(isTaken)
    shares.leave(2)
    #expect(!shares.isAwaited && shares.nextTurn(at: later) == nil)
  }
}
