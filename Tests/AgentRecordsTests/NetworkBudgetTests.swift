import CoreTypes
import PullboxTesting
import Testing

@testable import AgentRecords

/// A month's budget, whatever becomes of the process and of the clock.
@Suite struct NetworkBudgetTests {
  private static let utc = LocalCalendar { _ in 0 }

  private func time(_ text: String) throws -> Timestamp { try #require(Timestamp(rfc3339: text)) }
  private func day(_ year: Int, _ month: Int, _ day: Int) -> LocalCalendar.Day {
    LocalCalendar.Day(year: year, month: month, day: day)
  }

  @Test("a period begins with its day, and where a month has no such day, with its last")
  func periods() throws {
    let terms = NetworkBudget.Terms(limit: .gibibytes(20), day: 31)
    #expect(terms.period(of: try time("2026-11-30T00:00:00Z"), Self.utc) == day(2026, 11, 30))
    #expect(terms.period(of: try time("2026-11-29T23:59:59Z"), Self.utc) == day(2026, 10, 31))
    #expect(terms.period(of: try time("2027-02-28T12:00:00Z"), Self.utc) == day(2027, 2, 28))
    #expect(terms.period(after: day(2026, 12, 31)) == day(2027, 1, 31))
    #expect(terms.period(after: day(2027, 1, 31)) == day(2027, 2, 28))
    let first = NetworkBudget.Terms(limit: .gibibytes(20), day: 15)
    #expect(first.period(of: try time("2027-01-14T23:00:00Z"), Self.utc) == day(2026, 12, 15))
    #expect(
      first.period(of: try time("2027-01-14T23:00:00Z"), LocalCalendar { _ in 3600 }) == day(2027, 1, 15))
  }

  @Test("a clock that is set back never gives a budget twice") func setBack() {
    var budget = NetworkBudget()
    _ = budget.turn(to: day(2026, 11, 1), at: .zero, by: .unseen)
    #expect(budget.used(at: .mebibytes(10)) == .mebibytes(10))
    _ = budget.turn(to: day(2026, 12, 1), at: .mebibytes(10), by: .passed)
    #expect(budget.used(at: .mebibytes(10)) == .zero)
    for movement in [NetworkBudget.Movement.wasSet, .unseen] {
      var set = budget
      _ = set.turn(to: day(2026, 11, 1), at: .mebibytes(17), by: movement)
      #expect(set.used(at: .mebibytes(17)) == .mebibytes(17), "all since November began")
      _ = set.turn(to: day(2026, 9, 1), at: .mebibytes(18), by: movement)
      #expect(set.used(at: .mebibytes(18)) == .mebibytes(18), "September never was")
      _ = set.turn(to: day(2026, 10, 1), at: .mebibytes(19), by: movement)
      #expect(set.used(at: .mebibytes(19)) == .mebibytes(19), "nor was October")
      _ = set.turn(to: day(2026, 11, 1), at: .mebibytes(20), by: movement)
      #expect(set.used(at: .mebibytes(20)) == .mebibytes(20))
    }
  }

  @Test("a clock that was ahead, and is put right, goes on with its month, and no later one is lost")
  func ahead() {
    var budget = NetworkBudget()
    _ = budget.turn(to: day(2026, 11, 1), at: .zero, by: .unseen)
    _ = budget.turn(to: day(2036, 11, 1), at: .mebibytes(10), by: .wasSet)
    #expect(budget.used(at: .mebibytes(15)) == .mebibytes(5))
    _ = budget.turn(to: day(2026, 11, 1), at: .mebibytes(15), by: .wasSet)
    #expect(budget.used(at: .mebibytes(15)) == .mebibytes(15), "what came meanwhile came in November")
    _ = budget.turn(to: day(2026, 12, 1), at: .mebibytes(18), by: .passed)
    #expect(budget.used(at: .mebibytes(18)) == .zero)
    // The same, with the agent away when the clock was put right, in a month that it has not seen.
    var away = NetworkBudget()
    _ = away.turn(to: day(2036, 11, 1), at: .zero, by: .unseen)
    _ = away.turn(to: day(2026, 11, 1), at: .mebibytes(4), by: .unseen)
    #expect(away.used(at: .mebibytes(6)) == .mebibytes(6))
    _ = away.turn(to: day(2026, 12, 1), at: .mebibytes(7), by: .passed)
    #expect(away.used(at: .mebibytes(7)) == .zero)
    _ = away.turn(to: day(2027, 1, 1), at: .mebibytes(9), by: .unseen)
    #expect(away.used(at: .mebibytes(9)) == .zero)
  }

  @Test("a month that was shown for a moment too early has its budget when it comes") func early() {
    var budget = NetworkBudget()
    _ = budget.turn(to: day(2026, 11, 1), at: .zero, by: .unseen)
    _ = budget.turn(to: day(2026, 12, 1), at: .mebibytes(1), by: .wasSet)
    _ = budget.turn(to: day(2026, 11, 1), at: .mebibytes(2), by: .wasSet)
    _ = budget.turn(to: day(2026, 12, 1), at: .mebibytes(20), by: .passed)
    #expect(budget.used(at: .mebibytes(20)) == .mebibytes(1), "what came under its name")
  }

