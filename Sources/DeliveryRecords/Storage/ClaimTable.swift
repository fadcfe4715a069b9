package import Commerce
package import CoreTypes
package import Database
package import DeliveryModel

/// Which application accounts purchases belong to, where that is another one than the store says. Keyed by the first
/// transaction of each purchase. Its functions run in the caller's transaction and throw ``DatabaseError``.
package enum ClaimTable {
  /// Returns the accounts that the purchase belongs to, in the order of their claims; empty where the store's
  /// word counts.
  package static func holders(
    of original: TransactionKey, in connection: borrowing Connection
  ) throws -> [ApplicationAccount] {
    try connection.query(
      """
      SELECT account FROM purchase_claims WHERE store = ? AND environment = ? AND original_id = ?
      ORDER BY position LIMIT ?
      """, original.values + [.integer(ClaimRule.shares.upperBound)]
    ).map { try $0.identifier("account") }
  }

  /// Whether requests have named the account lately for purchases of store accounts in an irregular number, told apart as customers
  /// are. Only purchases that the store sold for no account, or for another, are here.
  package static func isNamedByMany(
    _ account: ApplicationAccount, in environment: StoreEnvironment, at now: Timestamp,
    in connection: borrowing Connection
  ) throws -> Bool {
    let found = try connection.query(
      """
      SELECT DISTINCT transactions.customer FROM purchase_claims
      JOIN transactions ON transactions.store = purchase_claims.store
        AND transactions.environment = purchase_claims.environment
        AND transactions.transaction_id = purchase_claims.original_id
      WHERE purchase_claims.account = ? AND purchase_claims.environment = ? AND purchase_claims.since > ?
      LIMIT ?
      """,
      [
        .identifier(account), .choice(environment), .timestamp(now - StoreRules.feedingWindow),
        .integer(StoreRules.irregularPayers),
      ])
    return found.count == StoreRules.irregularPayers
  }

  /// From now on the purchase belongs to these, in that order.
  package static func set(
    _ holders: [ApplicationAccount], of original: TransactionKey, at now: Timestamp,
    in connection: borrowing Connection
  ) throws {
    try connection.execute(
      "DELETE FROM purchase_claims WHERE store = ? AND environment = ? AND original_id = ?", original.values)
    for (position, account) in holders.enumerated() {
      try connection.execute(
        """
        INSERT INTO purchase_claims (store, environment, original_id, position, account, since)
        VALUES (?, ?, ?, ?, ?, ?)
        """, original.values + [.integer(position), .identifier(account), .timestamp(now)])
    }
  }
}

/// Store accounts that began to buy for an application account, each by the purchase that it was granted
/// something for first. Rows are kept for a day (``StoreRules/feedingWindow``).
package enum FeedingTable {
  /// Writes down that the store account behind a purchase began to buy for the account. The first date stays.
  package static func note(
    _ account: ApplicationAccount, fedBy original: TransactionKey, at now: Timestamp,
    in connection: borrowing Connection
  ) throws {
    try connection.execute(
      """
      INSERT INTO account_feeds (account, store, environment, original_id, since) VALUES (?, ?, ?, ?, ?)
      ON CONFLICT DO NOTHING
      """, [.identifier(account)] + original.values + [.timestamp(now)])
  }

  /// Whether the customer was granted something that was bought for the account.
  package static func isKnown(
    _ account: ApplicationAccount, fedBy customer: CustomerIdentifier, in connection: borrowing Connection
  ) throws -> Bool {
    try connection.first(
      """
      SELECT 1 FROM transactions \(SQLDialect.index("transactions_by_customer"))
      JOIN grants ON grants.store = transactions.store AND grants.environment = transactions.environment
        AND grants.transaction_id = transactions.transaction_id
      WHERE transactions.customer = ? AND transactions.account = ? LIMIT 1
      """, [.customer(customer), .identifier(account)]) != nil
  }

  /// Whether something was granted for one of these, of which the first ``maximumCount`` are looked at.
  package static func isKnown(
    _ transactions: some Sequence<TransactionKey>, in connection: borrowing Connection
  ) throws -> Bool {
    try transactions.prefix(maximumCount).contains { transaction in
      try connection.first(
        "SELECT 1 FROM grants WHERE store = ? AND environment = ? AND transaction_id = ? LIMIT 1",
        transaction.values) != nil
    }
  }

  /// The purchase in question, and transactions of the proof that shows it.
  package static let maximumCount = 200

  /// Whether store accounts in an irregular number have begun to buy for it lately, in one environment of any stores.
  package static func isIrregular(
    _ account: ApplicationAccount, in environment: StoreEnvironment, at now: Timestamp,
    in connection: borrowing Connection
  ) throws -> Bool {
    let found = try connection.query(
      "SELECT 1 AS found FROM account_feeds WHERE account = ? AND environment = ? AND since > ? LIMIT ?",
      [
        .identifier(account), .choice(environment), .timestamp(now - StoreRules.feedingWindow),
        .integer(StoreRules.irregularPayers),
      ])
    return found.count == StoreRules.irregularPayers
  }

  /// Removes some of what began before `cutoff`; whether there may be more.
  package static func forget(
    before cutoff: Timestamp, limit: Int, in connection: borrowing Connection
  ) throws -> Bool {
    try connection.execute(
      """
      DELETE FROM account_feeds WHERE (account, store, environment, original_id) IN (
        SELECT account, store, environment, original_id FROM account_feeds WHERE since < ? ORDER BY since LIMIT ?)
      """, [.timestamp(cutoff), .integer(limit)]) == limit
  }
}

