import CoreTypes
import Testing

@testable import DeliveryService

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
    let other = ledger.begin(now: Self.start)
    #expect(ledger.reserve(other, total: 65_537, now: Self.start).0 == .wait)
    for _ in 0..<4 {
      let small = ledger.begin(now: Self.start)
      #expect(ledger.reserve(small, total: 65_536, now: Self.start).0 == .granted)
    }
    #expect(ledger.held == 1 << 20)
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
    _ = ledger.reserve(large, total: 3 << 18, now: Self.start)
    ledger.didEnd(large)
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
