import CoreTypes
import PullboxTesting
import Testing

@testable import PullboxKitTesting

@Suite("The time of a session", .timeLimit(.minutes(1)))
struct JumpingClockTests {
  @Test("a jump moves date and time alike, and wakes those whose time has come")
  func jump() async throws {
    let clock = JumpingClock()
    let (date, instant): (Timestamp, MonotonicInstant) = (clock.now(), clock.now())
    let isAwake = Locked(false)
    try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask {
        try await clock.sleep(for: .seconds(3600))
        isAwake.withLock { $0 = true }
      }
      // It may not sleep yet when the clock jumps first.
      while !isAwake.current {
        clock.advance(by: .seconds(3600))
        await Task.yield()
      }
      try await group.waitForAll()
    }
    let (later, after): (Timestamp, MonotonicInstant) = (clock.now(), clock.now())
    #expect(later - date >= .seconds(3600) && after - instant >= .seconds(3600))
  }

  @Test("a sleeper that is cancelled ends at once")
  func cancellation() async throws {
    let clock = JumpingClock()
    let sleeper = Task { try await clock.sleep(for: .seconds(3600)) }
    sleeper.cancel()
    await #expect(throws: CancellationError.self) { try await sleeper.value }
  }
}