  @Test("what is kept of periods is bounded, and the current one is") func bounded() {
    var budget = NetworkBudget()
    for month in 0..<300 {
      _ = budget.turn(to: day(2026 + month / 12, month % 12 + 1, 1), at: ByteCount(month), by: .passed)
    }
    #expect(budget.periods.count == NetworkBudget.maximumPeriods && budget.used(at: ByteCount(299)) == .zero)
  }

  @Test("the count on the device is never behind, and no more than a piece ahead") func meter() {
    var meter = ByteMeter(counted: .mebibytes(5), limit: .mebibytes(7))
    #expect(meter.answer(to: 1, passesLimit: false) == .unsaved)
    while true {
      if let bound = meter.boundToSave { meter.noteSaved(bound) }
      guard meter.answer(to: 16_384, passesLimit: false) == .open else { break }
      meter.count(16_384)
      #expect(meter.saved >= meter.counted && meter.saved - meter.counted <= ByteMeter.step)
    }
    #expect(meter.counted == .mebibytes(7) && meter.isSpent)
    #expect(meter.answer(to: 16_384, passesLimit: false) == .spent)
    #expect(meter.answer(to: 16_384, passesLimit: true) == .open)
  }

  @Test("what comes while a count is being saved, and is more than that covers, is saved next") func late() {
    var meter = ByteMeter(counted: .zero)
    let bound = meter.boundToSave
    #expect(bound == .mebibytes(1))
    // A manifest, which nothing holds.
    meter.count(3 << 20)
    meter.noteSaved(.mebibytes(1))
    #expect(meter.saved == .mebibytes(1), "no more than lies on the device")
    #expect(meter.answer(to: 1, passesLimit: false) == .unsaved)
    #expect(meter.boundToSave == .mebibytes(4))
    meter.noteSaved(.mebibytes(4))
    meter.noteSaved(.mebibytes(2))
    #expect(meter.saved == .mebibytes(4))
    #expect(meter.answer(to: 16_384, passesLimit: false) == .open)
  }

  /// The device: what is on its disk, and the process, which a kill takes away.
  private struct Device {
    static let limit = ByteCount.mebibytes(40)
    var saved = ByteCount.zero
    var periods: [NetworkBudget.Period] = []
    var meter = ByteMeter(counted: .zero)
    var budget = NetworkBudget()

    /// The process knows only what lies on the disk.
    mutating func start() {
      meter = ByteMeter(counted: saved)
      budget = NetworkBudget(periods)
    }

    mutating func look(_ day: LocalCalendar.Day, by movement: NetworkBudget.Movement) {
      guard budget.turn(to: day, at: meter.counted, by: movement) else { return }
      periods = budget.periods
    }

    /// Bytes that may come now, up to `count`.
    mutating func receive(_ count: Int) -> Int64 {
      meter.limit = budget.end(of: Self.limit)
      var received: Int64 = 0
      while received < count {
        if let bound = meter.boundToSave {
          saved = bound
          meter.noteSaved(bound)
        }
        guard meter.answer(to: 16_384, passesLimit: false) == .open else { break }
        meter.count(16_384)
        received += 16_384
      }
      return received
    }

    var left: ByteCount { max(.zero, Self.limit - budget.used(at: meter.counted)) }
  }

  @Test("500 commands, kills and steps of the clock: no month has more than its budget", arguments: 1...12)
  func random(seed: UInt64) throws {
    var generator = SplitMix(seed: seed)
    let terms = NetworkBudget.Terms(limit: Device.limit)
    var device = Device()
    device.start()
    // 2026-06-15
    var now = try time("2026-06-15T12:00:00Z")
    var received: [LocalCalendar.Day: Int64] = [:]
    var (whole, kills) = (Int64(0), Int64(0))
    var isAway = true
    for command in 0..<500 {
      let place: Comment = "seed \(seed), command \(command)"
      let before = (now: now, left: device.left, isKnown: device.budget.current != nil)
      var movement = NetworkBudget.Movement.passed
      switch Int.random(in: 0..<10, using: &generator) {
      case 0:
        // Killed, or stopped in order: then the count is exact.
        if Bool.random(using: &generator) { device.saved = device.meter.counted } else { kills += 1 }
        device.start()
        isAway = true
      case 1, 2: now = now + .seconds(Int64.random(in: 1..<(40 * 86_400), using: &generator))
      case 3, 4:
        now = now + .seconds(Int64.random(in: (-200 * 86_400)..<(200 * 86_400), using: &generator))
        movement = .wasSet
      default: break
      }
      if isAway { movement = .unseen }
      isAway = false
      let day = terms.period(of: now, Self.utc)
      let hasTurned = device.budget.current?.first != day
      let isKnown = device.budget.periods.contains { $0.first == day }
      device.look(day, by: movement)
      if now < before.now, before.isKnown {
        #expect(device.left <= before.left, "the clock was set back: \(place)")
      }
      if hasTurned, !isKnown, movement == .passed, now > before.now {
        #expect(device.left == Device.limit, "a month that comes is whole: \(place)")
      }
      let came = device.receive(Int.random(in: 0..<(8 << 20), using: &generator))
      received[day, default: 0] += came
      whole += came
      #expect(received[day, default: 0] <= Device.limit.rawValue, "\(day): \(place)")
      // Each kill counts up to a piece that did not come, and none that came is forgotten.
      let counted = device.meter.counted.rawValue
      #expect(counted >= whole && counted <= whole + kills * ByteMeter.step.rawValue, place)
    }
  }
}
