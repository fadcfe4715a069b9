internal import SystemCalls

/// Work on a database's file beside the process that has it open, or when none has. Both functions block.
extension Database {
  /// Copies one state of the database at `path` to a new file, which only its owner may read; other processes read and write
  /// meanwhile. The copy is on the device once its file system was synced. Throws ``DatabaseError``, and `SystemError` where there
  /// is no such file, or one at `newPath`.
  public static func copy(_ path: String, to newPath: String) throws {
    let source = try connection(to: path)
    _ = try FileDescriptor.open(newPath, .readWrite, options: [.create, .exclusive], permissions: 0o600)
    let target = try ConnectionHandle(path: newPath, log: StatementLog())
    // There is nothing yet that a journal could bring back.
    try target.execute(script: "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF")
    try source.copy(to: target)
  }

  /// `body` sees one state of the database at `path`, whatever version its schema has; a statement that writes throws
  /// ``DatabaseError`` `readOnly`. Throws `SystemError` where there is no such file.
  public static func inspect<Value>(
    _ path: String, _ body: (borrowing Connection) throws -> Value
  ) throws -> Value {
    let handle = try connection(to: path)
    try handle.forbidWriting()
    return try handle.transaction(.read, body)
  }

  /// Makes a file, which only its owner may read, with the tables of `migrations`, and lets `body` fill them in one transaction, in which
  /// neither triggers nor foreign keys count: ``Connection/faults()`` finds what refers to nothing. What is there after a failure, or a
  /// power cut before its file system was synced, is no database. Throws ``DatabaseError``, and `SystemError` where there is a file.
  public static func create<Value>(
    _ path: String, migrations: [Migration], _ body: (borrowing Connection) throws -> Value
  ) throws -> Value {
    _ = try FileDescriptor.open(path, .readWrite, options: [.create, .exclusive], permissions: 0o600)
    return try fill(path, migrations, body)
  }

  /// Makes the tables of `migrations` in memory, and hands them to `body`; they are gone when it returns.
  public static func inMemory<Value>(
    migrations: [Migration], _ body: (borrowing Connection) throws -> Value
  ) throws -> Value {
    try fill(":memory:", migrations, body)
  }

  private static func fill<Value>(
    _ path: String, _ migrations: [Migration], _ body: (borrowing Connection) throws -> Value
  ) throws -> Value {
    let handle = try ConnectionHandle(path: path, log: StatementLog())
    // There is nothing yet that a journal could bring back. The rows of a table come in the order of its key, those of its indexes do not.
    try handle.execute(
      script: """
        PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA locking_mode = EXCLUSIVE; PRAGMA foreign_keys = OFF;
        PRAGMA cache_size = -65536
        """)
    try handle.configure(busyTimeoutInMilliseconds: 0)
    try handle.migrate(migrations)
    try handle.disableTriggers()
    return try handle.transaction(.write, body)
  }

  private static func connection(to path: String) throws -> ConnectionHandle {
    // SQLite would make the file.
    _ = try FileDescriptor.open(path, .readOnly)
    let handle = try ConnectionHandle(path: path, log: StatementLog())
    try handle.prepare(.small, cache: Database.Options.small.cache)
    return handle
  }
}

extension Connection {
  /// Returns the faults that SQLite finds in the file: pages, indexes, constraints, references; empty where
  /// it is whole. Reads all of it.
  public func faults() throws(DatabaseError) -> [String] {
    let faults = try query("PRAGMA integrity_check(100)").map { row throws(DatabaseError) in
      try row.text("integrity_check")
    }
    let references = try query("PRAGMA foreign_key_check").map { row throws(DatabaseError) in
      "a row of \(try row.text("table")) refers to none of \(try row.text("parent"))"
    }
    return faults.filter { $0 != "ok" } + references
  }

  /// The number of migrations that were applied.
  public func schemaVersion() throws(DatabaseError) -> Int {
    guard let row = try first("PRAGMA user_version") else { throw DatabaseError(.other, "no user_version") }
    return Int(try row.integer("user_version"))
  }
}
