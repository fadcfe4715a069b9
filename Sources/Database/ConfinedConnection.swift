internal import SystemCalls

/// The connection and the thread that alone may touch it.
// Sendable because `handle` is reached through get() and set(_:) only, which trap on any other thread; after the last
// reference is gone, whichever thread that was on, nobody else can touch it.
final class ConfinedConnection: @unchecked Sendable {
  let thread: BlockingThread
  private var handle: ConnectionHandle?

  init(name: String) {
    thread = BlockingThread(name: name)
  }

  func get() throws(DatabaseError) -> ConnectionHandle {
    thread.checkIsolated()
    guard let handle else { throw DatabaseError(.closed, "the database is closed") }
    return handle
  }

  func set(_ handle: ConnectionHandle?) {
    thread.checkIsolated()
    self.handle = handle
  }
}
