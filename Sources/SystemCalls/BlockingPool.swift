internal import CLinux
import CoreTypes
internal import Dispatch
internal import Glibc
internal import Synchronization

/// A bounded number of threads for calls that block (fsync, a large read, name resolution), so that none of
/// them ever stands on the cooperative pool. Threads start when they are first needed and end with the pool.
public final class BlockingPool: Sendable {
  /// For work that is short and independent. Whatever may wait for long, or must stay in order, brings a
  /// ``BlockingThread`` of its own.
  public static let shared = BlockingPool(name: "pullbox-block", threads: 8)
  /// For work that computes and never waits, so that it runs beside a thread that does: one thread a
  /// processor, at least two.
  public static let computing = BlockingPool(computing: "pullbox-compute")

  /// How many bodies run at once, at most.
  public let threads: Int
  private let workers: Workers

  /// `name` is what `top -H` shows of each thread: its first 15 bytes.
  public init(name: String, threads: Int) {
    precondition(threads > 0)
    self.threads = threads
    workers = Workers(name: name, limit: threads)
  }

  /// A pool for work that computes and never waits: one thread a processor, at least two.
  public convenience init(computing name: String) {
    self.init(name: name, threads: max(2, Int(sysconf(Int32(_SC_NPROCESSORS_ONLN)))))
  }

  deinit {
    workers.stop()
  }

  /// Runs `body` on one of the threads. It runs to its end even when the task is cancelled meanwhile.
  public func run<Value: Sendable, Failure: Error>(
    _ body: @escaping @Sendable () throws(Failure) -> Value
  ) async throws(Failure) -> Value {
    let result = await withCheckedContinuation { continuation in
      enqueue { continuation.resume(returning: Result(catching: body)) }
    }
    return try result.get()
  }

  /// Runs `body` like ``run(_:)`` and blocks the caller until it has run: for threads of our own. Must not be
  /// called from the cooperative pool; traps when called from one of this pool's threads, which could wait
  /// for itself.
  public func runAndWait<Value: Sendable, Failure: Error>(
    _ body: @escaping @Sendable () throws(Failure) -> Value
  ) throws(Failure) -> Value {
    precondition(!isCurrent, "a thread of the pool would wait for the pool")
    return try start(body).get()
  }

  /// Begins `body` on one of the threads, while the caller goes on with something else.
  public func start<Value: Sendable, Failure: Error>(
    _ body: @escaping @Sendable () throws(Failure) -> Value
  ) -> PendingResult<Value, Failure> {
    let pending = PendingResult<Value, Failure>()
    enqueue { pending.set(Result(catching: body)) }
    return pending
  }

  /// Whether the caller runs on one of this pool's threads.
  public var isCurrent: Bool { workers.includeCurrentThread }

  package func enqueue(_ job: @escaping @Sendable () -> Void) {
    workers.enqueue(job)
  }
}

/// The state that the threads share. It outlives the pool until the jobs that were waiting are done.
private final class Workers: Sendable {
  private struct State {
    var waiting = JobQueue()
    var threads: [pthread_t] = []
    var idle = 0
    var isStopped = false
  }

  private let name: String
  private let limit: Int
  private let state = Mutex(State())
  /// Signalled once for every job, and once for every thread at the end.
  private let work = DispatchSemaphore(value: 0)

  init(name: String, limit: Int) {
    self.name = name
    self.limit = limit
  }

  var includeCurrentThread: Bool {
    let current = pthread_self()
    return state.locked { $0.threads.contains(current) }
  }

  func enqueue(_ job: @escaping @Sendable () -> Void) {
    state.locked { state in
      state.waiting.append(job)
      if state.waiting.count > state.idle, state.threads.count < limit { start(&state) }
    }
    work.signal()
  }

  func stop() {
    let count = state.locked { state in
      state.isStopped = true
      return state.threads.count
    }
    for _ in 0..<count { work.signal() }
  }

  private func start(_ state: inout State) {
    var thread = pthread_t()
    let context = unsafe Unmanaged.passRetained(self)
    let result = unsafe pthread_create(&thread, nil, workerMain, context.toOpaque())
    if result == 0 {
      state.threads.append(thread)
      state.idle += 1
      return
    }
    unsafe context.release()
    precondition(!state.threads.isEmpty, "the system refuses a first thread: error \(result)")
  }

  fileprivate func runJobs() {
    unsafe clinux_name_thread(name)
    while true {
      work.wait()
      let (job, isStopped) = state.locked { state in
        let job = state.waiting.takeFirst()
        if job != nil { state.idle -= 1 }
        return (job, state.isStopped)
      }
      if let job {
        job()
        state.locked { $0.idle += 1 }
      } else if isStopped {
        break
      }
    }
    let current = pthread_self()
    state.locked { state in state.threads.removeAll { $0 == current } }
    pthread_detach(current)
  }
}

private func workerMain(_ context: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
  guard let context = unsafe context else { return nil }
  let workers = unsafe Unmanaged<Workers>.fromOpaque(context).takeRetainedValue()
  blockSignals()
  workers.runJobs()
  return nil
}

/// Leaves signals to the thread that waits for them; the faults of this thread itself stay deliverable.
private func blockSignals() {
  var signals = sigset_t()
  unsafe sigfillset(&signals)
  for fault in [SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP, SIGABRT] { unsafe sigdelset(&signals, fault) }
  unsafe pthread_sigmask(SIG_SETMASK, &signals, nil)
}

/// First in, first out, without moving what waits at every step.
struct JobQueue {
  typealias Job = @Sendable () -> Void

  private var jobs: [Job?] = []
  private var first = 0

  var count: Int { jobs.count - first }

  mutating func append(_ job: @escaping Job) {
    jobs.append(job)
  }

  mutating func takeFirst() -> Job? {
    guard first < jobs.count else { return nil }
    let job = jobs[first]
    jobs[first] = nil
    first += 1
    if first == jobs.count {
      jobs.removeAll(keepingCapacity: true)
      first = 0
    } else if first > 64, first * 2 > jobs.count {
      jobs.removeFirst(first)
      first = 0
    }
    return job
  }
}

/// Work begun on a ``BlockingPool``. It runs whether or not its result is asked for.
public final class PendingResult<Value: Sendable, Failure: Error>: Sendable {
  private let result = Mutex<Result<Value, Failure>?>(nil)
  private let done = DispatchSemaphore(value: 0)

  init() {}

  func set(_ result: Result<Value, Failure>) {
    self.result.locked { $0 = result }
    done.signal()
  }

  /// Blocks the caller until the work has run: for threads of our own, never from the cooperative pool nor
  /// from a thread of the pool that the work was given to. Can be asked again.
  public func get() throws(Failure) -> Value {
    done.wait()
    done.signal()
    guard let result = result.locked({ $0 }) else { preconditionFailure("nothing was set") }
    return try result.get()
  }
}
