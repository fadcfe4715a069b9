import Commerce
package import CoreTypes
package import Database

/// The table of tokens, within one database transaction.
package enum PurchaseTokenTable {
  package static func insert(_ token: PurchaseToken, in connection: borrowing Connection) throws {
    try connection.execute(
      """
      INSERT INTO purchase_tokens (token, account, chain, first_id, kind, linked, deadline, acknowledged, consumed,
        voided_reason)
      VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
      """,
      [
        .text(token.token), .integer(token.account), .integer(token.chain), .integer(token.first),
        .text(token.kind.rawValue), .optional(token.linked), .optional(token.deadline),
        .optional(token.acknowledged), .optional(token.consumed),
        .optional(token.voidedReason, { .integer($0) }),
      ])
  }

  /// Writes what may change; account, chain, first transaction and kind stay.
  package static func update(_ token: PurchaseToken, in connection: borrowing Connection) throws {
    try connection.execute(
      """
      UPDATE purchase_tokens SET deadline = ?, acknowledged = ?, consumed = ?, voided_reason = ? WHERE token = ?
      """,
      [
        .optional(token.deadline), .optional(token.acknowledged), .optional(token.consumed),
        .optional(token.voidedReason, { .integer($0) }), .text(token.token),
      ])
  }

  /// Nil for an unknown token.
  package static func find(_ token: String, in connection: borrowing Connection) throws -> PurchaseToken? {
    try connection.first("SELECT * FROM purchase_tokens WHERE token = ?", [.text(token)]).map(record)
  }

  /// A purchase that was pending is paid for: it may go on a subscription that lapsed, whose token it follows then.
  static func bind(_ transaction: StoredTransaction, in connection: borrowing Connection) throws {
    guard let chain = transaction.chain, let token = try find(first: transaction.id, in: connection),
      token.chain != chain
    else { return }
    let linked = try covering(transaction.id, chain: chain, in: connection)?.token
    try connection.execute(
      "UPDATE purchase_tokens SET chain = ?, linked = ? WHERE token = ?",
      [.integer(chain), .optional(linked), .text(token.token)])
  }

  /// The token that begins with a transaction. Nil where none does.
  package static func find(first: Int64, in connection: borrowing Connection) throws -> PurchaseToken? {
    try connection.first("SELECT * FROM purchase_tokens WHERE first_id = ?", [.integer(first)]).map(record)
  }

  /// The token that a transaction of the chain is of: the last that begins with it or before it. With `.max`
  /// it is the latest token of the chain. Nil where no token begins there or before.
  package static func covering(
    _ transaction: Int64, chain: Int64, in connection: borrowing Connection
  ) throws -> PurchaseToken? {
    try connection.first(
      "SELECT * FROM purchase_tokens WHERE chain = ? AND first_id <= ? ORDER BY first_id DESC LIMIT 1",
      [.integer(chain), .integer(transaction)]
    ).map(record)
  }

  /// The token that took this one's place. Nil for the latest of the chain.
  package static func successor(
    of token: PurchaseToken, in connection: borrowing Connection
  ) throws -> PurchaseToken? {
    try connection.first(
      "SELECT * FROM purchase_tokens WHERE chain = ? AND first_id > ? ORDER BY first_id LIMIT 1",
      [.integer(token.chain), .integer(token.first)]
    ).map(record)
  }

  /// Those that are not acknowledged in time. The earliest deadline first.
  package static func overdue(
    at now: Timestamp, limit: Int, in connection: borrowing Connection
  ) throws -> [PurchaseToken] {
    try connection.query(
      "SELECT * FROM purchase_tokens WHERE deadline <= ? ORDER BY deadline LIMIT ?",
      [.timestamp(now), .integer(limit)]
    ).map(record)
  }

  /// Nil where nothing is to be acknowledged.
  package static func nextDeadline(in connection: borrowing Connection) throws -> Timestamp? {
    try connection.first("SELECT min(deadline) AS due FROM purchase_tokens WHERE deadline IS NOT NULL")?
      .optionalTimestamp("due")
  }

  /// Returns the transactions that were paid for under a token, the earliest first. A one-time purchase has
  /// its one transaction, in whatever state. A subscription has those that were sold up to the next token's
  /// first; restored copies are none of them.
  package static func transactions(
    of token: PurchaseToken, in connection: borrowing Connection
  ) throws -> [StoredTransaction] {
    guard token.kind == .subscription else {
      return try TransactionTable.find(in: connection, id: token.first).map { [$0] } ?? []
    }
    let end = try successor(of: token, in: connection)?.first ?? .max
    return try connection.query(
      """
      SELECT * FROM transactions
      WHERE account = ? AND original_id = ? AND id >= ? AND id < ? AND state = 'purchased' AND reason <> 'restore'
      ORDER BY id
      """, [.integer(token.account), .integer(token.chain), .integer(token.first), .integer(end)]
    ).map(TransactionTable.transaction)
  }

  /// Returns the refunded or revoked transactions with their tokens, the earliest first: at most `limit`,
  /// after `offset` of them. Both ends are included. One whose token does not cover it is left out, so that a
  /// page may have fewer.
  package static func voided(
    from start: Timestamp, to end: Timestamp, withSubscriptions: Bool, after offset: Int, limit: Int,
    in connection: borrowing Connection
  ) throws -> [(transaction: StoredTransaction, token: PurchaseToken)] {
    let kinds = withSubscriptions ? "" : "AND transactions.type <> 'auto-renewable-subscription'"
    let rows = try connection.query(
      """
      SELECT DISTINCT transactions.* FROM transactions JOIN purchase_tokens
        ON purchase_tokens.chain IN (transactions.id, transactions.original_id)
        AND purchase_tokens.first_id <= transactions.id
      WHERE transactions.revoked BETWEEN ? AND ? AND reason <> 'restore' \(kinds)
      ORDER BY transactions.revoked, transactions.id LIMIT ? OFFSET ?
      """, [.timestamp(start), .timestamp(end), .integer(limit), .integer(offset)])
    return try rows.compactMap { row in
      let transaction = try TransactionTable.transaction(row)
      guard let chain = transaction.chain,
        let token = try covering(transaction.id, chain: chain, in: connection)
      else { return nil }
      return (transaction, token)
    }
  }

  /// A kind that this version does not know is read as `product`.
  private static func record(_ row: Row) throws -> PurchaseToken {
    PurchaseToken(
      token: try row.text("token"), account: try row.integer("account"), chain: try row.integer("chain"),
      first: try row.integer("first_id"),
      kind: PurchaseToken.Kind(rawValue: try row.text("kind")) ?? .product,
      linked: try row.optionalText("linked"), deadline: try row.optionalTimestamp("deadline"),
      acknowledged: try row.optionalTimestamp("acknowledged"),
      consumed: try row.optionalTimestamp("consumed"),
      voidedReason: try row.optionalInteger("voided_reason").map { Int($0) })
  }
}
