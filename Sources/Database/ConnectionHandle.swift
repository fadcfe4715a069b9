internal import CSQLite
internal import CSQLiteLog
internal import CoreTypes
internal import SystemCalls

/// Owns SQLite's connection and its prepared statements. Not Sendable: it lives on its connection's thread.
@safe
final class ConnectionHandle {
  let log: StatementLog
  private let database: OpaquePointer
  private var cache = StatementCache(capacity: 128)
  /// Pages in the write-ahead log after the last commit that wrote any; -1 until there is one.
  private let pagesInLog: UnsafeMutablePointer<Int32>
  private var busyTimeout: Int32 = 0
  /// Statements that may write and that bodies have run, whatever came of them.
  private(set) var writes = 0
  private var changed: Set<ChangeTopic> = []
  /// For tests: ``Database/Options/lockObserver``.
  var lockObserver: (@Sendable (DatabaseLock) -> Void)?

  /// Done once, before the first connection; where another library was faster, SQLite works all the same.
  private static let isConfigured = csqlite_configure() == SQLITE_OK
  /// Nil, which stands for the usual one, where there is no memory for it.
  private static let gatheringFileSystem = unsafe csqlitelog_file_system().map { unsafe String(cString: $0) }

  /// SQLite creates the file when it is not there. `gathersLog`: what is written to the write-ahead log leaves with few system calls
  /// at the end of each commit. It is for the one connection that writes, and where each commit is synchronized: before that, other
  /// connections would not find what they are to see.
  init(path: String, log: StatementLog, gathersLog: Bool = false) throws(DatabaseError) {
    _ = Self.isConfigured
    var opened: OpaquePointer?
    // Confined to one thread, so SQLite's own lock is not needed.
    let flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE
    let result = unsafe sqlite3_open_v2(path, &opened, flags, gathersLog ? Self.gatheringFileSystem : nil)
    guard let opened = unsafe opened else {
      throw DatabaseError(.cannotOpen, "no memory for \(path)")
    }
    self.log = log
    unsafe database = opened
    unsafe pagesInLog = .allocate(capacity: 1)
    unsafe pagesInLog.initialize(to: -1)
    guard result == SQLITE_OK else { throw unsafe .last(of: opened, result: result, sql: "") }
  }

  deinit {
    cache.removeAll()
    let result = unsafe sqlite3_close(database)
    precondition(result == SQLITE_OK, "a statement outlives its connection")
    unsafe pagesInLog.deallocate()
  }

  func configure(busyTimeoutInMilliseconds: Int32) throws(DatabaseError) {
    busyTimeout = busyTimeoutInMilliseconds
    try check(unsafe sqlite3_busy_timeout(database, busyTimeoutInMilliseconds))
    // A quoted name that is no column is an error rather than a string.
    try check(unsafe csqlite_set_option(database, SQLITE_DBCONFIG_DQS_DML, 0))
    try check(unsafe csqlite_set_option(database, SQLITE_DBCONFIG_DQS_DDL, 0))
    try check(unsafe csqlite_set_option(database, SQLITE_DBCONFIG_DEFENSIVE, 1))
    try check(unsafe csqlite_set_option(database, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0))
  }

  /// From now on no trigger of the schema runs on this connection.
  func disableTriggers() throws(DatabaseError) {
    try check(unsafe csqlite_set_option(database, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0))
  }

  func statement(for sql: String) throws(DatabaseError) -> Statement {
    try cache.statement(for: sql) { sql throws(DatabaseError) in
      unsafe try Statement(sql, database: database, log: log.entry(for: sql))
    }
  }

  /// For one use, and without a trace.
  func uncachedStatement(for sql: String) throws(DatabaseError) -> Statement {
    unsafe try Statement(sql, database: database, log: nil)
  }

  /// Any number of statements, without values.
  func execute(script: String) throws(DatabaseError) {
    let result = unsafe sqlite3_exec(database, script, nil, nil, nil)
    guard result == SQLITE_OK else { throw unsafe .last(of: database, result: result, sql: script) }
  }

  func noteWrite() { writes += 1 }

  func noteChange(of topic: ChangeTopic) { changed.insert(topic) }

  /// Returns the topics that bodies have noted since the last call, those of undone bodies among them.
  func takeChanged() -> Set<ChangeTopic> {
    defer { changed = [] }
    return changed
  }

  var isInTransaction: Bool { unsafe sqlite3_get_autocommit(database) == 0 }
  /// Rows that changed since the connection was opened, those of triggers and cascades included.
  var totalChanges: Int { Int(unsafe sqlite3_total_changes64(database)) }
  /// Rows that the last INSERT, UPDATE or DELETE changed itself, without those of triggers and cascades. Another statement leaves it as it was.
  var directChanges: Int { Int(unsafe sqlite3_changes64(database)) }
  var lastInsertedRowID: Int64 { unsafe sqlite3_last_insert_rowid(database) }

  private func check(_ result: Int32) throws(DatabaseError) {
    guard result == SQLITE_OK else { throw unsafe .last(of: database, result: result, sql: "") }
  }
}

extension ConnectionHandle {
  /// SQLite's own, which no migration changes.
  static let pageLength: Int64 = 4096
  /// In milliseconds: writes wait meanwhile.
  private static let longestPauseForReaders: Int32 = 100

  /// Keeps in memory the pages that a savepoint may have to put back. SQLite would make a file for more than
  /// 64 KiB of them: a dozen changes to grants. To be called after the migrations, which may change
  /// everything.
  ///
  /// SQLITE_CONFIG_STMTJRNL_SPILL, which raises that limit, does not do: the file is then written in parts of the limit, and the
  /// Unix file system of SQLite 3.40 writes nothing of a part whose length is a multiple of 128 KiB.
  func keepSavepointsInMemory() throws(DatabaseError) {
    try execute(script: "PRAGMA temp_store = MEMORY")
  }

