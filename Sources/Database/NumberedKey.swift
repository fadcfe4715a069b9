/// The key of a table whose rows have numbers that the database chooses, each higher than those before it.
public struct NumberedKey: Hashable, Sendable {
  /// The name of the table.
  package let table: String
  /// The name of the column, its primary key.
  package let column: String

  /// A key by the names of its table and column.
  public init(of table: String, column: String) {
    self.table = table
    self.column = column
  }
}

extension Connection {
  /// Inserts one row and returns its number, which goes into the first place of the statement; `values` are those of the other places.
  /// Over a network the number is asked for first, or was by ``reserveNumber(for:)``, and the row is sent with the next statement
  /// that is waited for, or with the commit, and fails there. Throws as ``execute(_:_:)`` does.
  public func insert(
    _ sql: String, _ values: [SQLValue], numberedBy key: NumberedKey
  ) throws(DatabaseError) -> Int64 {
    switch session {
    case .file(let handle):
      // A key that is NULL gets the next number.
      try execute(sql, [.null] + values)
      return handle.lastInsertedRowID
    case .server(let session):
      let number = try session.takeNumber(for: key)
      try session.enqueue(sql, [.integer(number)] + values)
      return number
    }
  }

  /// Asks ahead, over a network, for the number of a row that the body may insert, so that ``insert(_:_:numberedBy:)`` waits for nothing;
  /// it may be a part of what is prefetched. One number of each key is kept; one that is not used is left out by the rows. A file is
  /// not asked. Throws ``DatabaseError``.
  public func reserveNumber(for key: NumberedKey) throws(DatabaseError) {
    guard case .server(let session) = session else { return }
    try session.reserveNumber(for: key)
  }
}
