public import Database

/// One connection to a database on PostgreSQL by which the rows of whole tables leave it or come to it. Statements run for as long as they
/// need. Not Sendable; every call blocks.
///
///     let transfer = try TableTransfer(address, application: "pullbox-server move")
///     try transfer.claim()
///     try transfer.fill(["books"], marking: mark) { filling in
///       try filling.copy(into: "books", columns: ["id", "title"]) { try pages.next() }
///     } comparing: { connection in
///       guard try count(of: "books", in: connection) == expected else { throw WrongCount() }
///     }
public final class TableTransfer {
  /// The connection, whose statements have no limit of time.
  private let handle: ServerHandle
  /// The transactions on ``handle``. Scripts run outside of it.
  private let session: ServerSession
  /// The database and the schema, for people: without user and password.
  public let name: String

  /// Connects. Throws ``DatabaseError`` as ``Database/open(_:schema:options:)`` does.
  public init(_ address: PostgreSQLAddress, application: String) throws(DatabaseError) {
    let handle = try ServerHandle(address, application: application)
    try handle.checkServer(other: try ServerHandle(address, application: application))
    _ = try handle.executeAlone(
      "SET statement_timeout = 0; SET idle_in_transaction_session_timeout = 0; SET client_min_messages = warning"
    )
    // Where this process is killed, the server ends a long statement as well; not all systems can tell it.
    _ = try? handle.executeAlone("SET client_connection_check_interval = '1s'")
    guard let schema = try handle.executeAlone("SELECT current_schema()").first?.first.flatMap({ $0 }) else {
      throw DatabaseError(.cannotOpen, "search_path names no schema", sql: "")
    }
    name = schema == "public" ? "\(address)" : "\(address), schema \(schema)"
    session = ServerSession(handle: handle)
    self.handle = handle
  }

  /// Takes the schema for this connection, until it goes: no server starts on it meanwhile. Throws ``DatabaseError`` `busy`, with the
  /// names of servers that use it.
  public func claim() throws(DatabaseError) {
    let others = try handle.claim(.alone)
    guard !others.isEmpty else { return }
    throw DatabaseError(.busy, "\(others.joined(separator: ", ")) uses it; stop it first", sql: "")
  }

  /// Brings the tables up to date, whatever mark they have. Throws ``DatabaseError`` `newerSchema` for tables of a later
  /// program.
  public func apply(_ schema: SchemaDefinition) throws(DatabaseError) { try handle.apply(schema) }

  /// The version of the tables; nil where there are none.
  public func version() throws(DatabaseError) -> Int? { try handle.schemaVersion() }

  /// The mark of the last move; nil where there was none.
  public func mark() throws(DatabaseError) -> MoveMark? { try handle.moveMark() }

  /// Writes the mark, alone. It replaces one that is there. Throws ``DatabaseError``.
  public func setMark(_ mark: MoveMark) throws {
    try inTransaction {
      try session.enqueue(MoveMark.statement, mark.values)
    }
  }

  /// The first of `tables` that has rows; those that are not there have none.
  public func firstWithRows(of tables: [String]) throws(DatabaseError) -> String? {
    for table in tables {
      guard try handle.isTable(table) else { continue }
      if try !handle.executeAlone("SELECT 1 FROM \(Self.quoted(table)) LIMIT 1").isEmpty { return table }
    }
    return nil
  }

  /// `body` sees one state of the database; a statement that writes throws ``DatabaseError`` `readOnly`.
  public func read<Value>(_ body: (borrowing Connection) throws -> Value) throws -> Value {
    session.begin(.read, locking: [])
    defer { session.rollBack() }
    try preferIndexes()
    return try body(Connection(on: session, mayWrite: false))
  }

  /// `body` is one transaction. Throws what it throws, and ``DatabaseError``, among them `outcomeUnknown`.
  public func write<Value>(_ body: (borrowing Connection) throws -> Value) throws -> Value {
    try inTransaction { try body(Connection(on: session, mayWrite: true)) }
  }

