import CoreTypes
import Testing

@Suite struct TryAllowanceTests {
  private let allowance = TryAllowance(burst: 3, interval: .seconds(10))
  private let second: UInt64 = 1_000_000_000

  @Test("so many tries at once, then one after each interval") func burst() {
    let now = 1000 * second
    var paid: UInt64 = 0
    for _ in 0..<3 {
      #expect(allowance.wait(paidUntil: paid, now: now) == nil)
      paid = allowance.charged(paidUntil: paid, now: now)
    }
    #expect(allowance.wait(paidUntil: paid, now: now) == 10)
    #expect(allowance.wait(paidUntil: paid, now: now + 9 * second + 1) == 1, "seconds are rounded up")
    #expect(allowance.wait(paidUntil: paid, now: now + 10 * second) == nil)
  }

  @Test("tries beyond those that may be make none wait longer") func beyond() {
    var paid: UInt64 = 0
    for _ in 0..<100 { paid = allowance.charged(paidUntil: paid, now: 0) }
    #expect(allowance.wait(paidUntil: paid, now: 0) == 10)
  }

  @Test("time that has passed without a try is no credit beyond the burst") func rest() {
    var paid: UInt64 = 0
    let now = 1_000_000 * second
    for _ in 0..<3 { paid = allowance.charged(paidUntil: paid, now: now) }
    #expect(allowance.wait(paidUntil: paid, now: now) == 10)
  }
}
