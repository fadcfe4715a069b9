import CoreTypes
import PullboxTesting
import ServiceRuntime
import Testing

@Suite("A signal that wakes one task", .timeLimit(.minutes(1)))
struct AsyncSignalTests {
  private let clock = ManualMonotonicClock()
  private let signal = AsyncSignal()

  @Test("it wakes the waiting task before its time is over")
  func wakes() async {
    let start = clock.now()
    async let wait = signal.wait(atMost: .seconds(60), clock: clock)
    await clock.waitForSleepers()
    signal.signal()
    let tookSignal = await wait
    #expect(tookSignal && clock.now() == start)
    #expect(clock.timeToNextSleeper == nil)
  }

  @Test("without a waiting task any number of signals is kept as one")
  func kept() async {
    signal.signal()
    signal.signal()
    await signal.wait(atMost: nil, clock: clock)
    // Nothing is left: only time ends this one.
    async let wait = signal.wait(atMost: .seconds(5), clock: clock)
    await clock.waitForSleepers()
    clock.advance(by: .seconds(5))
    let tookSignal = await wait
    #expect(!tookSignal)
  }

  @Test("a wait ends when its time is over, and when its task is cancelled")
  func ends() async {
    async let wait = signal.wait(atMost: .seconds(5), clock: clock)
    await clock.waitForSleepers()
    clock.advance(by: .seconds(5))
    let tookSignal = await wait
    #expect(!tookSignal)
    await withTaskGroup(of: Void.self) { group in
      group.addTask { [signal, clock] in await signal.wait(atMost: nil, clock: clock) }
      group.cancelAll()
    }
  }
}