/// Grants that ended since another application account claimed their purchase. A row counts only as long as the
/// operator's word of its date is the grant's last one.
package enum TransferredGrantTable {
  /// - Parameter excused: the store's revocation that an operator had excused before.
  package static func insert(
    _ grant: Int64, decidedAt date: Timestamp, excusing excused: Timestamp?,
    in connection: borrowing Connection
  ) throws {
    try connection.execute(
      """
      INSERT INTO transferred_grants (grant_number, decided, excuses) VALUES (?, ?, ?)
      ON CONFLICT (grant_number) DO UPDATE SET decided = excluded.decided, excuses = excluded.excuses
      """, [.integer(grant), .timestamp(date), .optional(excused)])
  }

  /// The store's revocation that an operator had excused before the transfer. Nil where there was none, or the
  /// grant did not end by a transfer.
  package static func excused(of grant: GrantRecord, in connection: borrowing Connection) throws -> Timestamp?
  {
    let row = try connection.first(
      "SELECT excuses FROM transferred_grants WHERE grant_number = ?", [.integer(grant.number)])
    return try row?.optionalTimestamp("excuses")
  }

  /// Whether there is any grant of which that is kept.
  package static func hasExcuses(in connection: borrowing Connection) throws -> Bool {
    try connection.first("SELECT 1 FROM transferred_grants WHERE excuses > 0 LIMIT 1") != nil
  }

  /// Forgets the transfer, once the grant is given back.
  package static func remove(_ grant: Int64, in connection: borrowing Connection) throws {
    try connection.execute("DELETE FROM transferred_grants WHERE grant_number = ?", [.integer(grant)])
  }

  /// Whether that is why the grant is revoked, and nothing was decided about it since.
  package static func isReason(of grant: GrantRecord, in connection: borrowing Connection) throws -> Bool {
    guard let word = grant.operatorWord, word.decision == .revoke else { return false }
    let row = try connection.first(
      "SELECT decided FROM transferred_grants WHERE grant_number = ?", [.integer(grant.number)])
    return try row?.timestamp("decided") == word.asOf
  }
}

/// Grants whose customers agree that their store learns what was delivered.
package enum ConsentTable {
  /// Whether the customer has agreed with a request for this grant.
  package static func contains(_ grant: Int64, in connection: borrowing Connection) throws -> Bool {
    try connection.first("SELECT 1 FROM consumption_consents WHERE grant_number = ?", [.integer(grant)])
      != nil
  }

  /// Writes the customer's latest word down. One who agreed before keeps the date.
  package static func set(
    _ consents: Bool, for grant: Int64, at now: Timestamp, in connection: borrowing Connection
  ) throws {
    if consents {
      try connection.execute(
        "INSERT INTO consumption_consents (grant_number, since) VALUES (?, ?) ON CONFLICT DO NOTHING",
        [.integer(grant), .timestamp(now)])
    } else {
      try connection.execute("DELETE FROM consumption_consents WHERE grant_number = ?", [.integer(grant)])
    }
  }
}
