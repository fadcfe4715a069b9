import PullboxTesting
import ServiceRuntime
import Testing

@Suite("A time limit on a task")
struct TimeoutTests {
  private struct Expired: Error {}
  private struct Failed: Error {}

  private let clock = ManualMonotonicClock()

  @Test("a body that returns in time gives its value, and one that throws its error")
  func inTime() async throws {
    let value = try await withTimeout(.seconds(1), clock: clock) {
      7
    } expired: {
      Expired()
    }
    #expect(value == 7)
    await #expect(throws: Failed.self) {
      try await withTimeout(.seconds(1), clock: clock) {
        throw Failed()
      } expired: {
        Expired()
      }
    }
  }

  @Test("a body that takes longer is cancelled, and the caller gets the other error")
  func expires() async throws {
    let wasCancelled = Locked(false)
    async let result: Void = withTimeout(.seconds(5), clock: clock) {
      await Event().wait()
      wasCancelled.withLock { $0 = Task.isCancelled }
    } expired: {
      Expired()
    }
    await clock.waitForSleepers()
    clock.advance(by: .milliseconds(4999))
    #expect(!wasCancelled.current)
    clock.advance(by: .milliseconds(1))
    do {
      try await result
      Issue.record("the time limit has no effect")
    } catch {
      #expect(error is Expired)
    }
    #expect(wasCancelled.current)
  }

  @Test("without a duration there is no limit")
  func unlimited() async throws {
    let value = try await withTimeout(nil, clock: clock) {
      7
    } expired: {
      Expired()
    }
    #expect(value == 7)
    #expect(clock.timeToNextSleeper == nil)
  }
}
