internal import Database

/// The number of a connection's last commit, in a row of its own: so that another connection can tell whether a commit happened whose
/// answer was lost.
struct CommitMark: Hashable {
  /// The row's.
  let id: Int64
  /// The commit's.
  let number: Int64

  /// The last statement before a commit. Where the row is closed it fails (22012, a division by zero), and with it the transaction:
  /// the connection that closed it has answered that this commit did not happen.
  static let statement = """
    WITH marked AS (
      UPDATE commit_marks SET number = ?, written = now() WHERE id = ? AND NOT closed RETURNING 1
    )
    SELECT 1 / count(*) AS marked FROM marked
    """

  /// The mark as those know it who ask for it later.
  var reference: CommitReference { CommitReference(connection: id, number: number) }

  init(id: Int64, number: Int64) {
    self.id = id
    self.number = number
  }

  init(_ reference: CommitReference) {
    self.init(id: reference.connection, number: reference.number)
  }

  /// The two values of ``statement``, in the order of its places.
  var values: [SQLValue] { [.integer(number), .integer(id)] }

  /// Makes the row of a new connection. Rows of connections that have not written for a week go.
  static func make(on handle: ServerHandle) throws(DatabaseError) -> Int64 {
    _ = try handle.executeAlone("DELETE FROM commit_marks WHERE written < now() - interval '7 days'")
    let rows = try handle.executeAlone("INSERT INTO commit_marks (number) VALUES (0) RETURNING id")
    guard let id = rows.first?.first.flatMap({ $0 }).flatMap({ Int64($0) }) else {
      throw DatabaseError(.other, "a mark has no number", sql: "")
    }
    return id
  }

  /// Whether the commit happened; from then on it can no longer. Waits for the transaction where that is still under way. May be asked
  /// again. Nil where the row is gone. Closing and reading are one statement, so that a commit that comes later finds the
  /// row closed and fails.
  func hasHappened(askedOn handle: ServerHandle) throws(DatabaseError) -> Bool? {
    let rows = try handle.executeAlone(
      "UPDATE commit_marks SET closed = true WHERE id = \(id) RETURNING number")
    return rows.first?.first.flatMap { $0 }.flatMap { Int64($0) }.map { $0 == number }
  }
}

/// A connection was lost while a commit was under way. ``ServerWorker`` asks the mark on another connection whether the
/// commit happened.
struct CommitInDoubt: Error {
  /// Nil for a transaction without a mark, such as that of a ``TableTransfer``; then nothing can tell.
  let mark: CommitMark?
  /// The error that the wait for the commit's answer ended with.
  let cause: DatabaseError
}
