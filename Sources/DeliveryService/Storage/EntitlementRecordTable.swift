import Commerce
import Database

/// What was written down of transactions when they led to content (``EntitlementRecord``).
enum EntitlementRecordTable {
  /// The record of payments for subscriptions: what they opened depends on the catalog, and what was granted of it stays.
  static func record(
    of payments: [VerifiedTransaction], in connection: borrowing Connection
  ) throws -> EntitlementRecord {
    var record = EntitlementRecord.empty
    for transaction in payments {
      let rows = try connection.query(
        """
        SELECT product, 1 AS is_unlocked FROM unlocked_issues
        WHERE store = ? AND environment = ? AND transaction_id = ?
        UNION ALL
        SELECT product, 0 FROM (
          SELECT DISTINCT product FROM grants WHERE store = ? AND environment = ? AND transaction_id = ?
            AND coalesce(revoked_by, '') <> 'operator')
        """, transaction.key.values + transaction.key.values)
      for row in rows {
        let product: ProductIdentifier = try row.identifier("product")
        if try row.boolean("is_unlocked") {
          record.unlocked[transaction.id, default: []].insert(product)
        } else {
          record.granted[transaction.id, default: []].insert(product)
        }
      }
    }
    return record
  }

  /// Writes down which issues a run unlocked, with the transaction that it began with, unless that was done before.
  static func noteUnlocked(
    _ issues: [ProductIdentifier], by transaction: TransactionKey, in connection: borrowing Connection
  ) throws {
    for issue in issues {
      try connection.execute(
        """
        INSERT INTO unlocked_issues (store, environment, transaction_id, product) VALUES (?, ?, ?, ?)
        ON CONFLICT DO NOTHING
        """, transaction.values + [.identifier(issue)])
    }
  }
}
