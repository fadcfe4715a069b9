package import CoreTypes
package import Database

/// The removal of rows that are old and that nothing needs. Each call looks at a few rows, so that others get their turn,
/// and returns the position where to go on: nil when no older rows are left. The calls run in writes of their
/// own, without locks, since each statement removes what is old and unneeded when it comes to the row. They throw ``DatabaseError``.
package enum RetentionTable {
  /// Behind the row that was looked at last.
  package struct Position: Hashable, Sendable {
    /// When what the row tells of happened; the smallest number where rows are in the order of `row` alone.
    package var date = Timestamp(millisecondsSinceEpoch: .min)
    /// The row that was looked at last, among those of that date.
    package var row: Int64 = 0

    package init(date: Timestamp = Timestamp(millisecondsSinceEpoch: .min), row: Int64 = 0) {
      self.date = date
      self.row = row
    }
  }

  /// Rows that one call looks at.
  package static let batch = 500

  private static let isFinished = "state IN ('finished', 'revoked/finished')"
  /// Nothing is to come any more: it is finished, or of a reader's key.
  private static let isAtRest = "state IN ('finished', 'revoked/finished', 'reading', 'revoked/reading')"

  /// Removes the history, older than `cutoff`, of grants that are finished or of readers' keys.
  package static func forgetEvents(
    before cutoff: Timestamp, after position: Position, now: Timestamp, in connection: borrowing Connection
  ) throws -> Position? {
    let rows = try connection.query(
      "SELECT id, at FROM grant_events WHERE id > ? ORDER BY id LIMIT ?",
      [.integer(position.row), .integer(batch)])
    // Rows are in the order in which they were written, so those behind a batch that is young are young as well. A date that is
    // still to come was written by a clock that was ahead, and tells nothing of the rows behind it.
    let dates = try rows.map { try $0.timestamp("at") }
    let isYoung = dates.contains { $0 >= cutoff && $0 <= now } && !dates.contains { $0 < cutoff }
    guard let last = rows.last, !isYoung else { return nil }
    let row = try last.integer("id")
    try connection.execute(
      """
      DELETE FROM grant_events WHERE id > ? AND id <= ? AND at < ?
        AND EXISTS (SELECT 1 FROM grants WHERE number = grant_number AND \(isAtRest))
      """, [.integer(position.row), .integer(row), .timestamp(cutoff)])
    return Position(row: row)
  }

  /// Removes the calls that a store took before `cutoff`: statements, and ends of transactions whose grants are finished, but for those of readers' keys:
  /// that they are says all that the row did.
  package static func forgetCalls(
    doneBefore cutoff: Timestamp, after position: Position, in connection: borrowing Connection
  ) throws -> Position? {
    let rows = try connection.query(
      """
      SELECT id, done FROM outbox WHERE done IS NOT NULL AND (done, id) > (?, ?) AND done < ?
      ORDER BY done, id LIMIT ?
      """, [.timestamp(position.date), .integer(position.row), .timestamp(cutoff), .integer(batch)])
    for row in rows {
      try connection.execute(
        """
        DELETE FROM outbox WHERE id = ? AND done < ? AND (kind = 'consumption'
          OR kind IN ('finish', 'acknowledge', 'consume')
          AND EXISTS (SELECT 1 FROM grants
            WHERE grants.transaction_id = subject AND grants.store = outbox.store
              AND grants.environment = outbox.environment AND \(isFinished))
          AND NOT EXISTS (
            SELECT 1 FROM grants
            WHERE grants.transaction_id = subject AND grants.store = outbox.store
              AND grants.environment = outbox.environment AND NOT \(isAtRest)))
        """, [.integer(try row.integer("id")), .timestamp(cutoff)])
    }
    guard rows.count == batch, let last = rows.last else { return nil }
    return Position(date: try last.timestamp("done"), row: try last.integer("id"))
  }

  /// Removes the oldest runs that began before `cutoff`, but for the last of all.
  package static func forgetRuns(
    before cutoff: Timestamp, after position: Position, in connection: borrowing Connection
  ) throws -> Position? {
    let removed = try connection.execute(
      """
      DELETE FROM runs WHERE id IN (SELECT id FROM runs ORDER BY id LIMIT ?) AND started < ?
        AND id < (SELECT id FROM runs ORDER BY id DESC LIMIT 1)
      """, [.integer(batch), .timestamp(cutoff)])
    return removed == batch ? position : nil
  }
}
