package import Commerce
package import CoreTypes
package import Database
package import DeliveryModel

/// Purchases that their stores take back unless they are told of the delivery in time. They are rows of the
/// ledger with a deadline. Its functions run in the caller's transaction and throw ``DatabaseError``.
package enum AcknowledgementTable {
  /// Counted at most.
  package static let maximumCount = 10_000
  /// The time after an acknowledgement's deadline from which the purchase does not count here any more: its store has taken
  /// it back and tells of that itself.
  package static let window: Duration = .seconds(7 * 86_400)

  /// How one store stands.
  package struct Standing: Hashable, Sendable {
    /// Purchases whose store was not told yet.
    package var waiting: Int64 = 0
    /// The number of waiting purchases whose deadline is within ``alarm``.
    package var urgent: Int64 = 0
    /// The first deadline among them; nil without any.
    package var next: Timestamp?

    /// When one that waits is urgent.
    static let alarm: Duration = .seconds(86_400)
  }

  /// The store was told, so nothing is due.
  package static func noteTold(of transaction: TransactionKey, in connection: borrowing Connection) throws {
    try connection.execute(
      """
      UPDATE transactions SET acknowledgement_due = NULL
      WHERE store = ? AND environment = ? AND transaction_id = ?
      """, transaction.values)
  }

  /// Counts the purchases whose store was not told of the delivery yet, up to ``maximumCount``, without those that the store
  /// has taken back.
  package static func standing(
    of store: StoreIdentifier, at now: Timestamp, in connection: borrowing Connection
  ) throws -> Standing {
    // An answer that was on its way while the call was made may have brought the date back.
    let row = try connection.first(
      """
      SELECT count(*) AS waiting, coalesce(sum(CASE WHEN due <= ? THEN 1 ELSE 0 END), 0) AS urgent, min(due) AS next FROM (
        SELECT acknowledgement_due AS due
        FROM transactions \(SQLDialect.index("transactions_by_acknowledgement"))
        WHERE store = ? AND acknowledgement_due > ? AND revoked IS NULL
          AND NOT EXISTS (
            SELECT 1 FROM outbox
            WHERE outbox.store = transactions.store AND outbox.kind = transactions.acknowledgement
              AND outbox.subject = transactions.transaction_id
              AND outbox.environment = transactions.environment
              AND outbox.done IS NOT NULL AND outbox.dropped IS NULL)
        ORDER BY acknowledgement_due LIMIT ?) AS unacknowledged
      """,
      [
        .timestamp(now + Standing.alarm), .identifier(store), .timestamp(now - window),
        .integer(maximumCount),
      ])
    guard let row else { return Standing() }
    return Standing(
      waiting: try row.integer("waiting"), urgent: try row.integer("urgent"),
      next: try row.optionalTimestamp("next"))
  }

  /// A purchase of which its store is to be told, and no call of the outbox does so yet.
  package struct Waiting: Hashable, Sendable {
    /// The transaction that is to be acknowledged or consumed.
    package var transaction: TransactionKey
    /// The customer who bought it.
    package var customer: CustomerIdentifier
    /// When it was bought, by the store's clock.
    package var purchased: Timestamp
    /// When half of the time is over that the store gives.
    package var halfTime: Timestamp
  }

  /// The condition of a purchase that waits: due after the one value, bought by a known customer, not refunded,
  /// and not in the outbox.
  private static let waits = """
    transactions.acknowledgement_due > ? AND transactions.revoked IS NULL AND transactions.customer IS NOT NULL
      AND transactions.purchased IS NOT NULL AND NOT EXISTS (
        SELECT 1 FROM outbox
        WHERE outbox.store = transactions.store AND outbox.kind = transactions.acknowledgement
          AND outbox.subject = transactions.transaction_id AND outbox.environment = transactions.environment)
    """

  /// Returns the purchases of one store that wait, the most pressing first, ``maximumCount`` at most.
  package static func waiting(
    at store: StoreIdentifier, since now: Timestamp, in connection: borrowing Connection
  ) throws -> [Waiting] {
    try connection.query(
      """
      SELECT store, environment, transaction_id, customer, purchased, acknowledgement_due
      FROM transactions \(SQLDialect.index("transactions_by_acknowledgement"))
      WHERE store = ? AND \(waits) ORDER BY acknowledgement_due LIMIT ?
      """, [.identifier(store), .timestamp(now - window), .integer(maximumCount)]
    ).map(waiting)
  }

  /// Returns the purchases of one customer that wait, at all stores, ``maximumCount`` at most.
  package static func waiting(
    of customer: CustomerIdentifier, since now: Timestamp, in connection: borrowing Connection
  ) throws -> [Waiting] {
    try connection.query(
      """
      SELECT store, environment, transaction_id, customer, purchased, acknowledgement_due
      FROM transactions \(SQLDialect.index("transactions_by_customer"))
      WHERE customer = ? AND \(waits) LIMIT ?
      """, [.customer(customer), .timestamp(now - window), .integer(maximumCount)]
    ).map(waiting)
  }

  /// Reads a row. Half of the time is between the purchase and the deadline.
  private static func waiting(_ row: Row) throws -> Waiting {
    let purchased = try row.timestamp("purchased")
    return Waiting(
      transaction: try TransactionKey(row: row), customer: try row.customer("customer"), purchased: purchased,
      halfTime: purchased + (try row.timestamp("acknowledgement_due") - purchased) / 2)
  }
}
