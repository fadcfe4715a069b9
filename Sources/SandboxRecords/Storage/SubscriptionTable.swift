package import Commerce
package import CoreTypes
package import Database
import PullboxAPI
import ServiceRuntime

/// The table of subscriptions, within one database transaction: each a document, with what it is found by beside it.
package enum SubscriptionTable {
  /// Saves it as it is now, of which ``ChangeRecorder`` tells. The row keeps its account and group, and `due`
  /// follows from the state.
  static func save(_ subscription: StoredSubscription, in connection: borrowing Connection) throws {
    let document = String(decoding: try APIJSON.encode(subscription.life), as: UTF8.self)
    try connection.execute(
      """
      INSERT INTO subscriptions (original_id, account, group_name, due, document) VALUES (?, ?, ?, ?, ?)
      ON CONFLICT (original_id) DO UPDATE SET due = excluded.due, document = excluded.document
      """,
      [
        .integer(subscription.originalID), .integer(subscription.account),
        .text(subscription.group.description), .optional(subscription.life.due), .text(document),
      ])
  }

  /// Nil also for a subscription of another account.
  package static func find(
    in connection: borrowing Connection, account: Int64, originalID: Int64
  ) throws -> StoredSubscription? {
    try connection.first(
      "SELECT * FROM subscriptions WHERE account = ? AND original_id = ?",
      [.integer(account), .integer(originalID)]
    ).map(subscription)
  }

  /// Nil for an original transaction of something else, and for the copies that a family shares of a
  /// subscription.
  package static func find(
    in connection: borrowing Connection, originalID: Int64
  ) throws -> StoredSubscription? {
    try connection.first("SELECT * FROM subscriptions WHERE original_id = ?", [.integer(originalID)])
      .map(subscription)
  }

  /// The account's subscription of a group; one that was sold before there were groups is of its product's.
  /// Of several the one that is not over counts, then the latest.
  package static func find(
    in connection: borrowing Connection, account: Int64, group: ProductIdentifier, product: ProductIdentifier
  ) throws -> StoredSubscription? {
    try connection.first(
      """
      SELECT * FROM subscriptions WHERE account = ? AND group_name IN (?, ?)
      ORDER BY due IS NULL, original_id DESC LIMIT 1
      """, [.integer(account), .text(group.description), .text(product.description)]
    ).map(subscription)
  }

  /// In the order of the first transactions, also those that are over.
  package static func list(
    in connection: borrowing Connection, account: Int64
  ) throws -> [StoredSubscription] {
    try connection.query(
      "SELECT * FROM subscriptions WHERE account = ? ORDER BY original_id", [.integer(account)]
    ).map(subscription)
  }

  /// Those with a step to take, the earliest first; of one account or of all. Those that are over have no
  /// step and are never among them.
  package static func due(
    in connection: borrowing Connection, at now: Timestamp, account: Int64?, limit: Int
  ) throws -> [StoredSubscription] {
    let ofAccount = account == nil ? "" : "AND account = ?"
    return try connection.query(
      "SELECT * FROM subscriptions WHERE due <= ? \(ofAccount) ORDER BY due LIMIT ?",
      [.timestamp(now)] + (account.map { [.integer($0)] } ?? []) + [.integer(limit)]
    ).map(subscription)
  }

  /// When the next of all steps is to be taken. Nil where all are over.
  package static func nextDue(in connection: borrowing Connection) throws -> Timestamp? {
    try connection.first("SELECT min(due) AS due FROM subscriptions WHERE due IS NOT NULL")?
      .optionalTimestamp("due")
  }

  /// Throws ``StateDirectoryError`` `damaged` for a row without a group, and a decoding error for a document
  /// that this version cannot read.
  private static func subscription(_ row: Row) throws -> StoredSubscription {
    guard let group = ProductIdentifier(try row.text("group_name")) else {
      throw StateDirectoryError(.damaged, path: "store.sqlite", message: "a subscription is of no group")
    }
    return StoredSubscription(
      originalID: try row.integer("original_id"), account: try row.integer("account"), group: group,
      life: try APIJSON.decode(SubscriptionLifecycle.self, from: Array(try row.text("document").utf8)))
  }

  /// Inserts the subscriptions that were sold before there were renewals: each with its last period, with
  /// which it ends. A part of the migration, in its database transaction. Their plans have a month as the
  /// period and no price: they are never renewed.
  static func insertEarlier(in connection: borrowing Connection) throws {
    let rows = try connection.query(
      """
      SELECT original_id, account, product, purchased, max(expires) AS expires FROM transactions
      WHERE state = 'purchased' AND type = 'auto-renewable-subscription' AND expires IS NOT NULL
      GROUP BY original_id
      """)
    for row in rows {
      guard let product = ProductIdentifier(try row.text("product")) else { continue }
      let period = SubscriptionLifecycle.Period(
        plan: SubscriptionPlan(product: product, period: .month, price: nil),
        start: try row.timestamp("purchased"), end: try row.timestamp("expires"))
      try save(
        StoredSubscription(
          originalID: try row.integer("original_id"), account: try row.integer("account"), group: product,
          life: SubscriptionLifecycle(withoutRenewals: period)), in: connection)
    }
  }
}

extension SubscriptionTable {
  /// The group of each of an account's subscriptions, by its first transaction.
  package static func groups(of account: Int64, in connection: borrowing Connection) throws -> [Int64:
    ProductIdentifier]
  {
    Dictionary(
      try list(in: connection, account: account).map { ($0.originalID, $0.group) }, uniquingKeysWith: { $1 })
  }

  /// Those that are not over, by their first transactions, from the first after one.
  package static func running(
    after originalID: Int64, limit: Int, in connection: borrowing Connection
  ) throws -> [StoredSubscription] {
    try connection.query(
      "SELECT * FROM subscriptions WHERE due IS NOT NULL AND original_id > ? ORDER BY original_id LIMIT ?",
      [.integer(originalID), .integer(limit)]
    ).map(subscription)
  }
}
