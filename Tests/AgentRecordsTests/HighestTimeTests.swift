import CoreTypes
import Testing

@testable import AgentRecords

/// docs/agent.md, "Ownership without a network".
@Suite("The time that a license is measured by")
struct HighestTimeTests {
  private static let start = Timestamp(millisecondsSinceEpoch: 1_795_249_800_000)
  private static let day: Duration = .seconds(86_400)

  private func reading(
    _ wall: Timestamp, boot: String? = "a", uptime: Duration = .seconds(100)
  ) -> HighestTime.Reading {
    HighestTime.Reading(wall: wall, boot: boot, uptime: uptime)
  }

  @Test("before anything was heard it is the device's clock, and never goes back behind that")
  func unheard() {
    var time = HighestTime()
    #expect(time.now(at: reading(Self.start)) == Self.start)
    time.note(reading(Self.start))
    #expect(time.now(at: reading(Self.start - Self.day)) == Self.start)
    #expect(time.now(at: reading(Self.start + Self.day)) == Self.start + Self.day)
  }

  @Test("behind the server's word it goes on as the machine counts, whatever the clock is set to")
  func heard() {
    var time = HighestTime()
    time.hear(Self.start, at: reading(Self.start))
    for wall in [-400, -1, 0, 1, 400].map({ Self.start + Self.day * $0 }) {
      #expect(
        time.now(at: reading(wall, uptime: .seconds(100) + Self.day * 3)) == Self.start + Self.day * 3)
    }
  }

  @Test("a clock that is off by years counts by the server's, also behind a restart of the machine")
  func wrongClock() {
    for years in [-20, 20] {
      let wall = Self.start + Self.day * 365 * years
      var time = HighestTime()
      time.hear(Self.start, at: reading(wall))
      #expect(time.now(at: reading(wall + Self.day, boot: "b", uptime: .zero)) == Self.start + Self.day)
    }
  }

  @Test("behind a restart of the machine a clock that was set back leaves no more than there was")
  func setBack() {
    var time = HighestTime()
    time.hear(Self.start, at: reading(Self.start))
    time.note(reading(Self.start + Self.day * 10, uptime: .seconds(100) + Self.day * 10))
    // Two days of the new start have passed.
    let later = reading(Self.start - Self.day * 5, boot: "b", uptime: Self.day * 2)
    #expect(time.now(at: later) == Self.start + Self.day * 12)
    time.note(later)
    #expect(
      time.now(at: reading(Self.start - Self.day * 6, boot: "b", uptime: Self.day * 3)) == Self.start + Self
        .day * 13)
    // Where nothing names the start, nothing is added, and nothing taken away.
    #expect(time.now(at: reading(Self.start, boot: nil, uptime: Self.day * 9)) == Self.start + Self.day * 12)
  }

  @Test("a clock that was ahead behind a restart is put right by the server's next word, and by nothing else")
  func ahead() {
    var time = HighestTime()
    time.hear(Self.start, at: reading(Self.start))
    let ahead = reading(Self.start + Self.day * 4000, boot: "b", uptime: .zero)
    time.note(ahead)
    #expect(time.now(at: reading(Self.start, boot: "b", uptime: .zero)) == Self.start + Self.day * 4000)
    time.hear(Self.start + Self.day, at: reading(Self.start + Self.day, boot: "b", uptime: .seconds(10)))
    #expect(
      time.now(at: reading(Self.start, boot: "b", uptime: .seconds(11))) == Self.start + Self.day
        + .seconds(1))
  }

  @Test("an older word of the server sets nothing back, unless its earlier one was off by more than a day")
  func older() {
    var time = HighestTime()
    time.hear(Self.start + Self.day * 9, at: reading(Self.start))
    let later = reading(Self.start, uptime: .seconds(100) + Self.day)
    var isCorrection = time.hear(Self.start + Self.day * 9, at: later)
    #expect(!isCorrection)
    #expect(time.now(at: later) == Self.start + Self.day * 10)
    isCorrection = time.hear(Self.start + Self.day * 9 - .milliseconds(1), at: later)
    #expect(isCorrection)
    #expect(time.now(at: later) == Self.start + Self.day * 9 - .milliseconds(1))
    #expect(time.now(at: reading(Self.start, boot: "b", uptime: .zero)) < Self.start + Self.day * 10)
  }

  @Test("a machine that counts backwards, as in a container that was moved, takes nothing away")
  func backwards() {
    var time = HighestTime()
    time.hear(Self.start, at: reading(Self.start))
    #expect(time.now(at: reading(Self.start, uptime: .zero)) == Self.start)
  }

  @Test("over 2,000 random readings it never goes back, but where the server says so")
  func random() {
    var generator = LinearGenerator(state: 7)
    var time = HighestTime()
    time.hear(Self.start, at: reading(Self.start))
    var (boot, uptime, last) = (0, Duration.zero, Self.start)
    for _ in 0..<2000 {
      if Int.random(in: 0..<10, using: &generator) == 0 { (boot, uptime) = (boot + 1, .zero) }
      uptime += .seconds(Int.random(in: 0..<100_000, using: &generator))
      let wall = Self.start + .seconds(Int.random(in: -9_000_000..<9_000_000, using: &generator))
      let reading = reading(wall, boot: "\(boot)", uptime: uptime)
      #expect(time.now(at: reading) >= last)
      time.note(reading)
      last = time.now(at: reading)
    }
  }
}

/// Knuth's, so that a failure comes again.
private struct LinearGenerator: RandomNumberGenerator {
  var state: UInt64

  mutating func next() -> UInt64 {
    state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
    return state
  }
}
