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
  /// The transaction's end of an engine: SQLite's is called without a detour, since all of an agent's and most of a server's
  /// statements take it.
  enum Session {
    case file(ConnectionHandle)
    case server(any DatabaseSession)
  }

  let session: Session
  let mayWrite: Bool

  // Kept out of its callers: the optimizer of Swift 6.3 crashes when it copies the making of a noncopyable
  // value from one function into another.
  @inline(never)
  init(_ handle: ConnectionHandle, mayWrite: Bool) {
    session = .file(handle)
    self.mayWrite = mayWrite
  }

  /// Creates the connection of a body that runs on another engine than SQLite.
  @inline(never)
  package init(on session: any DatabaseSession, mayWrite: Bool) {
    self.session = .server(session)
    self.mayWrite = mayWrite
  }

  /// Runs one statement, with `values` for its `?` in order; answers how many rows it changed, without those that triggers
  /// and cascades changed with them. Throws ``DatabaseError``: `misuse` for wrong SQL or a wrong number of values,
  /// `readOnly` for a statement that writes in a read, `constraint`, `outOfSpace`, ``DatabaseError/Code`` has
  /// them all.
  @discardableResult
  public func execute(_ sql: String, _ values: [SQLValue] = []) throws(DatabaseError) -> Int {
    switch session {
    case .file(let handle):
      let before = handle.totalChanges
      try prepared(sql, on: handle).run(values, orThrow: { $0 }) { _ throws(DatabaseError) in .row }
      return handle.totalChanges == before ? 0 : handle.directChanges
    case .server(let session):
      return try session.run(sql, values) { _ throws(DatabaseError) in .row }
    }
  }

  /// Runs one statement whose answer is not needed: over a network it is sent with the next one that is waited for, or with the
  /// commit, and fails there. Throws as ``execute(_:_:)`` does.
  public func enqueue(_ sql: String, _ values: [SQLValue] = []) throws(DatabaseError) {
    switch session {
    case .file: try execute(sql, values)
    case .server(let session): try session.enqueue(sql, values)
    }
  }

  /// Runs one statement whose answer is not needed behind all others of the body, in the order of these calls: over a network it is sent with the
  /// commit, and fails there; in a file it runs at once. For a row that many writes change: it is held for no longer than the commit
  /// takes, and who waits for it has nothing left to write. Throws as ``execute(_:_:)`` does.
  package func enqueueLast(_ sql: String, _ values: [SQLValue] = []) throws(DatabaseError) {
    switch session {
    case .file: try execute(sql, values)
    case .server(let session): try session.enqueueLast(sql, values)
    }
  }

  /// Asks ahead, over a network, for the rows that the body will want: runs `body`, whose reads are sent and find no rows, so that
  /// they and the next statement that is waited for take one round trip. Where the body then makes the same read with the same
  /// values it gets the rows of the moment when they were asked for, once in a body that writes. A read whose table was written in between, or before which
  /// a lock was taken, is made anew; one that is never made costs the server its work. SQLite reads when it is asked, and `body` does
  /// not run.
  ///
  /// `body` is a part of what follows, as it goes where nothing is found. A statement that writes is not sent, and throws; what `body` throws
  /// counts for nothing. It reads no table that a trigger writes.
  ///
  ///     connection.prefetch { connection in
  ///       _ = try books(by: author, in: connection)
  ///       _ = try loans(to: reader, in: connection)
  ///     }
  public func prefetch(_ body: (borrowing Connection) throws -> Void) {
    guard case .server(let session) = session else { return }
    session.beginPrefetch()
    try? body(self)
    session.endPrefetch()
  }

  /// Inserts one row into a table whose key is a number that the database chooses, and returns the number in `column`; nil for a conflict,
  /// where the statement says `ON CONFLICT DO NOTHING`. One that does not is better made by ``insert(_:_:numberedBy:)``. SQLite keeps the last number: `RETURNING`
  /// makes a table of 100 KiB in memory for each statement there. Throws as ``execute(_:_:)`` does.
  public func insertNumbered(
    _ sql: String, _ values: [SQLValue], answering column: String
  ) throws(DatabaseError) -> Int64? {
    switch session {
    case .file(let handle): return try execute(sql, values) > 0 ? handle.lastInsertedRowID : nil
    case .server: return try first("\(sql)\nRETURNING \(column)", values)?.integer(column)
    }
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
    switch session {
    case .file(let handle):
      let statement = try prepared(sql, on: handle)
      try statement.run(values, orThrow: { $0 as any Error }) { (row: Row) throws -> RowDemand in
        try body(row)
        return .row
      }
    case .server(let session):
      var failure: (any Error)?
      _ = try session.run(sql, values) { row throws(DatabaseError) in
        do { try body(row) } catch { failure = error }
        return failure == nil ? .row : .end
      }
      if let failure { throw failure }
    }
  }

  /// Takes a lock that the body has found on its way, until the end of its transaction; once more for one that it holds does
  /// nothing. It is for kinds that no body names before (``DatabaseLock/isFoundOnTheWay``): the customers of the delivery
  /// server, whose names stand in the rows of the transactions that a body has locked.
  ///
  /// No two bodies wait for each other in a circle: such a lock is taken after all that were named, of several the lesser one
  /// first, and before the body's first statement that writes, since a row that is written is held like a lock. Where a
  /// body finds a lesser one later, the engine does not wait for it: it takes the lock if that is free, and otherwise runs the body
  /// again. What the body has read of the thing before may be outdated once it has the lock.
  ///
  /// SQLite has one writer, and nothing to take. Throws ``DatabaseError``: `readOnly` in a read, `misuse` for a
  /// kind that is to be named before.
  public func lock(_ lock: DatabaseLock) throws(DatabaseError) {
    guard mayWrite else { throw DatabaseError(.readOnly, "a read takes no locks") }
    guard lock.isFoundOnTheWay else {
      throw DatabaseError(.misuse, "a lock of the kind \(lock.kind) is named before the body runs")
    }
    switch session {
    case .file(let handle): handle.lockObserver?(lock)
    case .server(let session): try session.lock(lock)
    }
  }

  /// How SQLite runs each SELECT that the database's connections prepared lately: `EXPLAIN QUERY PLAN`, line by
  /// line. For tests that a list is found by an index. Another engine has none.
  public func recentPlans() throws(DatabaseError) -> [(sql: String, steps: [String])] {
    guard case .file(let handle) = session else { return [] }
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
  /// are the same on every machine. For tests of how cost grows with the number of rows. Another engine has none.
  public func takeSteps() -> [(sql: String, steps: Int)] {
    guard case .file(let handle) = session else { return [] }
    return handle.log.takeSteps()
  }

  /// The row id of the last INSERT on this connection, to a file: ``insertNumbered(_:_:answering:)`` is for every engine.
  public var lastInsertedRowID: Int64 {
    guard case .file(let handle) = session else {
      preconditionFailure("rows have no numbers of their own here")
    }
    return handle.lastInsertedRowID
  }

  /// Any number of statements, for migrations.
  func execute(script: String) throws(DatabaseError) {
    precondition(mayWrite)
    switch session {
    case .file(let handle): try handle.execute(script: script)
    case .server(let session): try session.execute(script: script)
    }
  }

  private func run(
    _ sql: String, _ values: [SQLValue], body: (Row) throws(DatabaseError) -> RowDemand
  ) throws(DatabaseError) {
    switch session {
    case .file(let handle): try prepared(sql, on: handle).run(values, orThrow: { $0 }, body)
    case .server(let session): _ = try session.run(sql, values, body)
    }
  }

  private func prepared(_ sql: String, on handle: ConnectionHandle) throws(DatabaseError) -> Statement {
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