  /// The highest number that the database has given to a row of the table; nil where it gives none. Runs in a ``read(_:)`` or
  /// ``fill(_:marking:_:comparing:)``.
  public func lastNumber(of table: String, column: String) throws(DatabaseError) -> Int64? {
    var number: Int64?
    _ = try session.run(
      """
      SELECT coalesce(last_value, 0) AS number FROM pg_sequences
      WHERE format('%I.%I', schemaname, sequencename) = pg_get_serial_sequence(?, ?)
      """, [.text(Self.quoted(table)), .text(column)]
    ) { row throws(DatabaseError) in
      number = try row.integer("number")
      return .end
    }
    return number
  }

  /// Puts rows in place of all that `tables` hold, and the mark in place of the last one, in one transaction. `copy` brings the rows, in
  /// any order of the tables: triggers do not run meanwhile, and foreign keys and indexes are made anew behind it, over all rows.
  /// `compare` then sees the tables as they will be. Throws what the two throw, and ``DatabaseError``, among them `constraint` where a row
  /// refers to none, and `outcomeUnknown` where the connection was lost while all was committed; otherwise nothing has changed.
  public func fill(
    _ tables: [String], marking mark: MoveMark, _ copy: (TableFilling) throws -> Void,
    comparing compare: (borrowing Connection) throws -> Void
  ) throws {
    try inTransaction {
      try session.enqueue(MoveMark.statement, mark.values)
      try session.settle()
      let rules = try TableRules(of: tables, on: handle)
      _ = try handle.executeAlone(rules.suspension)
      try copy(TableFilling(handle: handle, session: session))
      _ = try handle.executeAlone(rules.restoration)
      try preferIndexes()
      try compare(Connection(on: session, mayWrite: false))
    }
  }

  /// Runs the body in a transaction of writes. Throws ``DatabaseError`` `outcomeUnknown` where the connection was lost
  /// after the commit had been sent: no mark tells here whether it happened.
  private func inTransaction<Value>(_ body: () throws -> Value) throws -> Value {
    session.begin(.write, locking: [])
    do {
      let value = try body()
      _ = try session.commit(marking: nil)
      return value
    } catch let doubt as CommitInDoubt {
      throw DatabaseError(.outcomeUnknown, state: doubt.cause.state, doubt.cause.message, sql: "COMMIT")
    } catch {
      session.rollBack()
      throw error
    }
  }

  /// Pages in the order of a key are found by its index, however much the server knows of the table.
  private func preferIndexes() throws(DatabaseError) {
    for setting in ["enable_seqscan", "enable_bitmapscan", "enable_sort"] {
      try session.enqueue("SET LOCAL \(setting) = off")
    }
  }

  /// The name in quotation marks, those within it doubled.
  static func quoted(_ name: String) -> String { "\"\(name.replacing("\"", with: "\"\""))\"" }
}

/// The part of a ``TableTransfer/fill(_:marking:_:comparing:)`` that brings the rows.
public final class TableFilling {
  /// The connection of the ``TableTransfer``, in the middle of its transaction.
  private let handle: ServerHandle
  /// The same transaction, for statements in the pipeline.
  private let session: ServerSession

  /// A filling for one call of ``TableTransfer/fill(_:marking:_:comparing:)``, which outlives no other.
  init(handle: ServerHandle, session: ServerSession) {
    self.handle = handle
    self.session = session
  }

