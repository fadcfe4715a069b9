import CoreTypes
internal import Synchronization
internal import SystemCalls

/// The connection that writes. It takes what waits, runs the bodies one after the other in one transaction, commits once,
/// and answers all of them.
///
/// A savepoint would undo a body that fails after it has written something, and keeps a copy of each page that a body
/// changes; hardly a body fails so. Bodies run without one: where one fails so, all is undone and runs again, in savepoints,
/// as do the next ones for a while.
final class Writer: Sendable {
  /// Bodies that share a commit.
  private static let largestBatch = 512
  /// How long bodies are added to a batch.
  private static let longestBatch: Duration = .milliseconds(20)

  let queue: BodyQueue
  let failure = WriteFailure()
  let changes = ChangeCounts()
  private let path: String
  private let options: Database.Options
  private let log: StatementLog
  private let thread = ConnectionThread(name: "sqlite-write")
  private let checkpointer = Checkpointer()
  private let loop = Mutex<PendingResult<Void, Never>?>(nil)

  init(path: String, options: Database.Options, log: StatementLog) {
    self.path = path
    self.options = options
    self.log = log
    queue = BodyQueue(limit: options.queueLimit, gathering: options.gathering)
  }

  var isCurrent: Bool { thread.isCurrent }

  func open(_ migrations: [Migration]) throws {
    try thread.open { [path, options, log] in
      let handle = try ConnectionHandle(path: path, log: log, gathersLog: options.durability == .full)
      try handle.prepare(options, cache: options.cache)
      try handle.migrate(migrations)
      try handle.keepSavepointsInMemory()
      handle.watchLog()
      handle.lockObserver = options.lockObserver
      return handle
    }
    try checkpointer.open { [path, options, log] in
      let handle = try ConnectionHandle(path: path, log: log)
      try handle.prepare(options, cache: options.readerCache)
      return handle
    }
  }

  func start() {
    loop.locked { $0 = thread.start { [self] in work() } }
  }

  /// Waits until every body was served; the queue is closed.
  func join() {
    loop.locked { $0 }?.get()
  }

  private func work() {
    guard let handle = thread.get() else { return }
    var schedule = CheckpointSchedule(every: options.log)
    var guardedBodies = 0
    while let body = queue.take() {
      serve(body, on: handle, guarding: &guardedBodies)
      guard let pages = handle.pagesAfterCommit else { continue }
      switch schedule.decide(pages: pages, moved: checkpointer.moved) {
      case .none: break
      case .move: checkpointer.move()
      case .restart:
        checkpointer.wait()
        handle.restartLog()
      }
    }
    checkpointer.close()
  }

  /// Runs, commits and answers `first` and what waits behind it. `guarded` is how many of the next bodies run in
  /// savepoints.
  private func serve(_ first: QueuedBody, on handle: ConnectionHandle, guarding guarded: inout Int) {
    guard !first.isAlone else { return serveAlone(first, on: handle) }
    do {
      try handle.begin(.write)
    } catch {
      failure.note(error)
      return first.answer(error)
    }
    let end = ContinuousClock.now + Self.longestBatch
    var batch: [QueuedBody] = []
    var next: QueuedBody? = first
    while let body = next {
      guard add(body, to: &batch, on: handle, guarding: &guarded, rehearsing: options.rehearses(body)) else {
        // What was done before is undone as well.
        for body in batch { serveAlone(body, on: handle) }
        return
      }
      next = batch.count < Self.largestBatch && .now < end ? queue.takeIfWaiting() : nil
    }
    do {
      try commit(on: handle)
    } catch {
      handle.rollBack()
      failure.note(error)
      // A constraint that is checked at the end: the error of the body that broke it.
      guard error.code == .constraint, batch.count > 1 else { return batch.forEach { $0.answer(error) } }
      for body in batch { serveAlone(body, on: handle) }
      return
    }
    for body in batch { body.applyEffect() }
    for body in batch { body.answer() }
  }

  private func commit(on handle: ConnectionHandle) throws(DatabaseError) {
    // Where the commit fails as well: a change that was none costs a look.
    defer { changes.add(handle.takeChanged()) }
    try handle.end(.commit)
    if handle.pagesAfterCommit != nil { failure.clear() }
  }

