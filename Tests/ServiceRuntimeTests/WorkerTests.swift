import CoreTypes
import PullboxTesting
import Testing

@testable import ServiceRuntime

@Suite("Background workers")
struct WorkerTests {
  private struct Failure: Error {}

  private let clock = ManualMonotonicClock()
  /// The result that each pass is to lead to, the last again and again; nil fails.
  private let script: Locked<[Worker.Next?]> = Locked([.waitForWake])
  private let passes = Locked(0)
  private let failures = Locked(0)

  private func worker() -> Worker {
    Worker(clock: clock, backoff: Backoff(initial: .seconds(1), factor: 2, cap: .seconds(4), jitter: 0))
  }

  private func pass() throws -> Worker.Next {
    passes.withLock { $0 += 1 }
    let next = script.withLock { script in script.count > 1 ? script.removeFirst() : script[0] }
    guard let next else { throw Failure() }
    return next
  }

  /// Runs the worker while `body` watches it; returns when the cancelled worker has ended.
  private func running(_ worker: Worker, _ body: () async -> Void) async {
    await withTaskGroup { group in
      group.addTask { await worker.run({ try pass() }, onFailure: { _ in failures.withLock { $0 += 1 } }) }
      await body()
      group.cancelAll()
    }
  }

  private func waitForPasses(_ count: Int) async {
    while passes.withLock({ $0 }) < count { await Task.yield() }
  }

  @Test("the first pass comes at once, and full batches follow one another without a pause")
  func batches() async {
    script.withLock { $0 = [.again, .again, .pause(atMost: .seconds(60))] }
    await running(worker()) {
      await clock.waitForSleepers()
      #expect(passes.withLock { $0 } == 3)
      #expect(clock.timeToNextSleeper == .seconds(60))
    }
  }

  @Test("a pause ends on the monotonic clock")
  func pause() async {
    script.withLock { $0 = [.pause(atMost: .seconds(60))] }
    await running(worker()) {
      await clock.waitForSleepers()
      clock.advance(by: .seconds(60))
      await waitForPasses(2)
      await clock.waitForSleepers()
      #expect(passes.withLock { $0 } == 2)
    }
  }

  @Test("a wake ends a pause at once, and one without an end as well")
  func wakes() async {
    let worker = worker()
    script.withLock { $0 = [.pause(atMost: .seconds(60)), .waitForWake] }
    await running(worker) {
      await clock.waitForSleepers()
      worker.wake()
      await waitForPasses(2)
      worker.wake()
      await waitForPasses(3)
    }
    #expect(passes.withLock { $0 } == 3)
  }

  @Test("wakes that came before the next pass count as one")
  func coalesced() async {
    let worker = worker()
    script.withLock { $0 = [.pause(atMost: .seconds(60))] }
    for _ in 1...5 { worker.wake() }
    await running(worker) {
      // The first pass comes anyway; the wakes make one more.
      await waitForPasses(2)
      await clock.waitForSleepers()
    }
    #expect(passes.withLock { $0 } == 2)
  }

  @Test("failures in a row back off further and further, and a success starts anew")
  func backsOff() async {
    script.withLock { $0 = [nil, nil, nil, nil, .pause(atMost: .seconds(60)), nil] }
    await running(worker()) {
      for (index, seconds) in [1, 2, 4, 4, 60, 1].enumerated() {
        await waitForPasses(index + 1)
        await clock.waitForSleepers()
        #expect(clock.timeToNextSleeper == .seconds(seconds))
        clock.advance(by: .seconds(seconds))
      }
    }
    #expect(failures.withLock { $0 } >= 5)
  }

  @Test("a worker that is cancelled ends, and what its pass threw then is no failure")
  func cancelled() async {
    let worker = worker()
    let started = Event()
    await withTaskGroup { group in
      group.addTask {
        await worker.run(
          {
            started.happen()
            try await clock.sleep(for: .seconds(60))
            return .again
          }, onFailure: { _ in failures.withLock { $0 += 1 } })
      }
      await started.wait()
      group.cancelAll()
    }
    #expect(failures.withLock { $0 } == 0)
  }

  @Test("periodic work comes after its interval for the first time, and an interval after each end")
  func periodic() async {
    let worker = worker()
    await withTaskGroup { group in
      group.addTask {
        await worker.run(every: .seconds(10), { _ = try pass() }, onFailure: { _ in })
      }
      await clock.waitForSleepers()
      #expect(passes.withLock { $0 } == 0)
      for count in 1...3 {
        #expect(clock.timeToNextSleeper == .seconds(10))
        clock.advance(by: .seconds(10))
        await waitForPasses(count)
        await clock.waitForSleepers()
      }
      group.cancelAll()
    }
    #expect(passes.withLock { $0 } == 3)
  }
}
