import CoreTypes
import Testing

@testable import RouteAccess

@Suite("The budget for request bodies")
struct BodyLedgerTests {
  private static let start = MonotonicInstant(nanoseconds: 1_000_000_000)

  private func at(_ duration: Duration) -> MonotonicInstant { Self.start + duration }

  @Test(
    "what is reserved is bounded, and comes back when the request is answered, not when its body is whole")
  func bound() {
    var ledger = BodyLedger(budget: 100_000)
    let first = ledger.begin(now: Self.start)
    #expect(ledger.reserve(first, total: 60_000, now: Self.start).0 == .granted)
    let second = ledger.begin(now: Self.start)
    #expect(ledger.reserve(second, total: 60_000, now: Self.start).0 == .wait)
    #expect(ledger.held == 60_000)
    ledger.didEnd(first)
    #expect(ledger.sweep(now: Self.start) == BodyLedger.Changes())
    #expect(ledger.release(first).granted == [second])
    #expect(ledger.held == 60_000)
    #expect(ledger.release(second) == BodyLedger.Changes())
    #expect(ledger.held == 0)
  }

  @Test("a quarter is for small bodies only")
  func small() {
    var ledger = BodyLedger(budget: 1 << 20)
    let large = ledger.begin(now: Self.start)
    #expect(ledger.reserve(large, total: 3 << 18, now: Self.start).0 == .granted)
    // One may go beyond the budget.
    let exempt = ledger.begin(now: Self.start)
    #expect(ledger.reserve(exempt, total: 65_537, now: Self.start).0 == .granted)
    let other = ledger.begin(now: Self.start)
    #expect(ledger.reserve(other, total: 65_537, now: Self.start).0 == .wait)
    for _ in 0..<4 {
      let small = ledger.begin(now: Self.start)
      #expect(ledger.reserve(small, total: 65_536, now: Self.start).0 == .granted)
    }
    #expect(ledger.held == 1 << 20 + 65_537)
    let last = ledger.begin(now: Self.start)
    #expect(ledger.reserve(last, total: 1, now: Self.start).0 == .wait)
  }

