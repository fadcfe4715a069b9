import CoreTypes
import PullboxTesting
import Testing

@testable import AgentRecords

@Suite("What proves that a loop turns")
struct LoopPulseTests {
  private let clock = ManualMonotonicClock()

  @Test("a new turn proves it, an old one does not")
  func turns() {
    let pulse = LoopPulse(clock: clock, longestTurn: .seconds(10))
    #expect(!pulse.isProven(since: 0))
    pulse.turnBegan()
    pulse.turnEnded()
    #expect(pulse.isProven(since: 0))
    #expect(!pulse.isProven(since: 1))
  }

  @Test("a turn at work proves it for as long as a turn may last")
  func work() {
    let pulse = LoopPulse(clock: clock, longestTurn: .seconds(10))
    pulse.turnBegan()
    clock.advance(by: .seconds(9))
    #expect(pulse.isProven(since: 1))
    clock.advance(by: .seconds(1))
    #expect(!pulse.isProven(since: 1) && !pulse.isProven(since: 0))
  }

  @Test("the proof wakes the loop and waits for its turn; without one it ends with its task only (R2)")
  func prove() async {
    let pulse = LoopPulse(clock: clock, longestTurn: .seconds(10))
    await pulse.prove {
      pulse.turnBegan()
      pulse.turnEnded()
    }
    let dead = Task { [clock] in
      await LoopPulse(clock: clock, longestTurn: .seconds(10)).prove {}
      return Task.isCancelled
    }
    await clock.waitForSleepers(1)
    clock.advance(by: .seconds(3600))
    await clock.waitForSleepers(1)
    dead.cancel()
    #expect(await dead.value)
  }
}
