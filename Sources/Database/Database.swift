public import CoreTypes
internal import Synchronization
public import SystemCalls

/// Records that several connections work on, each on a thread of its own: reads run side by side and never wait for writes. The
/// usual engine is a file of SQLite, whose writes run one after the other; `PostgreSQLEngine` has the other one.
///
/// Opening it brings the schema up to date by its ``Migration``s. All access goes through ``read(waiting:_:)`` and
/// ``write(locking:waiting:committing:_:then:)``, each one transaction; their bodies get a ``Connection``, run statements on it
/// and answer values made of ``Row``s. Writes that wait at the same time share one commit, so that many of them
/// cost one wait for the disk. In a file WAL mode, foreign keys and SQLite's defensive options are always on.
///
///     let database = try Database.open(
///       path: "/var/lib/pullbox-server/server.db",
///       migrations: [Migration("books", script: "CREATE TABLE books (title TEXT PRIMARY KEY) STRICT")])
///     try await database.write(locking: [.everything]) { connection in
///       try connection.execute("INSERT INTO books VALUES (?)", [.text("Kirby")])
///     }
///     let titles = try await database.read { connection in
///       try connection.query("SELECT title FROM books").map { try $0.text("title") }
///     }
public final class Database: Sendable {
  /// How long a body waits for its turn.
  public enum Waiting: Sendable {
    /// At most ``Options/longestWait``: for work that a client waits for.
    case limited
    /// Without an end: for work in the background, which nothing else makes up for.
    case unlimited
  }

  /// When the commit of a write begins.
  public enum Commit: Sendable {
    /// The commit begins as soon as the writer is free.
    case atOnce
    /// The commit begins with the next write that wants one at once, or when ``Options/gathering`` has
    /// passed: a commit costs much, and a further write in it little. For work behind which nothing waits but
    /// an answer.
    case withOthers
    /// The commit begins as soon as the writer is free, with no other write: for a write with very many rows.
    /// Neither its own failure nor another's makes it run again, which would take as long once more.
    case alone
  }

  let engine: any DatabaseEngine
  private let longestWait: Duration?

  /// Creates a database on an engine that runs. `longestWait` is how long a body waits for its turn before it is refused as `overloaded`.
  package init(engine: any DatabaseEngine, longestWait: Duration?) {
    self.engine = engine
    self.longestWait = longestWait
  }

  deinit {
    engine.abandon()
  }

  /// Opens or creates the file, readable by its owner alone, and brings its schema up to date; on a full disk with
  /// the room that an earlier opening reserved (``Options/reserve``). Blocks: at start-up, not on the cooperative pool. Throws ``DatabaseError``, `SystemError` when the file cannot be
  /// made, or what a migration throws.
  public static func open(
    path: String, migrations: [Migration], options: Options = Options()
  ) throws -> Database {
    Database(
      engine: try FileEngine.open(path: path, migrations: migrations, options: options),
      longestWait: options.longestWait)
  }

  /// One transaction, committed when `body` returns, rolled back when it throws. `locks` names what the body's
  /// decision rests on (``DatabaseLock``); none where it decides nothing, or each of its statements decides by itself. The body
  /// may run again, and has no effect outside the connection: what is to follow from it is in its value, and done by the caller or,
  /// where the order matters, by `effect`.
  ///
  /// It answers once the transaction is as durable as ``Options/durability`` says. Bodies that wait at the same
  /// time share a commit; one that throws takes none of the others with it, a commit that fails is the error of
  /// all of them. `effect` gets the value after the commit and before the answer, on the writer's thread: the
  /// effects of all writes happen one after the other, in the order of their commits. It is short, and never
  /// waits.
  ///
  /// Throws what `body` throws or ``DatabaseError``: `overloaded` when it was not begun in time. A task that is
  /// cancelled while its body waits takes it back and throws `CancellationError`; one that was cancelled before is
  /// served all the same.
  @discardableResult
  public func write<Value: Sendable>(
    locking locks: [DatabaseLock], waiting: Waiting = .limited, committing commit: Commit = .atOnce,
    _ body: @escaping @Sendable (borrowing Connection) throws -> Value,
    then effect: (@Sendable (Value) -> Void)? = nil
  ) async throws -> Value {
    let value = BodyValue<Value>()
    var follow: (@Sendable () -> Void)?
    if let effect { follow = { effect(value.get()) } }
    let called = CalledBody(
      locks: locks, waitingAtMost: wait(waiting), joinsOthers: commit == .withOthers,
      isAlone: commit == .alone, then: follow
    ) { connection in value.set(try body(connection)) }
    try await called.end(in: engine.writes)
    return value.get()
  }

