import CoreTypes
internal import Synchronization
internal import SystemCalls

/// The connections that read: each runs one body at a time, whichever has waited longest.
final class Readers: Sendable {
  let queue: BodyQueue
  private let path: String
  private let options: Database.Options
  private let log: StatementLog
  private let threads: [ConnectionThread]
  private let loops = Mutex<[PendingResult<Void, Never>]>([])
  /// Counts the times that every connection was to be opened anew.
  private let round = Atomic<Int>(0)

  init(path: String, options: Database.Options, log: StatementLog) {
    self.path = path
    self.options = options
    self.log = log
    queue = BodyQueue(limit: options.queueLimit)
    threads = (1...options.readers).map { ConnectionThread(name: "sqlite-read-\($0)") }
  }

  var areCurrent: Bool { threads.contains { $0.isCurrent } }

  func open() throws {
    for thread in threads {
      try thread.open { [path, options, log] in try Self.connection(path, options, log) }
    }
  }

  func start() {
    for thread in threads {
      let loop = thread.start { [self] in work(on: thread) }
      loops.locked { $0.append(loop) }
    }
  }

  /// Waits until every body was served; the queue is closed.
  func join() {
    for loop in loops.locked({ $0 }) { loop.get() }
  }

  /// Every connection is opened anew before its next body.
  func renew() {
    round.add(1, ordering: .releasing)
  }

  private static func connection(
    _ path: String, _ options: Database.Options, _ log: StatementLog
  ) throws(DatabaseError) -> ConnectionHandle {
    let handle = try ConnectionHandle(path: path, log: log)
    try handle.prepare(options, cache: options.readerCache)
    try handle.forbidWriting()
    return handle
  }

  private func work(on thread: ConnectionThread) {
    guard var handle = thread.get() else { return }
    var seen = 0
    while let body = queue.take() {
      let current = round.load(ordering: .acquiring)
      if current != seen {
        seen = current
        // Without new statistics the old connection does as well.
        if let new = try? Self.connection(path, options, log) {
          thread.set(new)
          handle = new
        }
      }
      Self.serve(body, on: handle)
    }
  }

  private static func serve(_ body: QueuedBody, on handle: ConnectionHandle) {
    do {
      try handle.begin(.read)
      _ = body.run(on: Connection(handle, mayWrite: false))
      try handle.end(.commit)
      body.answer()
    } catch {
      handle.rollBack()
      body.answer(error)
    }
  }
}
