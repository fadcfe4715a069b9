internal import SystemCalls

/// A thread and the connection that it alone may touch.
// Sendable because `handle` is reached through get() and set(_:) only, which trap on any other thread; after
// the last reference is gone, whichever thread that was on, no other code can touch it.
final class ConnectionThread: @unchecked Sendable {
  private let pool: BlockingPool
  private var handle: ConnectionHandle?

  /// `name` is what `top -H` shows.
  init(name: String) {
    pool = BlockingPool(name: name, threads: 1)
  }

  var isCurrent: Bool { pool.isCurrent }

  func get() -> ConnectionHandle? {
    precondition(isCurrent, "not on the connection's thread")
    return handle
  }

  func set(_ handle: ConnectionHandle?) {
    precondition(isCurrent, "not on the connection's thread")
    self.handle = handle
  }

  /// Opens the connection on its thread; blocks the caller.
  func open(_ open: @escaping @Sendable () throws -> ConnectionHandle) throws {
    try pool.runAndWait { [self] in set(try open()) }
  }

  /// Begins `work` after what was begun before, unless the connection is closed by then.
  func run(_ work: @escaping @Sendable (ConnectionHandle) -> Void) {
    _ = pool.start { [self] in if let handle { work(handle) } }
  }

  /// Runs `work` after what was begun before; blocks the caller until then.
  func runAndWait(_ work: @escaping @Sendable () -> Void) {
    pool.runAndWait(work)
  }

  /// Closes the connection after what was begun; blocks the caller.
  func close() {
    pool.runAndWait { [self] in set(nil) }
  }

  /// Begins to work; the connection is closed when `work` returns.
  func start(_ work: @escaping @Sendable () -> Void) -> PendingResult<Void, Never> {
    pool.start { [self] in
      work()
      set(nil)
    }
  }
}
