/// What the body of a ``Database/read(_:)`` or ``Database/write(locking:_:)`` works with: statements in, ``Row``s
/// out, inside the one transaction of that body. It cannot leave the body: it is lent, not copied.
///
/// Statements are prepared once and kept by their text, so texts are constants and values are bound to their
/// `?`:
///
///     let row = try connection.first("SELECT title FROM books WHERE id = ?", [.integer(7)])
///     let title = try row?.text("title")
public struct Connection: ~Copyable {
  private let handle: ConnectionHandle
  private let mayWrite: Bool

  // Kept out of its callers: the optimizer of Swift 6.3 crashes when it copies the making of a noncopyable
  // value from one function into another.
  @inline(never)
  init(_ handle: ConnectionHandle, mayWrite: Bool) {
    self.handle = handle
    self.mayWrite = mayWrite
  }

  /// Runs one statement, with `values` for its `?` in order; answers how many rows changed, those of triggers
  /// and cascades included. Throws ``DatabaseError``: `misuse` for wrong SQL or a wrong number of values,
  /// `readOnly` for a statement that writes in a read, `constraint`, `outOfSpace`, ``DatabaseError/Code`` has
  /// them all.
  @discardableResult
  public func execute(_ sql: String, _ values: [SQLValue] = []) throws(DatabaseError) -> Int {
    let before = handle.totalChanges
    try run(sql, values) { _ throws(DatabaseError) in }
    return handle.totalChanges - before
  }

  /// Every row at once: for answers that are known to be short, or say LIMIT.
  public func query(_ sql: String, _ values: [SQLValue] = []) throws(DatabaseError) -> [Row] {
    var rows: [Row] = []
    try run(sql, values) { row throws(DatabaseError) in rows.append(row) }
    return rows
  }

  /// The first row, nil when there is none.
  public func first(_ sql: String, _ values: [SQLValue] = []) throws(DatabaseError) -> Row? {
    var first: Row?
    try run(sql, values) { row throws(DatabaseError) in if first == nil { first = row } }
    return first
  }

  /// Hands out row after row; holds one at a time.
  public func forEach(
    _ sql: String, _ values: [SQLValue] = [], body: (Row) throws -> Void
  ) throws {
    let statement = try prepared(sql)
    try statement.run(values, body, orThrow: { $0 })
  }

  /// How SQLite runs each statement that this connection ran lately: `EXPLAIN QUERY PLAN`, line by line. For
  /// tests that a list is found by an index.
  public func recentPlans() throws(DatabaseError) -> [(sql: String, steps: [String])] {
    var plans: [(sql: String, steps: [String])] = []
    for sql in handle.cachedStatementTexts where sql.hasPrefix("SELECT") {
      // A plan is made without values.
      let count = sql.utf8.count { $0 == 0x3F }
      let rows = try query("EXPLAIN QUERY PLAN " + sql, [SQLValue](repeating: .null, count: count))
      plans.append((sql, try rows.map { row throws(DatabaseError) in try row.text("detail") }))
    }
    return plans
  }

  /// What each statement that this connection ran lately cost since the last call, in operations of SQLite's
  /// virtual machine: they grow with the rows that a statement visits, and are the same on every machine. For
  /// tests of how cost grows with the number of rows.
  public func takeSteps() -> [(sql: String, steps: Int)] {
    handle.takeSteps().filter { $0.steps > 0 }
  }

  /// The row id of the last INSERT on this connection.
  public var lastInsertedRowID: Int64 { handle.lastInsertedRowID }

  /// Any number of statements, for migrations.
  func execute(script: String) throws(DatabaseError) {
    precondition(mayWrite)
    try handle.execute(script: script)
  }

  private func run(
    _ sql: String, _ values: [SQLValue], body: (Row) throws(DatabaseError) -> Void
  ) throws(DatabaseError) {
    try prepared(sql).run(values, body, orThrow: { $0 })
  }

  private func prepared(_ sql: String) throws(DatabaseError) -> Statement {
    let statement = try handle.statement(for: sql)
    guard mayWrite || statement.isReadOnly else {
      throw DatabaseError(.readOnly, "a read does not write", sql: sql)
    }
    return statement
  }
}
