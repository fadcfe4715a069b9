/// One thread for work that blocks and must stay in order: a database connection, a file that is being
/// received. An actor that returns it as its `unownedExecutor` is confined to the thread, and the compiler
/// checks the confinement.
public final class BlockingThread: SerialExecutor, Sendable {
  private let pool: BlockingPool

  /// `name` is what `top -H` shows: its first 15 bytes. The thread starts with the first work and ends with
  /// this object.
  public init(name: String) {
    pool = BlockingPool(name: name, threads: 1)
  }

  /// Runs `body` after everything that was asked before; to its end even when the task is cancelled
  /// meanwhile.
  public func run<Value: Sendable, Failure: Error>(
    _ body: @escaping @Sendable () throws(Failure) -> Value
  ) async throws(Failure) -> Value {
    try await pool.run(body)
  }

  /// Runs `body` like ``run(_:)`` and blocks the caller until it has run: for threads of our own. Traps when
  /// called on this thread itself.
  public func runAndWait<Value: Sendable, Failure: Error>(
    _ body: @escaping @Sendable () throws(Failure) -> Value
  ) throws(Failure) -> Value {
    try pool.runAndWait(body)
  }

  /// Whether the caller runs on this thread.
  public var isCurrent: Bool { pool.isCurrent }

  /// Runs an actor's job on the thread; for the runtime.
  public func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    pool.enqueue { [self] in unsafe job.runSynchronously(on: asUnownedSerialExecutor()) }
  }

  /// Traps unless the caller runs on this thread; for the runtime.
  public func checkIsolated() {
    precondition(isCurrent, "not on the thread that this work is confined to")
  }
}