  @Test("one large body has room beyond the budget, costs the others none, and makes way for the next")
  func exempt() {
    var ledger = BodyLedger(budget: 8 << 20)
    var small = (0..<127).map { _ in ledger.begin(now: Self.start) }
    for body in small { #expect(ledger.reserve(body, total: 65_536, now: Self.start).0 == .granted) }
    let manifest = ledger.begin(now: Self.start)
    for total in [16_384, 65_536, 131_072, 1 << 20, 24 << 20] {
      #expect(ledger.reserve(manifest, total: total, now: Self.start).0 == .granted)
    }
    small.append(ledger.begin(now: Self.start))
    #expect(ledger.reserve(small[127], total: 65_536, now: Self.start).0 == .granted)
    #expect(ledger.held == 32 << 20)
    for body in small { ledger.didEnd(body) }
    let next = ledger.begin(now: Self.start)
    #expect(ledger.reserve(next, total: 24 << 20, now: Self.start).0 == .wait)
    // To end what holds nothing of the budget would leave a small one no room.
    let late = ledger.begin(now: at(.seconds(1)))
    let (verdict, changes) = ledger.reserve(late, total: 100, now: at(.seconds(1)))
    #expect(verdict == .wait && changes == BodyLedger.Changes())
    #expect(ledger.release(small[0]).granted == [late])
    #expect(ledger.release(manifest).granted == [next])
    #expect(ledger.release(next) == BodyLedger.Changes())
    #expect(ledger.held == 127 * 65_536 + 100)
  }

  @Test(
    "as many bodies arrive as the budget has 16 KiB: one more has the oldest ended, not one in its first moments"
  )
  func arriving() {
    var ledger = BodyLedger(budget: 65_536)
    let whole = ledger.begin(now: Self.start)
    ledger.didEnd(whole)
    let bodies = (0..<4).map { _ in
      #expect(ledger.makePlace(now: Self.start) == BodyLedger.Changes())
      return ledger.begin(now: Self.start)
    }
    #expect(ledger.makePlace(now: at(.milliseconds(249))) == BodyLedger.Changes())
    #expect(ledger.makePlace(now: at(.milliseconds(250))).refused == [bodies[0]])
    _ = ledger.begin(now: at(.milliseconds(250)))
    #expect(ledger.makePlace(now: at(.milliseconds(250))).refused == [bodies[1]])
    // It was told to go already, and does not count twice.
    #expect(ledger.release(bodies[1]) == BodyLedger.Changes())
    #expect(ledger.makePlace(now: at(.milliseconds(250))) == BodyLedger.Changes())
    _ = ledger.begin(now: at(.milliseconds(250)))
    ledger.didEnd(bodies[2])
    #expect(ledger.makePlace(now: at(.milliseconds(250))) == BodyLedger.Changes())
  }

  @Test(
    "a small body that finds no room has the one ended that has been arriving longest, not one in its first moments"
  )
  func eviction() {
    var ledger = BodyLedger(budget: 131_072)
    let held = (0..<2).map { _ in ledger.begin(now: Self.start) }
    for body in held { #expect(ledger.reserve(body, total: 65_536, now: Self.start).0 == .granted) }
    let early = ledger.begin(now: at(.milliseconds(200)))
    let (verdict, changes) = ledger.reserve(early, total: 16_384, now: at(.milliseconds(200)))
    #expect(verdict == .wait && changes == BodyLedger.Changes())
    let late = ledger.begin(now: at(.milliseconds(300)))
    let second = ledger.reserve(late, total: 16_384, now: at(.milliseconds(300)))
    #expect(second.0 == .wait)
    #expect(second.1.refused == [held[0]])
    // Both fit into what the one held.
    let third = ledger.begin(now: at(.milliseconds(301)))
    #expect(ledger.reserve(third, total: 16_384, now: at(.milliseconds(301))).1 == BodyLedger.Changes())
    #expect(ledger.release(held[0]).granted == [early, late, third])
  }

  @Test("a small body that found all others in their first moments has the oldest ended once these are over")
  func laterEviction() {
    var ledger = BodyLedger(budget: 131_072)
    let held = (0..<2).map { _ in ledger.begin(now: Self.start) }
    for body in held { #expect(ledger.reserve(body, total: 65_536, now: Self.start).0 == .granted) }
    let waiting = (0..<5).map { _ in ledger.begin(now: at(.milliseconds(100))) }
    for body in waiting {
      #expect(ledger.reserve(body, total: 16_384, now: at(.milliseconds(100))).0 == .wait)
    }
    #expect(ledger.sweep(now: at(.milliseconds(249))) == BodyLedger.Changes())
    // Four fit into what one holds.
    #expect(ledger.sweep(now: at(.milliseconds(250))).refused == held)
    #expect(ledger.sweep(now: at(.milliseconds(500))) == BodyLedger.Changes())
    #expect(ledger.release(held[0]).granted == Array(waiting[..<4]))
    #expect(ledger.release(held[1]).granted == [waiting[4]])
  }

  @Test("a body that is whole is not ended for another's sake")
  func whole() {
    var ledger = BodyLedger(budget: 65_536)
    let body = ledger.begin(now: Self.start)
    #expect(ledger.reserve(body, total: 65_536, now: Self.start).0 == .granted)
    ledger.didEnd(body)
    let other = ledger.begin(now: at(.seconds(9)))
    #expect(ledger.reserve(other, total: 100, now: at(.seconds(9))).1 == BodyLedger.Changes())
  }

  @Test("a body waits two seconds for room")
  func patience() {
    var ledger = BodyLedger(budget: 1 << 20)
    let large = ledger.begin(now: Self.start)
    let exempt = ledger.begin(now: Self.start)
    for body in [large, exempt] {
      _ = ledger.reserve(body, total: 3 << 18, now: Self.start)
      ledger.didEnd(body)
    }
    let other = ledger.begin(now: Self.start)
    _ = ledger.reserve(other, total: 1 << 20, now: Self.start)
    #expect(ledger.sweep(now: at(.milliseconds(1999))) == BodyLedger.Changes())
    #expect(ledger.sweep(now: at(.seconds(2))).refused == [other])
    #expect(ledger.sweep(now: at(.seconds(9))) == BodyLedger.Changes())
    #expect(ledger.release(large) == BodyLedger.Changes())
  }

  @Test("a body arrives within 30 s and its length at 16 KiB a second")
  func rate() {
    var ledger = BodyLedger(budget: 1 << 30)
    let silent = ledger.begin(now: Self.start)
    let steady = ledger.begin(now: Self.start)
    for body in [silent, steady] { _ = ledger.reserve(body, total: 1 << 20, now: Self.start) }
    ledger.didReceive(163_840, for: steady)
    #expect(ledger.sweep(now: at(.seconds(30))) == BodyLedger.Changes())
    #expect(ledger.sweep(now: at(.milliseconds(30_001))).timedOut == [silent])
    #expect(ledger.sweep(now: at(.seconds(40))) == BodyLedger.Changes())
    #expect(ledger.sweep(now: at(.milliseconds(40_001))).timedOut == [steady])
  }
}