  /// `body` sees one state of the database, with everything that was written before the call; a statement that
  /// writes throws ``DatabaseError`` `readOnly`. Throws and ends as ``write(locking:waiting:committing:_:then:)`` does.
  public func read<Value: Sendable>(
    waiting: Waiting = .limited,
    _ body: @escaping @Sendable (borrowing Connection) throws -> Value
  ) async throws -> Value {
    let value = BodyValue<Value>()
    let called = CalledBody(waitingAtMost: wait(waiting)) { connection in
      value.set(try body(connection))
    }
    try await called.end(in: engine.reads)
    return value.get()
  }

  /// Does what ``write(locking:waiting:committing:_:then:)`` does and blocks the caller, however long it takes: for threads of
  /// our own, never on the cooperative pool. Traps in the body of a write.
  @discardableResult
  public func writeBlocking<Value: Sendable>(
    locking locks: [DatabaseLock],
    _ body: @escaping @Sendable (borrowing Connection) throws -> Value
  ) throws -> Value {
    precondition(!engine.isWriting, "a write would wait for itself")
    let value = BodyValue<Value>()
    try CalledBody(locks: locks, waitingAtMost: nil) { connection in value.set(try body(connection)) }
      .endBlocking(in: engine.writes)
    return value.get()
  }

  /// Does what ``read(waiting:_:)`` does and blocks the caller, however long it takes: for threads of our own, never
  /// on the cooperative pool. Traps in the body of a read.
  public func readBlocking<Value: Sendable>(
    _ body: @escaping @Sendable (borrowing Connection) throws -> Value
  ) throws -> Value {
    precondition(!engine.isReading, "a read would wait for itself")
    let value = BodyValue<Value>()
    try CalledBody(waitingAtMost: nil) { connection in value.set(try body(connection)) }
      .endBlocking(in: engine.reads)
    return value.get()
  }

  /// Lets SQLite gather statistics, which it needs to choose between indexes. It reads at most 400 entries of each
  /// index. To be called now and then, and before ``close()``: never at the opening of a new file, when there is
  /// nothing to count. Throws ``DatabaseError``.
  public func optimize() async throws { try await engine.optimize() }

  /// Why the last write that had something to write was not written, nil if it was: the disk is full, it fails,
  /// or the file is damaged or may not be written.
  public var lastWriteFailure: DatabaseError? { engine.lastWriteFailure }

  /// For a probe of readiness: reads, and writes where there is doubt that anything can be written: the last write
  /// was not, or hardly any room is left. Throws ``DatabaseError``.
  public func check() async throws {
    let isTight = try await read { [file = engine.file] connection in
      _ = try connection.first("SELECT 1")
      return file?.isTight ?? false
    }
    if isTight || lastWriteFailure != nil { try await checkWritable() }
  }

  /// Writes something that changes nothing, and throws ``DatabaseError`` where nothing can be written.
  public func checkWritable() async throws { try await engine.checkWritable() }

  /// Whether the commit of a write that threw `outcomeUnknown` happened after all; from then on it can no longer. Nil where that is not known
  /// any more, a week later. May be asked again. Throws ``DatabaseError`` where no server can be asked now.
  package func hasHappened(_ commit: CommitReference) async throws -> Bool? {
    try await engine.hasHappened(commit)
  }

  /// How many bodies wait for their turn.
  public var waiting: (reads: Int, writes: Int) { (engine.reads.count, engine.writes.count) }

  /// Returns the numbers that monitoring shows of the database. Blocks, and waits for no body. Throws
  /// `SystemError` where the file cannot be looked at.
  public func statistics() throws(SystemError) -> DatabaseStatistics {
    DatabaseStatistics(
      file: try engine.file?.lengths(), reads: engine.reads.statistics, writes: engine.writes.statistics,
      isWriteFailing: lastWriteFailure != nil)
  }

  /// Closes the database after what was asked before; every later call throws `closed`. Blocks until done. A
  /// database that is let go without it is closed too, later.
  public func close() { engine.close() }

  private func wait(_ waiting: Waiting) -> Duration? {
    switch waiting {
    case .limited: longestWait
    case .unlimited: nil
    }
  }
}

/// The numbers that monitoring shows of a database.
public struct DatabaseStatistics: Hashable, Sendable {
  /// Bodies that wait for their turn, and those that have waited.
  public struct Queue: Hashable, Sendable {
    /// Bodies that wait now.
    public let waiting: Int
    /// How long bodies waited, refused ones included, since the opening.
    public let waits: DurationHistogram
  }

  /// The lengths of a file and its log.
  public struct File: Hashable, Sendable {
    /// The file's.
    public let length: ByteCount
    /// The write-ahead log's, the room that it keeps for later included.
    public let logLength: ByteCount
  }

  /// The file; nil where the database is none.
  public let file: File?
  /// Bodies that read.
  public let reads: Queue
  /// Bodies that write.
  public let writes: Queue
  /// Whether the last write that had something to write was not written.
  public let isWriteFailing: Bool
}
