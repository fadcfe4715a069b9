internal import CSQLite
internal import SystemCalls

/// Owns SQLite's connection and its prepared statements. Not Sendable: it lives on its database's thread.
@safe
final class ConnectionHandle {
  private let database: OpaquePointer
  private var cache = StatementCache(capacity: 128)

  /// SQLite creates the file when it is not there.
  init(path: String) throws(DatabaseError) {
    var opened: OpaquePointer?
    // Confined to one thread, so SQLite's own lock is not needed.
    let flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE
    let result = unsafe sqlite3_open_v2(path, &opened, flags, nil)
    guard let opened = unsafe opened else {
      throw DatabaseError(.cannotOpen, "no memory for \(path)")
    }
    unsafe database = opened
    guard result == SQLITE_OK else { throw unsafe .last(of: opened, result: result, sql: "") }
  }

  deinit {
    cache.removeAll()
    let result = unsafe sqlite3_close(database)
    precondition(result == SQLITE_OK, "a statement outlives its connection")
  }

  func configure(busyTimeoutInMilliseconds: Int32) throws(DatabaseError) {
    try check(unsafe sqlite3_busy_timeout(database, busyTimeoutInMilliseconds))
    // A quoted name that is no column is an error rather than a string.
    try check(unsafe csqlite_set_option(database, SQLITE_DBCONFIG_DQS_DML, 0))
    try check(unsafe csqlite_set_option(database, SQLITE_DBCONFIG_DQS_DDL, 0))
    try check(unsafe csqlite_set_option(database, SQLITE_DBCONFIG_DEFENSIVE, 1))
    try check(unsafe csqlite_set_option(database, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0))
  }

  func statement(for sql: String) throws(DatabaseError) -> Statement {
    try cache.statement(for: sql) { sql throws(DatabaseError) in
      unsafe try Statement(sql, database: database)
    }
  }

  /// Any number of statements, without values.
  func execute(script: String) throws(DatabaseError) {
    let result = unsafe sqlite3_exec(database, script, nil, nil, nil)
    guard result == SQLITE_OK else { throw unsafe .last(of: database, result: result, sql: script) }
  }

  var isInTransaction: Bool { unsafe sqlite3_get_autocommit(database) == 0 }
  var totalChanges: Int { Int(unsafe sqlite3_total_changes64(database)) }
  var lastInsertedRowID: Int64 { unsafe sqlite3_last_insert_rowid(database) }
  var cachedStatementTexts: [String] { cache.texts }
  func takeSteps() -> [(sql: String, steps: Int)] { cache.takeSteps() }

  private func check(_ result: Int32) throws(DatabaseError) {
    guard result == SQLITE_OK else { throw unsafe .last(of: database, result: result, sql: "") }
  }
}

extension ConnectionHandle {
  /// What must be set on every opening: none of it but WAL is kept in the file.
  func prepare(_ options: Database.Options) throws(DatabaseError) {
    let timeout = options.busyTimeout.components
    let milliseconds = timeout.seconds * 1000 + timeout.attoseconds / 1_000_000_000_000_000
    try configure(busyTimeoutInMilliseconds: Int32(clamping: milliseconds))
    let connection = Connection(self, mayWrite: true)
    let journal = try connection.first("PRAGMA journal_mode = WAL")
    guard journal?.values == [.text("wal")] else {
      throw DatabaseError(.cannotOpen, "the file system does not allow a write-ahead log")
    }
    try connection.execute("PRAGMA synchronous = \(options.durability.rawValue)")
    try connection.execute("PRAGMA foreign_keys = ON")
    // The log keeps the size of its largest transaction otherwise.
    try connection.execute("PRAGMA journal_size_limit = 4194304")
  }
}

extension ConnectionHandle {
  enum TransactionKind: String {
    /// Sees one state of the database from its first statement to its last.
    case read = "BEGIN"
    /// Takes the write lock at once, so that it cannot fail half-way for want of it.
    case write = "BEGIN IMMEDIATE"
  }

  /// Commits when `body` returns; rolls back when it throws or the commit does.
  func transaction<Value>(
    _ kind: TransactionKind, _ body: (borrowing Connection) throws -> Value
  ) throws -> Value {
    try run(kind.rawValue)
    do {
      let value = try body(Connection(self, mayWrite: kind == .write))
      try run("COMMIT")
      return value
    } catch {
      // Some errors (a full disk, a failing one) have rolled back already. If this fails as well, the first
      // error is the one that explains, and the next BEGIN reports a transaction that is still open.
      if isInTransaction { try? run("ROLLBACK") }
      throw error
    }
  }

  private func run(_ sql: String) throws(DatabaseError) {
    try statement(for: sql).run([], { _ throws(DatabaseError) in }, orThrow: { $0 })
  }
}

/// The connection and the thread that alone may touch it.
// Sendable because `handle` is reached through get() and set(_:) only, which trap on any other thread; after
// the last reference is gone, whichever thread that was on, no other code can touch it.
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
