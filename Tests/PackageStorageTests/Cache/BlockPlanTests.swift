import CoreTypes
import Crypto
import Testing

@testable import PackageStorage

/// Which pieces are fetched, when, and what readers are told. A block has eight pieces.
@Suite("The plan of fetches")
struct BlockPlanTests {
  private typealias Plan = BlockPlan

  private let digest = SHA256Digest.of([1])
  private let other = SHA256Digest.of([2])
  private var plan = BlockPlan()

  /// Two packages of so many pieces, of which nothing is there.
  private mutating func know(pieces: Int = 40) {
    for digest in [digest, other] {
      let layout = BlockLayout(packageLength: .mebibytes(Int64(pieces)))
      #expect(plan.handle(.known(digest, BlockMap(layout))).isEmpty)
    }
  }

  private func reader(_ number: UInt64) -> Plan.ReaderIdentifier { .init(rawValue: number) }

  private mutating func want(
    _ number: UInt64, _ piece: Int, of digest: SHA256Digest? = nil, end: Int? = nil
  ) -> [Plan.Action] {
    plan.handle(
      .wanted(reader(number), digest ?? self.digest, piece..<piece + 1, end: end ?? piece + 1))
  }

  private func fetch(
    _ number: UInt64, _ pieces: Range<Int>, of digest: SHA256Digest? = nil, after pause: Duration = .zero
  ) -> Plan.Action {
    .fetch(.init(rawValue: number), digest ?? self.digest, pieces, after: pause)
  }

  private mutating func verify(_ number: UInt64, _ pieces: Range<Int>) -> [Plan.Action] {
    pieces.flatMap { plan.handle(.verified(.init(rawValue: number), piece: $0)) }
  }

  private mutating func end(_ number: UInt64, _ error: PackageCacheError? = nil) -> [Plan.Action] {
    plan.handle(error.map { .failed(.init(rawValue: number), $0) } ?? .fetched(.init(rawValue: number)))
  }

  private let unavailable = PackageCacheError(.unavailable, "the store is away")
  private let missing = PackageCacheError(.notFound, "there is none")

  // MARK: Readers

  @Test("from the piece that a reader wants to the end of its block one fetch brings what is missing")
  mutating func run() {
    know()
    #expect(want(1, 3) == [fetch(1, 3..<8)])
    #expect(want(2, 12, of: other) == [fetch(2, 12..<16, of: other)])
    // The last block is short.
    know(pieces: 11)
    #expect(want(3, 8) == [fetch(3, 8..<11)])
  }

  @Test("a reader is released as soon as its piece is verified, not when the block is whole")
  mutating func release() {
    know()
    _ = want(1, 0)
    _ = want(2, 2)
    #expect(verify(1, 0..<1) == [.release(reader(1))])
    #expect(verify(1, 1..<2) == [])
    #expect(verify(1, 2..<3) == [.release(reader(2))])
    // What is there needs no fetch.
    #expect(want(3, 1) == [.release(reader(3))])
    #expect(plan.waitingReaders == 0)
  }

  @Test("one fetch serves all who wait for its pieces, and no piece is fetched twice at a time")
  mutating func shared() {
    know()
    #expect(want(1, 4) == [fetch(1, 4..<8)])
    #expect(want(2, 4) == [])
    #expect(want(3, 6) == [])
    // Before it in the block, up to where it begins.
    #expect(want(4, 1) == [fetch(2, 1..<4)])
    #expect(verify(1, 4..<5) == [.release(reader(1)), .release(reader(2))])
    #expect(verify(1, 5..<8) == [.release(reader(3))])
    #expect(end(1) == [])
    #expect(verify(2, 1..<4) == [.release(reader(4))])
    #expect(want(5, 0) == [fetch(3, 0..<1)])
  }