  /// Commits no longer end with a checkpoint, and ``pagesAfterCommit`` is known.
  func watchLog() {
    unsafe csqlite_watch_log(database, pagesInLog)
  }

  /// Pages in the log after the last commit; nil where that wrote nothing.
  var pagesAfterCommit: Int32? {
    let pages = unsafe pagesInLog.pointee
    return pages >= 0 ? pages : nil
  }

  /// Moves what stands in the log to its place in the file, as far as no reader needs what was there before; how many pages of
  /// the log are in their place then, none where that failed.
  func moveLog() -> Int32 {
    var (inLog, moved): (Int32, Int32) = (0, 0)
    let result = unsafe sqlite3_wal_checkpoint_v2(database, nil, SQLITE_CHECKPOINT_PASSIVE, &inLog, &moved)
    return result == SQLITE_OK ? max(0, moved) : 0
  }

  /// Moves what is left in the log and lets it begin anew, unless readers need its end for longer than a moment: then it goes on,
  /// and this is tried again when it has grown further.
  func restartLog() {
    _ = unsafe sqlite3_busy_timeout(database, Self.longestPauseForReaders)
    _ = unsafe sqlite3_wal_checkpoint_v2(database, nil, SQLITE_CHECKPOINT_RESTART, nil, nil)
    _ = unsafe sqlite3_busy_timeout(database, busyTimeout)
  }
}

extension ConnectionHandle {
  /// Puts one state of this database in place of all that `other` holds; writers go on meanwhile. With SQLite's online backup.
  func copy(to other: ConnectionHandle) throws(DatabaseError) {
    guard let backup = unsafe sqlite3_backup_init(other.database, "main", database, "main") else {
      throw unsafe .last(of: other.database, result: sqlite3_errcode(other.database), sql: "")
    }
    // In one step: between two of them, another process that writes would let it begin anew.
    let result = unsafe sqlite3_backup_step(backup, -1)
    let end = unsafe sqlite3_backup_finish(backup)
    guard result == SQLITE_DONE, end == SQLITE_OK else {
      let failure = end == SQLITE_OK ? result : end
      throw DatabaseError(
        extendedCode: failure, message: unsafe String(cString: sqlite3_errstr(failure)), sql: "")
    }
  }
}

extension ConnectionHandle {
  /// Sets the options of a connection at every opening: none of them but WAL is kept in the file.
  func prepare(_ options: Database.Options, cache: ByteCount) throws(DatabaseError) {
    let timeout = options.busyTimeout.components
    let milliseconds = timeout.seconds * 1000 + timeout.attoseconds / 1_000_000_000_000_000
    try configure(busyTimeoutInMilliseconds: Int32(clamping: milliseconds))
    var mode: Row?
    try uncachedStatement(for: "PRAGMA journal_mode = WAL").run { row throws(DatabaseError) in mode = row }
    guard mode?.values == [.text("wal")] else {
      throw DatabaseError(.cannotOpen, "the file system does not allow a write-ahead log")
    }
    // The log keeps the size of its largest transaction otherwise; a cache is counted in kibibytes.
    try execute(
      script: """
        PRAGMA synchronous = \(options.durability.rawValue);
        PRAGMA foreign_keys = ON;
        PRAGMA journal_size_limit = \(options.log.rawValue);
        PRAGMA cache_size = -\(cache.rawValue / 1024)
        """)
  }

  /// For a connection that reads: whatever SQL it is given.
  func forbidWriting() throws(DatabaseError) {
    try execute(script: "PRAGMA query_only = ON")
  }
}

extension ConnectionHandle {
  enum TransactionKind: String {
    /// Sees one state of the database from its first statement to its last.
    case read = "BEGIN"
    /// Takes the write lock at once, so that it cannot fail half-way for want of it.
    case write = "BEGIN IMMEDIATE"
  }

  enum TransactionEnd: String {
    case commit = "COMMIT"
    case rollBack = "ROLLBACK"
  }

  func begin(_ kind: TransactionKind) throws(DatabaseError) {
    // One that a failing disk left behind.
    if isInTransaction { try end(.rollBack) }
    try run(kind.rawValue)
  }

  func end(_ end: TransactionEnd) throws(DatabaseError) {
    unsafe pagesInLog.pointee = -1
    try run(end.rawValue)
    if end == .rollBack { unsafe csqlitelog_forget(database) }
  }

  /// Some errors (a full disk, a failing one) have rolled back already. If this fails as well, the first error is
  /// the one that explains, and the next BEGIN tries it again.
  func rollBack() {
    if isInTransaction { try? end(.rollBack) } else { unsafe csqlitelog_forget(database) }
  }

  func beginSavepoint() throws(DatabaseError) {
    try run("SAVEPOINT body")
  }

  func endSavepoint(undoing: Bool) throws(DatabaseError) {
    if undoing { try run("ROLLBACK TO body") }
    try run("RELEASE body")
  }

  /// Commits when `body` returns; rolls back when it throws or the commit does.
  func transaction<Value>(
    _ kind: TransactionKind, _ body: (borrowing Connection) throws -> Value
  ) throws -> Value {
    do {
      try begin(kind)
      let value = try body(Connection(self, mayWrite: kind == .write))
      try end(.commit)
      return value
    } catch {
      rollBack()
      throw error
    }
  }

  private func run(_ sql: String) throws(DatabaseError) {
    try statement(for: sql).run { _ throws(DatabaseError) in }
  }
}
