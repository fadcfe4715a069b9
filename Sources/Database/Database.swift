internal import SystemCalls

/// One SQLite file with one connection, which lives on a thread of its own: reads and writes happen one after
/// the other.
///
/// Opening it brings the schema up to date by its ``Migration``s. All access goes through ``read(_:)`` and
/// ``write(locking:_:)``, each one transaction; their bodies get a ``Connection``, run statements on it and answer
/// values made of ``Row``s. WAL mode, foreign keys and SQLite's defensive options are always on.
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
  /// How a database is opened.
  public struct Options: Sendable {
    /// What a power cut may take away: SQLite's `synchronous`.
    public enum Durability: String, Sendable {
      /// A committed transaction survives a power cut.
      case full = "FULL"
      /// A power cut may take the last transactions away; the database stays whole.
      case normal = "NORMAL"
    }

    /// What a power cut may take away.
    public var durability: Durability
    /// How long to wait for another process that holds the lock.
    public var busyTimeout: Duration

    /// The defaults: nothing committed is lost, and a lock is waited for 5 seconds.
    public init(durability: Durability = .full, busyTimeout: Duration = .seconds(5)) {
      self.durability = durability
      self.busyTimeout = busyTimeout
    }
  }

  private let thread: BlockingThread
  private let connection: ConfinedConnection

  private init(_ connection: ConfinedConnection) {
    self.connection = connection
    thread = connection.thread
  }

  /// Opens or creates the file, readable by its owner alone, and brings its schema up to date. Blocks: at
  /// start-up, not on the cooperative pool. Throws ``DatabaseError``, `SystemError` when the file cannot be
  /// made, or what a migration throws.
  public static func open(
    path: String, migrations: [Migration], options: Options = Options()
  ) throws -> Database {
    // SQLite would make it readable by every user; its companions take its permissions.
    _ = try FileDescriptor.open(path, .readWrite, options: .create, permissions: 0o600)
    let connection = ConfinedConnection(name: "sqlite")
    try connection.thread.runAndWait {
      let handle = try ConnectionHandle(path: path)
      try handle.prepare(options)
      try handle.migrate(migrations)
      connection.set(handle)
    }
    return Database(connection)
  }

  /// One transaction, committed when `body` returns, rolled back when it throws. `locks` names what the body's
  /// decision rests on; none where it decides nothing. The body may run again, and has no effect outside the
  /// connection: what is to follow from it is in its value. Throws what `body` throws or ``DatabaseError``.
  @discardableResult
  public func write<Value: Sendable>(
    locking locks: [DatabaseLock], _ body: @escaping @Sendable (borrowing Connection) throws -> Value
  ) async throws -> Value {
    try await thread.run { [connection] in try connection.get().transaction(.write, body) }
  }

  /// `body` sees one state of the database; a statement that writes throws ``DatabaseError`` `readOnly`.
  /// Throws what `body` throws or ``DatabaseError``.
  public func read<Value: Sendable>(
    _ body: @escaping @Sendable (borrowing Connection) throws -> Value
  ) async throws -> Value {
    try await thread.run { [connection] in try connection.get().transaction(.read, body) }
  }

  /// Does what ``write(locking:_:)`` does and blocks the caller: for threads of our own, never on the cooperative
  /// pool.
  @discardableResult
  public func writeBlocking<Value: Sendable>(
    locking locks: [DatabaseLock], _ body: @escaping @Sendable (borrowing Connection) throws -> Value
  ) throws -> Value {
    try thread.runAndWait { [connection] in try connection.get().transaction(.write, body) }
  }

  /// Does what ``read(_:)`` does and blocks the caller: for threads of our own, never on the cooperative
  /// pool.
  public func readBlocking<Value: Sendable>(
    _ body: @escaping @Sendable (borrowing Connection) throws -> Value
  ) throws -> Value {
    try thread.runAndWait { [connection] in try connection.get().transaction(.read, body) }
  }

  /// Lets SQLite gather statistics, which it needs to choose between indexes, of the tables where it had to
  /// choose since the database was opened. It reads at most 400 entries of each index. To be called now and
  /// then, and before ``close()``: never at the opening, when nothing has been asked yet. Throws
  /// ``DatabaseError``.
  public func optimize() async throws {
    try await thread.run { [connection] in
      // Not kept as a prepared statement: what is to be done is decided when it is prepared. 0x10000 asks later
      // versions of SQLite for the tables that were not asked about as well.
      try connection.get().execute(script: "PRAGMA analysis_limit = 400; PRAGMA optimize = 0x10002")
    }
  }

  /// Closes the file after what was asked before; every later call throws `closed`. Blocks until done. A
  /// database that is let go without it is closed too, later.
  public func close() {
    thread.runAndWait { [connection] in connection.set(nil) }
  }
}
