import Testing

@testable import HTTPServer

@Suite("Deadlines of a loop")
struct TimerWheelTests {
  private static let slot: UInt64 = 1 << TimerWheel.tickShift
  private static let second: UInt64 = 1_000_000_000

  @Test("a deadline passes up to one slot late and never early, however often it was moved", arguments: 1...8)
  func model(seed: UInt64) {
    var random = seed
    func number(below bound: UInt64) -> UInt64 {
      random = random &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      return (random >> 33) % bound
    }
    let connections = 50
    var table = ConnectionTable(capacity: connections)
    for _ in 0..<connections { _ = table.add(descriptor: -1, peer: .unix, tls: TLSSession()) }
    var now = 1000 * Self.second
    var wheel = TimerWheel(now: now)
    var dues: [Int: UInt64] = [:]
    for _ in 0..<3000 {
      let index = Int(number(below: UInt64(connections)))
      if number(below: 5) == 0 {
        wheel.remove(index, in: table)
        dues[index] = nil
      } else {
        // Some before what was set, some behind it, some more than a turn of the wheel away.
        let due = now + number(below: 20 * Self.second)
        table[index].timer.due = due
        wheel.schedule(index, in: table)
        dues[index] = due
      }
      now += number(below: Self.slot * 3)
      while let index = wheel.popNext(now: now, in: table) {
        let due = table[index].timer.due
        #expect(dues[index] == due)
        if due <= now { dues[index] = nil } else { wheel.schedule(index, in: table) }
      }
      for due in dues.values { #expect(due + Self.slot > now) }
      let wait = wheel.wait(now: now)
      #expect((wait == nil) == dues.isEmpty)
      if let wait, let first = dues.values.min() {
        // It is looked at in time, and not without end.
        #expect(now + wait <= first + Self.slot)
        #expect(wait > 0)
      }
    }
  }

  @Test("without a deadline there is nothing to wait for")
  func empty() {
    let table = ConnectionTable(capacity: 1)
    var wheel = TimerWheel(now: 5)
    let wait = wheel.wait(now: 5)
    let next = wheel.popNext(now: 1000 * Self.second, in: table)
    #expect(wait == nil && next == nil)
  }
}