  /// Runs the body in the transaction that is open, and puts it in the batch. False when an error has ended the
  /// transaction, of which the body has been told; `batch` then has those that are to be served alone.
  private func add(
    _ body: QueuedBody, to batch: inout [QueuedBody], on handle: ConnectionHandle,
    guarding guarded: inout Int, rehearsing: Bool
  ) -> Bool {
    do {
      guard rehearsing || guarded > 0 else {
        batch.append(body)
        if try runUnguarded(body, on: handle) { return true }
        guarded = Self.largestBatch
        return runAgain(&batch, on: handle, guarding: &guarded)
      }
      guarded = max(0, guarded - 1)
      var rehearsal: Run?
      if rehearsing {
        rehearsal = try run(body, on: handle, undoing: true)
        if options.rehearsal == .interleaved, let other = queue.takeIfWaiting() {
          rehearsal = nil
          guard add(other, to: &batch, on: handle, guarding: &guarded, rehearsing: false) else {
            batch.append(body)
            return false
          }
        }
      }
      let performance = try run(body, on: handle, undoing: false)
      if let rehearsal {
        precondition(performance.agrees(with: rehearsal), "a body ran twice: \(rehearsal), \(performance)")
      }
      batch.append(body)
      return true
    } catch {
      handle.rollBack()
      failure.note(error)
      batch.removeAll { $0 === body }
      body.answer(error)
      return false
    }
  }

  /// False when the body failed and something of it is written. Throws when there is no transaction any more.
  private func runUnguarded(_ body: QueuedBody, on handle: ConnectionHandle) throws -> Bool {
    let before = handle.writes
    guard let error = perform(body, on: handle) else { return true }
    guard handle.isInTransaction else { throw error }
    failure.note(error)
    return handle.writes == before
  }

  /// Undoes what the batch has written and runs it again, each body in a savepoint. False as ``add`` says.
  private func runAgain(
    _ batch: inout [QueuedBody], on handle: ConnectionHandle, guarding guarded: inout Int
  ) -> Bool {
    handle.rollBack()
    let bodies = batch
    batch = []
    do {
      try handle.begin(.write)
    } catch {
      failure.note(error)
      for body in bodies { body.answer(error) }
      return false
    }
    for (index, body) in bodies.enumerated() {
      guard add(body, to: &batch, on: handle, guarding: &guarded, rehearsing: false) else {
        batch += bodies[(index + 1)...]
        return false
      }
    }
    return true
  }

  private struct Run {
    var error: (any Error)?
    var changes: Int

    /// Whether the body came to the same end. A disk may fail at one time and not at another.
    func agrees(with other: Run) -> Bool {
      if let storage = (error ?? other.error) as? DatabaseError, storage.isOfStorage { return true }
      return (error == nil) == (other.error == nil) && changes == other.changes
    }
  }

  /// Throws when there is no transaction any more, or no way back to where it began.
  private func run(_ body: QueuedBody, on handle: ConnectionHandle, undoing: Bool) throws -> Run {
    try handle.beginSavepoint()
    let before = handle.totalChanges
    let error = perform(body, on: handle)
    let changes = handle.totalChanges - before
    guard handle.isInTransaction else {
      throw error ?? DatabaseError(.other, "SQLite rolled the transaction back")
    }
    try handle.endSavepoint(undoing: undoing || error != nil)
    if let error { failure.note(error) }
    return Run(error: error, changes: changes)
  }

  /// Runs the body in the transaction that is open; answers what it threw.
  private func perform(_ body: QueuedBody, on handle: ConnectionHandle) -> (any Error)? {
    if let observer = handle.lockObserver { DatabaseLock.plan(body.locks).forEach(observer) }
    return body.run(on: Connection(handle, mayWrite: true))
  }

  /// Runs, commits and answers the body in a transaction of its own.
  private func serveAlone(_ body: QueuedBody, on handle: ConnectionHandle) {
    do {
      try handle.begin(.write)
      if let error = perform(body, on: handle) { throw error }
      try commit(on: handle)
    } catch {
      handle.rollBack()
      failure.note(error)
      return body.answer(error)
    }
    body.applyEffect()
    body.answer()
  }
}

/// Why the last write was not written, if it was not.
final class WriteFailure: Sendable {
  private let isSet = Atomic<Bool>(false)
  private let error = Mutex<DatabaseError?>(nil)

  var value: DatabaseError? { error.locked { $0 } }

  /// Keeps what says something of the disk or the file.
  func note(_ error: any Error) {
    guard let error = error as? DatabaseError, error.isOfStorage else { return }
    self.error.locked { $0 = error }
    isSet.store(true, ordering: .relaxed)
  }

  func clear() {
    guard isSet.load(ordering: .relaxed) else { return }
    isSet.store(false, ordering: .relaxed)
    error.locked { $0 = nil }
  }
}
