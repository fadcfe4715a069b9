import Commerce
import CoreTypes
import Database

/// The outbox's rows: written in the same transaction as what they follow from, kept until the store has
/// answered.
enum OutboxTable {
  /// Adds the call unless it is there already; answers its row and whether the store has accepted it before.
  static func add(
    _ kind: OutboxEntry.Kind, store: StoreIdentifier, subject: TransactionIdentifier, firstAttempt: Timestamp,
    at now: Timestamp, in connection: borrowing Connection
  ) throws -> (id: Int64, isDone: Bool) {
    try connection.execute(
      """
      INSERT INTO outbox (store, kind, subject, next_attempt, created) VALUES (?, ?, ?, ?, ?)
      ON CONFLICT DO NOTHING
      """,
      [
        .identifier(store), .choice(kind), .identifier(subject), .timestamp(firstAttempt),
        .timestamp(now),
      ])
    guard
      let row = try connection.first(
        "SELECT id, done FROM outbox WHERE store = ? AND kind = ? AND subject = ?",
        [.identifier(store), .choice(kind), .identifier(subject)])
    else { preconditionFailure("the row was just written, in this transaction") }
    return (try row.integer("id"), try row.optionalTimestamp("done") != nil)
  }

  static func find(_ id: Int64, in connection: borrowing Connection) throws -> OutboxEntry? {
    try connection.first("SELECT * FROM outbox WHERE id = ? AND done IS NULL", [.integer(id)]).map(entry)
  }

  /// At most `limit` calls whose time has come.
  static func due(
    at now: Timestamp, limit: Int, in connection: borrowing Connection
  ) throws -> [OutboxEntry] {
    try connection.query(
      "SELECT * FROM outbox WHERE done IS NULL AND next_attempt <= ? ORDER BY next_attempt LIMIT ?",
      [.timestamp(now), .integer(limit)]
    ).map(entry)
  }

  /// When the next call's time comes; nil when none waits.
  static func nextAttempt(in connection: borrowing Connection) throws -> Timestamp? {
    try connection.first("SELECT min(next_attempt) AS next FROM outbox WHERE done IS NULL")?
      .optionalTimestamp("next")
  }

  static func markDone(_ id: Int64, at now: Timestamp, in connection: borrowing Connection) throws {
    try connection.execute(
      "UPDATE outbox SET done = ?, attempts = attempts + 1, last_error = NULL WHERE id = ?",
      [.timestamp(now), .integer(id)])
  }

  static func postpone(
    _ id: Int64, until next: Timestamp, because error: String, in connection: borrowing Connection
  ) throws {
    try connection.execute(
      "UPDATE outbox SET next_attempt = ?, attempts = attempts + 1, last_error = ? WHERE id = ?",
      [.timestamp(next), .text(error), .integer(id)])
  }

  private static func entry(_ row: Row) throws -> OutboxEntry {
    OutboxEntry(
      id: try row.integer("id"), store: try row.identifier("store"), kind: try row.choice("kind"),
      subject: try row.identifier("subject"), attempts: Int(try row.integer("attempts")),
      nextAttempt: try row.timestamp("next_attempt"))
  }
}
