import Dispatch
import Glibc
import PullboxTesting
import Synchronization
import SystemCalls
import Testing

@Suite struct BlockingPoolTests {
  private struct Refusal: Error, Equatable {}

  @Test("the body's value comes back") func value() async {
    #expect(await BlockingPool(name: "test", threads: 2).run { 6 * 7 } == 42)
  }

  @Test("the body's error comes back with its type") func error() async {
    let pool = BlockingPool(name: "test", threads: 1)
    await #expect(throws: Refusal()) {
      try await pool.run { () throws(Refusal) in throw Refusal() }
    }
  }

  @Test("as many bodies block at once as there are threads") func concurrency() async {
    let pool = BlockingPool(name: "test", threads: 3)
    let arrived = DispatchSemaphore(value: 0)
    let leave = DispatchSemaphore(value: 0)
    await withTaskGroup { group in
      for _ in 0..<3 {
        group.addTask {
          await pool.run {
            arrived.signal()
            leave.wait()
          }
        }
      }
      // Only if all three stand in their bodies together does this end.
      await BlockingThread(name: "test").run {
        for _ in 0..<3 { arrived.wait() }
        for _ in 0..<3 { leave.signal() }
      }
    }
  }

  @Test("never more bodies at once than there are threads, and none is lost") func bound() async {
    let pool = BlockingPool(name: "test", threads: 2)
    let counts = Counts()
    await withTaskGroup { group in
      for _ in 0..<500 {
        group.addTask { await pool.run { counts.enterAndLeave() } }
      }
    }
    #expect(counts.value.done == 500)
    #expect(counts.value.most <= 2)
  }

  @Test("a thread of our own may wait for a body") func runAndWait() async throws {
    let thread = BlockingThread(name: "test")
    let pool = BlockingPool(name: "test", threads: 1)
    #expect(await pool.run { thread.runAndWait { thread.isCurrent } })
  }

  @Test("work that was begun runs beside its caller, and its result can be asked for again") func start()
    async
  {
    let thread = BlockingThread(name: "test")
    let pool = BlockingPool(name: "test", threads: 1)
    let gate = DispatchSemaphore(value: 0)
    await thread.run {
      let pending = pool.start { () throws(Never) -> Int in
        gate.wait()
        return 42
      }
      // Were the caller held up, the gate would stay closed.
      gate.signal()
      #expect(pending.get() == 42)
      #expect(pending.get() == 42)
    }
  }

  @Test("the error of work that was begun comes with its result") func startThrows() async {
    let pool = BlockingPool(name: "test", threads: 1)
    await BlockingThread(name: "test").run { () -> Void in
      let pending = pool.start { () throws(Refusal) in throw Refusal() }
      #expect(throws: Refusal()) { try pending.get() }
    }
  }

  @Test(
    "where the system refuses a further thread, those that there are do its work",
    .enabled(if: !Sanitizer.isUsed, "a sanitizer asks for memory of its own for each thread"))
  func refusedThread() async {
    // The limit holds for a process: one that no other test runs in.
    await #expect(processExitsWith: .success) {
      let pool = BlockingPool(name: "test", threads: 2)
      let (gate, hasBegun) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
      await BlockingThread(name: "test").run {
        let first = pool.start { () throws(Never) -> pthread_t in
          hasBegun.signal()
          gate.wait()
          return pthread_self()
        }
        hasBegun.wait()
        var before = rlimit()
        unsafe getrlimit(__rlimit_resource_t(RLIMIT_AS.rawValue), &before)
        // No room is left for another stack.
        var tight = before
        tight.rlim_cur = 1 << 20
        unsafe setrlimit(__rlimit_resource_t(RLIMIT_AS.rawValue), &tight)
        let second = pool.start { () throws(Never) -> pthread_t in pthread_self() }
        unsafe setrlimit(__rlimit_resource_t(RLIMIT_AS.rawValue), &before)
        gate.signal()
        #expect(first.get() == second.get())
      }
    }
  }

  private final class Counts: Sendable {
    private let state = Mutex((now: 0, most: 0, done: 0))
    var value: (now: Int, most: Int, done: Int) { state.withLock { $0 } }

    func enterAndLeave() {
      state.withLock {
        $0.now += 1
        $0.most = max($0.most, $0.now)
      }
      state.withLock {
        $0.now -= 1
        $0.done += 1
      }
    }
  }
}
