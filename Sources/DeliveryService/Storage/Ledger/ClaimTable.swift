import Commerce
import CoreTypes
import Database

/// Which application accounts purchases belong to, where that is another one than the store says. Keyed by the first
/// transaction of each purchase.
enum ClaimTable {
  static func holders(
    of original: TransactionKey, in connection: borrowing Connection
  ) throws -> [ApplicationAccount] {
    try connection.query(
      """
      SELECT account FROM purchase_claims WHERE store = ? AND environment = ? AND original_id = ?
      ORDER BY position LIMIT ?
      """, original.values + [.integer(ClaimRule.shares.upperBound)]
    ).map { try $0.identifier("account") }
  }

  /// From now on the purchase belongs to these, in that order.
  static func set(
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

/// Store accounts that began to buy for an application account. A store account is known by the first purchase that nothing
/// else of it was known with.
enum FeedingTable {
  static func note(
    _ account: ApplicationAccount, fedBy original: TransactionKey, at now: Timestamp,
    in connection: borrowing Connection
  ) throws {
    try connection.execute(
      """
      INSERT INTO account_feeds (account, store, environment, original_id, since) VALUES (?, ?, ?, ?, ?)
      ON CONFLICT DO NOTHING
      """, [.identifier(account)] + original.values + [.timestamp(now)])
  }

  /// Whether store accounts in an irregular number have begun to buy for it lately, in one environment of any stores.
  static func isIrregular(
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
  static func forget(
    before cutoff: Timestamp, limit: Int, in connection: borrowing Connection
  ) throws -> Bool {
    try connection.execute(
      """
      DELETE FROM account_feeds WHERE (account, store, environment, original_id) IN (
        SELECT account, store, environment, original_id FROM account_feeds WHERE since < ? ORDER BY since LIMIT ?)
      """, [.timestamp(cutoff), .integer(limit)]) == limit
  }
}

/// Grants whose customers agree that their store learns what was delivered.
enum ConsentTable {
  static func contains(_ grant: Int64, in connection: borrowing Connection) throws -> Bool {
    try connection.first("SELECT 1 FROM consumption_consents WHERE grant_number = ?", [.integer(grant)])
      != nil
  }

  static func set(
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
