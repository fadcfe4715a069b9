import Commerce
import CoreTypes
package import Database

/// Queries of the table of transactions for the App Store Server API and notifications.
///
/// Every sold transaction has a revision. A trigger renews it when the transaction is sold, refunded,
/// reversed, upgraded or extended, and when its license is taken back. A reader that goes on from a revision sees every change
/// since. That a transaction is finished is none: queues, which are read whole, tell of it, and it changes nothing that is owned.
extension TransactionTable {
  /// A transaction with the number of its latest change.
  package struct Revised: Hashable, Sendable {
    package let transaction: StoredTransaction
    package let revision: Int64
  }

  /// An account's sold transactions by their revisions, from the first beyond `revision` in that direction.
  /// With `.max` in descending order the first is the account's latest change.
  package static func revised(
    in connection: borrowing Connection, account: Int64, beyond revision: Int64, isAscending: Bool, limit: Int
  ) throws -> [Revised] {
    let (comparison, order) = isAscending ? (">", "ASC") : ("<", "DESC")
    return try connection.query(
      """
      SELECT * FROM transactions WHERE account = ? AND state = 'purchased' AND revision \(comparison) ?
      ORDER BY revision \(order) LIMIT ?
      """, [.integer(account), .integer(revision), .integer(limit)]
    ).map { Revised(transaction: try transaction($0), revision: try $0.integer("revision")) }
  }

  /// An account's refunded transactions by their revisions, from the first after `revision`. Ended sharing is
  /// none of them.
  package static func refunded(
    in connection: borrowing Connection, account: Int64, after revision: Int64, limit: Int
  ) throws -> [Revised] {
    try connection.query(
      """
      SELECT * FROM transactions
      WHERE account = ? AND state = 'purchased' AND revocation = 'refund' AND revision > ?
      ORDER BY revision LIMIT ?
      """, [.integer(account), .integer(revision), .integer(limit)]
    ).map { Revised(transaction: try transaction($0), revision: try $0.integer("revision")) }
  }

  /// Whether another product took the place of one of the subscription's at that moment.
  ///
  /// - Parameter date: the beginning of the period that may have taken over.
  static func wasUpgraded(
    originalID: Int64, at date: Timestamp, in connection: borrowing Connection
  ) throws -> Bool {
    try connection.first(
      "SELECT 1 FROM transactions WHERE original_id = ? AND upgraded = ? LIMIT 1",
      [.integer(originalID), .timestamp(date)]) != nil
  }

  /// The latest periods that were paid for under an original transaction, the newest first. Restored copies
  /// are none. A period that another product cut short ends there.
  static func latestPeriods(
    originalID: Int64, limit: Int, in connection: borrowing Connection
  ) throws -> [(start: Timestamp, end: Timestamp)] {
    try connection.query(
      """
      SELECT purchased, coalesce(upgraded, expires, purchased) AS ended FROM transactions
      WHERE original_id = ? AND state = 'purchased' AND reason <> 'restore'
      ORDER BY purchased DESC, id DESC LIMIT ?
      """, [.integer(originalID), .integer(limit)]
    ).map { (start: try $0.timestamp("purchased"), end: try $0.timestamp("ended")) }
  }

  /// Names the application's account in everything that was sold under an original transaction. A sold one
  /// gets a new revision if its name is another now.
  package static func setApplicationUsername(
    _ name: String, account: Int64, originalID: Int64, in connection: borrowing Connection
  ) throws {
    try connection.execute(
      "UPDATE transactions SET application_username = ? WHERE account = ? AND original_id = ?",
      [.text(name), .integer(account), .integer(originalID)])
  }
}
