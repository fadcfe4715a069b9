package import Commerce
import CoreTypes
package import Database
import PullboxAPI

/// Transactions that nothing was paid for: those that another account shares, and restored ones.
extension TransactionTable {
  /// Returns the transactions that other accounts share of a transaction. In the order in which they were
  /// made, also those that have ended.
  static func shares(
    of transaction: Int64, in connection: borrowing Connection
  ) throws -> [StoredTransaction] {
    try connection.query(
      "SELECT * FROM transactions WHERE shared_from = ? ORDER BY id", [.integer(transaction)]
    ).map(Self.transaction)
  }

  /// The first that an account shared of an original transaction of another, whether or not it still counts.
  /// It is the original transaction of all later ones in that account.
  static func firstShare(
    of originalID: Int64, with account: Int64, in connection: borrowing Connection
  ) throws -> StoredTransaction? {
    try connection.first(
      """
      SELECT shared.* FROM transactions AS shared
      WHERE shared.account = ? AND shared.shared_from IN (
        SELECT id FROM transactions AS owned
        WHERE owned.account = (SELECT account FROM transactions WHERE id = ?) AND owned.original_id = ?)
      ORDER BY shared.id LIMIT 1
      """, [.integer(account), .integer(originalID), .integer(originalID)]
    ).map(transaction)
  }

  /// Returns the transactions that an account shares of others and that still count. They are in the order in
  /// which they were made.
  static func shared(
    with account: Int64, in connection: borrowing Connection
  ) throws -> [StoredTransaction] {
    try connection.query(
      """
      SELECT * FROM transactions
      WHERE account = ? AND state = 'purchased' AND shared_from IS NOT NULL AND revoked IS NULL ORDER BY id
      """, [.integer(account)]
    ).map(transaction)
  }

  /// Returns the transactions that an account can restore: the first sale that counts of each non-consumable
  /// and free subscription, and the last period of each renewing subscription. They are in the order of their
  /// identifiers. What was refunded, and what a family has no more, is none of them.
  package static func restorable(
    in connection: borrowing Connection, account: Int64
  ) throws -> [StoredTransaction] {
    try connection.query(
      """
      SELECT * FROM transactions WHERE id IN (
        SELECT CASE type WHEN 'auto-renewable-subscription' THEN max(id) ELSE min(id) END FROM transactions
        WHERE account = ? AND state = 'purchased' AND reason <> 'restore' AND revoked IS NULL
          AND type IN ('non-consumable', 'auto-renewable-subscription', 'free-subscription')
        GROUP BY original_id)
      ORDER BY id
      """, [.integer(account)]
    ).map(transaction)
  }

  /// Returns the transactions that restored the sale, which nothing was paid for.
  ///
  /// - Parameter expires: the end of the period that was restored; nil for what has none.
  static func restored(
    in connection: borrowing Connection, account: Int64, originalID: Int64, expires: Timestamp?
  ) throws -> [StoredTransaction] {
    try connection.query(
      """
      SELECT * FROM transactions
      WHERE account = ? AND original_id = ? AND state = 'purchased' AND reason = 'restore' AND expires IS ?
      """, [.integer(account), .integer(originalID), .optional(expires)]
    ).map(transaction)
  }

  /// Returns an unfinished transaction that restored an original transaction to a device. Nil where there is
  /// none: then another restore inserts one.
  package static func unfinishedRestore(
    in connection: borrowing Connection, account: Int64, originalID: Int64, device: DeviceIdentifier
  ) throws -> StoredTransaction? {
    try connection.first(
      """
      SELECT * FROM transactions
      WHERE account = ? AND original_id = ? AND device = ? AND reason = 'restore' AND finished IS NULL LIMIT 1
      """, [.integer(account), .integer(originalID), .text(device.description)]
    ).map(transaction)
  }
}
