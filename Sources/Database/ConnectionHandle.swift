internal import CSQLite

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
    guard result == SQLITE_OK else { throw unsafe .last(of: opened, result, "") }
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
    guard result == SQLITE_OK else { throw unsafe .last(of: database, result, script) }
  }

  var isInTransaction: Bool { unsafe sqlite3_get_autocommit(database) == 0 }
  var totalChanges: Int { Int(unsafe sqlite3_total_changes64(database)) }
  var lastInsertedRowID: Int64 { unsafe sqlite3_last_insert_rowid(database) }
  var cachedStatementTexts: [String] { cache.texts }

  private func check(_ result: Int32) throws(DatabaseError) {
    guard result == SQLITE_OK else { throw unsafe .last(of: database, result, "") }
  }
}