  @Test("a reader of several pieces is released with the last of them, and each of its blocks is fetched")
  mutating func several() {
    know()
    #expect(
      plan.handle(.wanted(reader(1), digest, 6..<10, end: 10)) == [
        .mark(digest, block: 1), fetch(1, 6..<8), fetch(2, 8..<16),
      ])
    #expect(verify(2, 8..<10) == [])
    #expect(verify(1, 6..<7) == [])
    #expect(verify(1, 7..<8) == [.release(reader(1))])
  }

  @Test("for a reader that has gone nothing is begun, and what has begun goes on for those who come")
  mutating func left() {
    know(pieces: 400)
    for number in 1...17 { _ = want(UInt64(number), number * 8) }
    #expect(plan.runningFetches == 16)
    #expect(plan.handle(.left(reader(17))) == [])
    #expect(plan.handle(.left(reader(1))) == [])
    #expect(verify(1, 8..<16) == [])
    #expect(end(1) == [])
    #expect(plan.runningFetches == 15)
    #expect(want(18, 8) == [.release(reader(18))])
    #expect(plan.handle(.left(reader(18))) == [])
  }

  // MARK: Ahead

  @Test("a reader that will read on has the next block fetched as well, one block ahead and no more")
  mutating func ahead() {
    know()
    #expect(want(1, 0, end: 40) == [.mark(digest, block: 1), fetch(1, 0..<8), fetch(2, 8..<16)])
    #expect(verify(1, 0..<8) == [.release(reader(1))])
    #expect(end(1) == [])
    #expect(verify(2, 8..<16) == [])
    #expect(end(2) == [])
    // It comes to what was fetched for it, and so on to the end.
    #expect(plan.handle(.reached(digest, block: 1)) == [.mark(digest, block: 2), fetch(3, 16..<24)])
    #expect(plan.handle(.reached(digest, block: 1)) == [])
    #expect(plan.handle(.reached(digest, block: 2)) == [.mark(digest, block: 3), fetch(4, 24..<32)])
    #expect(plan.handle(.reached(digest, block: 3)) == [.mark(digest, block: 4), fetch(5, 32..<40)])
    #expect(plan.handle(.reached(digest, block: 4)) == [])
  }

  @Test("nothing is fetched ahead for a reader whose range ends in its block")
  mutating func noAhead() {
    know()
    #expect(want(1, 2, end: 8) == [fetch(1, 2..<8)])
    #expect(want(2, 8, end: 17) == [.mark(digest, block: 2), fetch(2, 8..<16), fetch(3, 16..<24)])
    #expect(plan.handle(.reached(digest, block: 2)) == [])
  }

  @Test("behind a block that is there already the next one is fetched when a reader comes to it")
  mutating func aheadOfPresent() {
    know()
    _ = want(1, 8)
    _ = verify(1, 8..<16)
    _ = end(1)
    #expect(want(2, 0, end: 40) == [.mark(digest, block: 1), fetch(2, 0..<8)])
    #expect(plan.handle(.reached(digest, block: 1)) == [.mark(digest, block: 2), fetch(3, 16..<24)])
  }

  @Test("what readers wait for comes before what is fetched ahead")
  mutating func order() {
    know(pieces: 400)
    for number in 1...16 { _ = want(UInt64(number), number * 8) }
    #expect(want(17, 200, end: 400) == [.mark(digest, block: 26), .wait])
    #expect(want(18, 0) == [])
    #expect(want(19, 300, of: other) == [])
    #expect(end(1, unavailable).count == 1)
    #expect(verify(2, 16..<24) == [.release(reader(2))])
    #expect(end(2) == [fetch(18, 200..<208)])
    #expect(verify(3, 24..<32) == [.release(reader(3))])
    #expect(end(3) == [fetch(19, 0..<8)])
    #expect(verify(4, 32..<40) == [.release(reader(4))])
    #expect(end(4) == [fetch(20, 300..<304, of: other)])
    #expect(verify(5, 40..<48) == [.release(reader(5))])
    #expect(end(5) == [fetch(21, 208..<216)])
  }

  @Test("what was planned ahead for a reader that has gone is not fetched")
  mutating func leftAhead() {
    know(pieces: 400)
    for number in 1...16 { _ = want(UInt64(number), number * 8) }
    _ = want(17, 200, end: 400)
    _ = plan.handle(.left(reader(17)))
    _ = verify(1, 8..<16)
    #expect(end(1) == [])
  }

  // MARK: Failures

  @Test(
    "what does not come is asked for once more after a pause, then who waits fails; who comes later begins anew"
  )
  mutating func unavailableTwice() {
    know()
    _ = want(1, 0)
    _ = want(2, 5)
    #expect(verify(1, 0..<2) == [.release(reader(1))])
    _ = want(3, 3)
    // From the first piece that a reader waits for.
    #expect(end(1, unavailable) == [fetch(2, 3..<8, after: .milliseconds(500))])
    #expect(verify(2, 3..<4) == [.release(reader(3))])
    #expect(end(2, unavailable) == [.fail(reader(2), unavailable)])
    #expect(plan.runningFetches == 0)
    #expect(want(4, 5) == [fetch(3, 5..<8)])
    #expect(end(3, unavailable) == [fetch(4, 5..<8, after: .milliseconds(500))])
  }

  @Test(
    "who waits behind all fetches fails with the first that does not come twice, unless something has come meanwhile",
    arguments: [false, true])
  mutating func behindAll(hasCome: Bool) {
    know(pieces: 160)
    for number in 1...16 {
      let first = (number - 1) * 8
      #expect(want(UInt64(number), first) == [fetch(UInt64(number), first..<first + 8)])
    }
    #expect(want(17, 128) == [.wait])
    #expect(want(18, 0, of: other).isEmpty)
    #expect(end(1, unavailable) == [fetch(17, 0..<8, after: .milliseconds(500))])
    if hasCome { #expect(verify(2, 8..<9) == [.release(reader(2))]) }
    let actions = end(17, unavailable)
    #expect(actions.first == .fail(reader(1), unavailable))
    if hasCome {
      #expect(actions.dropFirst() == [fetch(18, 128..<136)])
    } else {
      #expect(actions.dropFirst() == [.fail(reader(17), unavailable), .fail(reader(18), unavailable)])
      #expect(plan.waitingReaders == 15)
    }
  }

  @Test("a place that answers of one package is there: who waits behind all fetches waits on")
  mutating func answering() {
    know(pieces: 160)
    for number in 1...16 {
      let first = (number - 1) * 8
      #expect(want(UInt64(number), first) == [fetch(UInt64(number), first..<first + 8)])
    }
    #expect(want(17, 128) == [.wait])
    #expect(end(1, unavailable) == [fetch(17, 0..<8, after: .milliseconds(500))])
    #expect(
      end(17, missing) == [
        .fail(reader(1), PackageCacheError(.unavailable, missing.message)), fetch(18, 128..<136),
      ])
  }

  @Test(
    "who waits behind all fetches of a place that brings little fails after twice the patience at most, and once at least"
  )
  mutating func trickle() {
    know(pieces: 400)
    for number in 1...16 { _ = want(UInt64(number), number * 8) }
    #expect(want(17, 200) == [.wait])
    // One piece of each fetch comes in a turn.
    for number in 1...16 { #expect(verify(UInt64(number), number * 8..<number * 8 + 1).count == 1) }
    #expect(plan.handle(.waited) == [.wait])
    #expect(want(18, 300) == [])
    for number in 1...16 { #expect(verify(UInt64(number), number * 8 + 1..<number * 8 + 2).isEmpty) }
    let error = PackageCacheError(.unavailable, "what others wait for takes too long to come")
    #expect(plan.handle(.waited) == [.fail(reader(17), error), .wait])
    // A place is free before the next turn is over.
    #expect(end(1, unavailable) == [fetch(17, 300..<304)])
    #expect(plan.handle(.waited) == [])
    #expect(plan.waitingReaders == 1)
  }

  @Test("a place that asks for a pause gets it, and where that is long, who waits fails at once")
  mutating func pauses() {
    know()
    let short = PackageCacheError(.unavailable, "busy", retryAfter: .seconds(5))
    let long = PackageCacheError(.unavailable, "busy", retryAfter: .seconds(6))
    _ = want(1, 0)
    #expect(end(1, short) == [fetch(2, 0..<8, after: .seconds(5))])
    #expect(end(2, short) == [.fail(reader(1), short)])
    _ = want(2, 0)
    #expect(end(3, long) == [.fail(reader(2), long)])
  }

  @Test("what no reader waits for is not tried again")
  mutating func unawaited() {
    know()
    _ = want(1, 0, end: 16)
    _ = verify(1, 0..<1)
    #expect(end(1, unavailable) == [])
    #expect(end(2, missing) == [])
    #expect(plan.fault(of: digest) == nil)
    #expect(want(2, 8) == [fetch(3, 8..<16)])
  }

  @Test("a package that is not found twice is set aside, and who waits for any of it fails")
  mutating func notFound() {
    know()
    _ = want(1, 0)
    _ = want(2, 20)
    _ = want(3, 30, of: other)
    #expect(end(1, missing) == [fetch(4, 0..<8, after: .milliseconds(500))])
    let actions = end(4, missing)
    #expect(
      Set(actions) == [
        .cancel(.init(rawValue: 2)), .fail(reader(1), missing), .fail(reader(2), missing),
        .setAside(digest, missing),
      ])
    #expect(plan.fault(of: digest) == missing)
    #expect(want(4, 0) == [.fail(reader(4), missing)])
    // What a canceled fetch still brings does not count.
    #expect(verify(2, 20..<24) == [])
    #expect(end(2) == [])
    #expect(verify(3, 30..<32) == [.release(reader(3))])
    #expect(plan.handle(.restored(digest)) == [])
    #expect(want(5, 0) == [fetch(5, 0..<8)])
  }

  @Test("one answer that there is none, after another failure, sets nothing aside")
  mutating func notFoundOnce() {
    know()
    _ = want(1, 0)
    _ = end(1, unavailable)
    #expect(end(2, missing) == [.fail(reader(1), PackageCacheError(.unavailable, "there is none"))])
    #expect(plan.fault(of: digest) == nil)
  }

  @Test("a piece that is other bytes is fetched once more, and the others count")
  mutating func mismatch() {
    know()
    for (number, piece) in [(1, 1), (2, 2), (3, 3)] { _ = want(UInt64(number), piece) }
    #expect(verify(1, 1..<2) == [.release(reader(1))])
    #expect(plan.handle(.mismatched(.init(rawValue: 1), piece: 2)) == [])
    #expect(verify(1, 3..<8) == [.release(reader(3))])
    #expect(end(1) == [fetch(2, 2..<3)])
    #expect(verify(2, 2..<3) == [.release(reader(2))])
    #expect(end(2) == [])
    // It is forgiven: the next time counts as the first again.
    #expect(plan.handle(.evictionBegan(digest, block: 0)) == [])
    #expect(plan.handle(.evictionEnded(digest, block: 0)) == [])
    _ = want(4, 2)
    #expect(plan.handle(.mismatched(.init(rawValue: 3), piece: 2)) == [])
    #expect(plan.fault(of: digest) == nil)
  }

  @Test("a piece that is other bytes twice sets the package aside, also where readers came and went between")
  mutating func mismatchTwice() {
    know()
    _ = want(1, 2)
    _ = plan.handle(.mismatched(.init(rawValue: 1), piece: 2))
    _ = plan.handle(.left(reader(1)))
    #expect(verify(1, 3..<8) == [])
    #expect(end(1) == [])
    #expect(want(2, 2) == [fetch(2, 2..<3)])
    let error = PackageCacheError(.damaged, "piece 2 has other bytes, twice")
    let actions = plan.handle(.mismatched(.init(rawValue: 2), piece: 2))
    #expect(
      actions == [.setAside(digest, error), .cancel(.init(rawValue: 2)), .fail(reader(2), error)])
    // What is there is sent all the same.
    #expect(want(3, 4) == [.release(reader(3))])
    #expect(want(4, 2) == [.fail(reader(4), error)])
    // One that was restored may bring other bytes once more.
    #expect(plan.handle(.restored(digest)) == [])
    #expect(want(5, 2) == [fetch(3, 2..<3)])
    #expect(plan.handle(.mismatched(.init(rawValue: 3), piece: 2)) == [])
    #expect(end(3) == [fetch(4, 2..<3)])
    #expect(plan.fault(of: digest) == nil)
  }

  @Test("a fetch that brings fewer bytes than were asked for is one that brings others")
  mutating func short() {
    know()
    _ = want(1, 0)
    let error = PackageCacheError(.damaged, "fewer bytes came than were asked for")
    #expect(end(1) == [fetch(2, 0..<8, after: .milliseconds(500))])
    #expect(end(2) == [.setAside(digest, error), .fail(reader(1), error)])
  }

  @Test(
    "where the node's own disk is at fault, who waits fails at once, and the next one tries again",
    arguments: [PackageCacheError.Code.outOfSpace, .storage])
  mutating func disk(code: PackageCacheError.Code) {
    know()
    let error = PackageCacheError(code, "the disk")
    _ = want(1, 0)
    _ = want(2, 6)
    #expect(verify(1, 0..<1) == [.release(reader(1))])
    #expect(end(1, error) == [.fail(reader(2), error)])
    #expect(want(3, 6) == [fetch(2, 6..<8)])
  }

  // MARK: After a crash

  @Test("what was there before a crash is checked before it counts, once, and fetched where it is not good")
  mutating func checks() {
    var map = BlockMap(BlockLayout(packageLength: .mebibytes(16)))
    for piece in [0, 1, 2, 5, 8] { map[piece] = .unchecked }
    #expect(plan.handle(.known(digest, map)) == [])
    #expect(want(1, 1) == [.check(digest, 1..<3)])
    #expect(want(2, 2) == [])
    #expect(plan.handle(.checked(digest, piece: 1, isGood: true)) == [.release(reader(1))])
    #expect(plan.handle(.checked(digest, piece: 2, isGood: false)) == [fetch(1, 2..<5)])
    #expect(want(3, 1) == [.release(reader(3))])
    #expect(plan.handle(.checked(digest, piece: 1, isGood: false)) == [])
    #expect(verify(1, 2..<3) == [.release(reader(2))])
    #expect(want(4, 5) == [.check(digest, 5..<6)])
  }

  // MARK: Eviction

  @Test("a block whose room is being given back is fetched only afterwards")
  mutating func eviction() {
    know()
    _ = want(1, 0)
    _ = verify(1, 0..<8)
    _ = end(1)
    #expect(plan.maps[digest]?.isEvictable(0) == true)
    #expect(plan.maps[digest]?.isEvictable(1) == false)
    #expect(plan.handle(.evictionBegan(digest, block: 0)) == [])
    #expect(plan.maps[digest]?.isEvictable(0) == false)
    #expect(want(2, 3) == [])
    #expect(plan.handle(.evictionEnded(digest, block: 0)) == [fetch(2, 3..<8)])
    #expect(plan.maps[digest]?.isEvictable(0) == false)
  }

  // MARK: Ends

  @Test("who waits for a package that is removed fails, and so does who asks for it")
  mutating func forgotten() {
    know()
    _ = want(1, 0, end: 16)
    let error = PackageCacheError(.notFound, "the package was removed")
    let actions = plan.handle(.forgotten(digest))
    #expect(
      Set(actions) == [
        .cancel(.init(rawValue: 1)), .cancel(.init(rawValue: 2)), .fail(reader(1), error),
      ])
    #expect(want(2, 0) == [.fail(reader(2), error)])
    #expect(plan.handle(.reached(digest, block: 1)) == [])
    #expect(plan.runningFetches == 0)
  }

  @Test("at the end all who wait fail, and nothing is begun any more")
  mutating func ended() {
    know()
    _ = want(1, 0)
    _ = want(2, 0, of: other)
    let error = PackageCacheError(.unavailable, "the cache was closed")
    let actions = plan.handle(.ended)
    #expect(
      Set(actions) == [
        .cancel(.init(rawValue: 1)), .cancel(.init(rawValue: 2)), .fail(reader(1), error),
        .fail(reader(2), error),
      ])
    #expect(want(3, 0) == [.fail(reader(3), error)])
  }
}
