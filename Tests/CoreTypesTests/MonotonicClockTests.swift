import CoreTypes
import PullboxTesting
import Testing

@Suite struct MonotonicClockTests {
  private func instant(_ nanoseconds: UInt64) -> MonotonicInstant {
    MonotonicInstant(nanoseconds: nanoseconds)
  }

  @Test("differences and sums agree, and end at the ends of the clock") func arithmetic() {
    #expect(instant(7) - instant(5) == .nanoseconds(2))
    #expect(instant(5) - instant(7) == .nanoseconds(-2))
    #expect(instant(5) + .nanoseconds(2) == instant(7))
    #expect(instant(5) + .nanoseconds(-2) == instant(3))
    #expect(instant(5) + .seconds(-1) == instant(0))
    #expect(instant(5) + .seconds(Int64.max) == instant(UInt64(Int64.max)))
    #expect(instant(5) < instant(7))
  }

  @Test(
    "durations are told in whole units, toward zero, without trapping",
    arguments: [
      (.milliseconds(1500), 1500, 1_500_000_000), (.microseconds(-1500), -1, -1_500_000),
      (.seconds(Int64.max), .max, .max), (.seconds(Int64.min), .min, .min), (.zero, 0, 0),
    ] as [(Duration, Int64, Int64)])
  func durations(duration: Duration, milliseconds: Int64, nanoseconds: Int64) {
    #expect(duration.milliseconds == milliseconds)
    #expect(duration.nanoseconds == nanoseconds)
  }

  @Test("a duration in seconds keeps its fraction") func seconds() {
    #expect(Duration.milliseconds(1250).inSeconds == 1.25)
  }

  @Test("the system's clock does not go back, and a sleep of nothing returns") func system() async throws {
    let clock = SystemMonotonicClock()
    let before = clock.now()
    try await clock.sleep(for: .zero)
    #expect(clock.now() >= before)
  }

  @Test("sleeps on the system's clock end, and none before its time, however many there are")
  func sleepers() async throws {
    let clock = SystemMonotonicClock()
    let early = try await withThrowingTaskGroup(of: Bool.self) { group in
      for number in 0..<500 {
        let duration = Duration.microseconds(number * 7919 % 20_000)
        group.addTask {
          let begun = clock.now()
          try await clock.sleep(for: duration)
          return clock.now() - begun < duration
        }
      }
      return try await group.reduce(into: 0) { $0 += $1 ? 1 : 0 }
    }
    #expect(early == 0)
  }

  @Test("a cancelled sleep on the system's clock ends at once, and leaves the others")
  func cancelledSleeps() async throws {
    let clock = SystemMonotonicClock()
    for _ in 0..<200 {
      let short = Task { try await clock.sleep(for: .milliseconds(1)) }
      let long = Task { try await clock.sleep(for: .seconds(3600)) }
      long.cancel()
      await #expect(throws: CancellationError.self) { try await long.value }
      try await short.value
    }
    let cancelled = Task {
      unsafe withUnsafeCurrentTask { unsafe $0?.cancel() }
      try await clock.sleep(for: .zero)
    }
    await #expect(throws: CancellationError.self) { try await cancelled.value }
  }

  @Test("the manual clock wakes who has slept long enough, and only them") func advance() async throws {
    let clock = ManualMonotonicClock()
    try await withThrowingTaskGroup { group in
      for seconds in [1, 2] {
        group.addTask {
          try await clock.sleep(for: .seconds(seconds))
          return seconds
        }
      }
      await clock.waitForSleepers(2)
      #expect(clock.timeToNextSleeper == .seconds(1))
      clock.advance(by: .milliseconds(1999))
      let first = try await group.next()
      #expect(first == 1)
      #expect(clock.timeToNextSleeper == .milliseconds(1))
      clock.advance(by: .milliseconds(1))
      let second = try await group.next()
      #expect(second == 2)
    }
  }

  @Test("a cancelled sleep on the manual clock ends at once") func cancellation() async {
    let clock = ManualMonotonicClock()
    await withThrowingTaskGroup { group in
      group.addTask { try await clock.sleep(for: .seconds(1)) }
      await clock.waitForSleepers()
      group.cancelAll()
      await #expect(throws: CancellationError.self) { try await group.next() }
    }
    #expect(clock.timeToNextSleeper == nil)
  }
}