  /// Adds the rows of the pages that `next` returns until that is nil; their values are in the order of `columns`, whose types are
  /// BIGINT, TEXT, BYTEA and DOUBLE PRECISION. Returns how many there were.
  @discardableResult
  public func copy(into table: String, columns: [String], _ next: () throws -> [Row]?) throws -> Int {
    let names = columns.map(TableTransfer.quoted).joined(separator: ", ")
    var isBegun = false
    var isEnded = false
    return try handle.copy("COPY \(TableTransfer.quoted(table)) (\(names)) FROM STDIN (FORMAT binary)") {
      guard let page = try next() else {
        guard !isEnded else { return nil }
        isEnded = true
        return isBegun ? CopyData.end : CopyData.header + CopyData.end
      }
      var data = CopyData()
      for row in page { try data.append(row.values) }
      defer { isBegun = true }
      return isBegun ? data.bytes : CopyData.header + data.bytes
    }
  }

  /// The database gives rows of the table higher numbers than `number` from now on. No effect where it gives none.
  public func passOver(_ number: Int64, in table: String, column: String) throws(DatabaseError) {
    guard number > 0 else { return }
    _ = try session.run(
      "SELECT setval(pg_get_serial_sequence(?, ?)::regclass, ?) AS number",
      [.text(TableTransfer.quoted(table)), .text(column), .integer(number)]
    ) { _ throws(DatabaseError) in .end }
    try session.settle()
  }
}

/// The rules of tables that rows would be held to one by one: they are set aside while all rows of a database come, and made anew behind
/// them, in the same transaction.
///
/// Triggers are switched off rather than dropped: their text stays the schema's, and the owner of a table may do it
/// (`session_replication_role` takes a superuser). Foreign keys, whose triggers are the system's, and indexes are dropped and made anew
/// from their definitions: a foreign key is then one join, and an index is sorted once.
struct TableRules {
  /// The statements before the rows come.
  let suspension: String
  /// The statements behind them.
  let restoration: String

  /// Reads the definitions from the catalog: foreign keys, and those indexes that no constraint owns. Both scripts change
  /// nothing outside of `tables`.
  init(of tables: [String], on handle: ServerHandle) throws(DatabaseError) {
    let names = tables.map { "'\($0.replacing("'", with: "''"))'" }.joined(separator: ", ")
    let own = "relnamespace = current_schema()::regnamespace AND relname IN (\(names))"
    let keys = try handle.executeAlone(
      """
      SELECT conrelid::regclass, quote_ident(conname), pg_get_constraintdef(pg_constraint.oid)
      FROM pg_constraint JOIN pg_class ON pg_class.oid = conrelid WHERE contype = 'f' AND \(own) ORDER BY 1, 2
      """)
    let indexes = try handle.executeAlone(
      """
      SELECT indexrelid::regclass, pg_get_indexdef(indexrelid)
      FROM pg_index JOIN pg_class ON pg_class.oid = indrelid
      WHERE NOT EXISTS (SELECT 1 FROM pg_constraint WHERE conindid = indexrelid) AND \(own) ORDER BY 1
      """)
    let quoted = tables.map(TableTransfer.quoted)
    suspension = Self.script(
      quoted.map { "ALTER TABLE \($0) DISABLE TRIGGER USER" },
      keys.map { "ALTER TABLE \(Self.text($0, 0)) DROP CONSTRAINT \(Self.text($0, 1))" },
      indexes.map { "DROP INDEX \(Self.text($0, 0))" },
      ["TRUNCATE \(quoted.joined(separator: ", ")) RESTART IDENTITY"])
    restoration = Self.script(
      indexes.map { Self.text($0, 1) },
      keys.map {
        "ALTER TABLE \(Self.text($0, 0)) ADD CONSTRAINT \(Self.text($0, 1)) \(Self.text($0, 2))"
      },
      quoted.map { "ALTER TABLE \($0) ENABLE TRIGGER USER" },
      ["ANALYZE \(quoted.joined(separator: ", "))"])
  }

  /// The text of that column; empty for NULL, which the two queries never answer.
  private static func text(_ row: [String?], _ column: Int) -> String { row[column] ?? "" }

  /// The statements of all lists in their order, one a line.
  private static func script(_ statements: [String]...) -> String {
    statements.flatMap { $0 }.joined(separator: ";\n")
  }
}
