package import Commerce
package import CoreTypes
package import Database
package import Entitlements

/// The records of what transactions opened, written down when they led to content (``EntitlementRecord``).
package enum EntitlementRecordTable {
  private enum Kind: String {
    case unlocked
    case backIssue = "back-issue"
    case granted
    case length
  }

  /// The record of payments for subscriptions and of purchases of applications, as it was at `moment`: what they opened depends
  /// on the catalog, and what was granted of it stays. Grants that an operator revoked do not count. Asked with
  /// several stores and environments, it reads each by itself. Throws ``DatabaseError`` and
  /// ``ColumnTypeMismatch``.
  ///
  /// - Parameters:
  ///   - payments: the transactions whose record is read.
  ///   - moment: grants from after it are left out; nil for all.
  package static func record(
    of payments: [VerifiedTransaction], until moment: Timestamp? = nil, in connection: borrowing Connection
  ) throws -> EntitlementRecord {
    var record = EntitlementRecord.empty
    for (place, payments) in Dictionary(grouping: payments, by: { Place(of: $0) }) {
      for ids in KeyBatch.all(of: payments.map(\.id)) {
        let key = [.identifier(place.store), .choice(place.environment)] + ids.values
        let rows = try connection.query(
          """
          SELECT transaction_id, product AS value, CASE is_back_issue WHEN 1 THEN 'back-issue' ELSE 'unlocked' END AS kind
          FROM unlocked_issues
          WHERE store = ? AND environment = ? AND transaction_id IN (\(ids.placeholders))
          UNION ALL
          SELECT transaction_id, product, 'granted' FROM grants
          WHERE store = ? AND environment = ? AND transaction_id IN (\(ids.placeholders))
            AND coalesce(revoked_by, '') <> 'operator' AND created <= ?
          UNION ALL
          SELECT transaction_id, length, 'length' FROM transactions
          WHERE store = ? AND environment = ? AND transaction_id IN (\(ids.placeholders)) AND length IS NOT NULL
          """, key + key + [.integer(moment?.millisecondsSinceEpoch ?? .max)] + key)
        for row in rows { try Self.take(row, into: &record) }
      }
    }
    return record
  }

  /// Transactions of different stores may have the same number.
  private struct Place: Hashable {
    var store: StoreIdentifier
    var environment: StoreEnvironment

    init(of transaction: VerifiedTransaction) {
      store = transaction.store
      environment = transaction.environment
    }
  }

  /// Adds one row to the record.
  private static func take(_ row: Row, into record: inout EntitlementRecord) throws {
    let transaction: TransactionIdentifier = try row.identifier("transaction_id")
    let kind: Kind = try row.choice("kind")
    switch kind {
    case .unlocked:
      record.unlocked[transaction, default: []].insert(try row.identifier("value"))
    case .backIssue:
      let issue: ProductIdentifier = try row.identifier("value")
      record.unlocked[transaction, default: []].insert(issue)
      record.backIssues[transaction, default: []].insert(issue)
    case .granted:
      record.granted[transaction, default: []].insert(try row.identifier("value"))
    case .length: record.lengths[transaction] = BillingPeriod(try row.text("value"))
    }
  }

  /// Writes down which issues a run unlocked, and by which rule each, with the transaction that it began with, unless that was done
  /// before. Needs no lock: what is written first stays. Throws ``DatabaseError``.
  package static func noteUnlocked(
    _ issues: [ProductIdentifier: EntitlementRule], by transaction: TransactionKey,
    in connection: borrowing Connection
  ) throws {
    for (issue, rule) in issues {
      try connection.execute(
        """
        INSERT INTO unlocked_issues (store, environment, transaction_id, product, is_back_issue)
        VALUES (?, ?, ?, ?, ?)
        ON CONFLICT DO NOTHING
        """, transaction.values + [.identifier(issue), .integer(rule == .backIssue ? 1 : 0)])
    }
  }

  /// Writes down how long a new payment lasts that its store tells no end of, where its product is a subscription that does not
  /// renew by itself. The catalog may say otherwise later. Runs in the write that takes the payment into the
  /// ledger and holds the product shared. Throws ``DatabaseError``.
  package static func noteLength(
    of payment: VerifiedTransaction, in connection: borrowing Connection
  ) throws {
    guard payment.expiresDate == nil,
      // Most products are something else, and are not read whole for that.
      try connection.first(
        "SELECT 1 FROM products WHERE id = ? AND type = ?",
        [.identifier(payment.product), .choice(ProductType.nonRenewingSubscription)]) != nil,
      let product = try ProductTable.find(payment.product, in: connection)?.product,
      product.type == .nonRenewingSubscription, let length = product.period
    else { return }
    try connection.execute(
      """
      UPDATE transactions SET length = ?
      WHERE store = ? AND environment = ? AND transaction_id = ? AND length IS NULL
      """, [.text(length.description)] + payment.key.values)
  }
}
