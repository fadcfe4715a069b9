/// A connection that the body of a ``Database/read(waiting:_:)`` or
/// ``Database/write(locking:waiting:committing:_:then:)`` works with: statements in, ``Row``s out, inside the
/// one transaction of that body. It cannot leave the body: it is lent, not copied.
///
/// Statements are prepared once and kept by their text, so texts are constants and values are bound to their
/// `?`:
///
///     let row = try connection.first("SELECT title FROM books WHERE id = ?", [.integer(7)])
///     let title = try row?.text("title")
public struct Connection: ~Copyable {
  let handle: ConnectionHandle
  let mayWrite: Bool

  // Kept out of its callers: the optimizer of Swift 6.3 crashes when it copies the making of a noncopyable
  // value from one function into another.
  @inline(never)
  init(_ handle: ConnectionHandle, mayWrite: Bool) {
    self.handle = handle
    self.mayWrite = mayWrite
  }

  /// Runs one statement, with `values` for its `?` in order; answers how many rows it changed, without those that triggers
  /// and cascades changed with them. Throws ``DatabaseError``: `misuse` for wrong SQL or a wrong number of values,
  /// `readOnly` for a statement that writes in a read, `constraint`, `outOfSpace`, ``DatabaseError/Code`` has
  /// them all.
  @discardableResult
  public func execute(_ sql: String, _ values: [SQLValue] = []) throws(DatabaseError) -> Int {
    let before = handle.totalChanges
    try run(sql, values) { _ throws(DatabaseError) in .row }
    return handle.totalChanges == before ? 0 : handle.directChanges
  }

  /// Every row at once: for answers that are known to be short, or say LIMIT.
  public func query(_ sql: String, _ values: [SQLValue] = []) throws(DatabaseError) -> [Row] {
    var rows: [Row] = []
    try run(sql, values) { row throws(DatabaseError) in
      rows.append(row)
      return .row
    }
    return rows
  }

  /// The first row, nil when there is none; later ones are not looked for.
  public func first(_ sql: String, _ values: [SQLValue] = []) throws(DatabaseError) -> Row? {
    var first: Row?
    try run(sql, values) { row throws(DatabaseError) in
      first = row
      return .end
    }
    return first
  }

  /// Hands out row after row; holds one at a time.
  public func forEach(
    _ sql: String, _ values: [SQLValue] = [], body: (Row) throws -> Void
  ) throws {
    let statement = try prepared(sql)
    try statement.run(values, orThrow: { $0 as any Error }) { (row: Row) throws -> Statement.Next in
      try body(row)
      return .row
    }
  }

  /// How SQLite runs each SELECT that the database's connections prepared lately: `EXPLAIN QUERY PLAN`, line by
  /// line. For tests that a list is found by an index.
  public func recentPlans() throws(DatabaseError) -> [(sql: String, steps: [String])] {
    var plans: [(sql: String, steps: [String])] = []
    for sql in handle.log.texts where sql.hasPrefix("SELECT") {
      let statement = try handle.uncachedStatement(for: "EXPLAIN QUERY PLAN " + sql)
      var steps: [String] = []
      // A plan is made without values.
      let values = [SQLValue](repeating: .null, count: statement.parameterCount)
      try statement.run(values, orThrow: { $0 }) { row throws(DatabaseError) in
        steps.append(try row.text("detail"))
        return .row
      }
      plans.append((sql, steps))
    }
    return plans
  }

  /// Returns the cost of each statement that the database's connections ran lately, since the last call, in
  /// operations of SQLite's virtual machine. The operations grow with the rows that a statement visits, and
  /// are the same on every machine. For tests of how cost grows with the number of rows.
  public func takeSteps() -> [(sql: String, steps: Int)] {
    handle.log.takeSteps()
  }

  /// The row id of the last INSERT on this connection.
  public var lastInsertedRowID: Int64 { handle.lastInsertedRowID }

  /// Any number of statements, for migrations.
  func execute(script: String) throws(DatabaseError) {
    precondition(mayWrite)
    try handle.execute(script: script)
  }

  private func run(
    _ sql: String, _ values: [SQLValue], body: (Row) throws(DatabaseError) -> Statement.Next
  ) throws(DatabaseError) {
    try prepared(sql).run(values, orThrow: { $0 }, body)
  }

  private func prepared(_ sql: String) throws(DatabaseError) -> Statement {
    let statement = try handle.statement(for: sql)
    guard mayWrite || statement.isReadOnly else {
      throw DatabaseError(.readOnly, "a read does not write", sql: sql)
    }
    if !statement.isReadOnly { handle.noteWrite() }
    // A body that goes on after such an error would commit each statement by itself.
    guard handle.isInTransaction else {
      throw DatabaseError(.other, "an error before this statement has ended the transaction", sql: sql)
    }
    return statement
  }
}
