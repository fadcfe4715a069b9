import Commerce
import CoreTypes
import Crypto
import Database

/// A purchase as the Google-like interface knows it, by a token.
struct PurchaseToken: Hashable, Sendable {
  enum Kind: String, Hashable, Sendable {
    case product
    case subscription
  }

  let token: String
  let account: Int64
  /// The transaction of a one-time purchase; the first one of a subscription.
  let chain: Int64
  /// The transaction with which it begins.
  let first: Int64
  let kind: Kind
  /// The token whose place it took.
  var linked: String?
  /// By when it is to be acknowledged; nil once it was, or was given back.
  var deadline: Timestamp?
  var acknowledged: Timestamp?
  var consumed: Timestamp?
  /// Why it was given back, as Google counts reasons.
  var voidedReason: Int?

  /// 144 characters that cannot be guessed, in the shape of Google's.
  static func random() -> String {
    Base64.encode(RandomBytes.make(18), .url) + ".AO-J1O" + Base64.encode(RandomBytes.make(84), .url)
  }
}

/// The table of tokens, within one database transaction.
enum PurchaseTokenTable {
  static func insert(_ token: PurchaseToken, in connection: borrowing Connection) throws {
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

  static func update(_ token: PurchaseToken, in connection: borrowing Connection) throws {
    try connection.execute(
      """
      UPDATE purchase_tokens SET deadline = ?, acknowledged = ?, consumed = ?, voided_reason = ? WHERE token = ?
      """,
      [
        .optional(token.deadline), .optional(token.acknowledged), .optional(token.consumed),
        .optional(token.voidedReason, { .integer($0) }), .text(token.token),
      ])
  }

  static func find(_ token: String, in connection: borrowing Connection) throws -> PurchaseToken? {
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

  /// The token that begins with a transaction.
  static func find(first: Int64, in connection: borrowing Connection) throws -> PurchaseToken? {
    try connection.first("SELECT * FROM purchase_tokens WHERE first_id = ?", [.integer(first)]).map(record)
  }

  /// The token that a transaction of the chain is of: the last that begins with it or before it.
  static func covering(
    _ transaction: Int64, chain: Int64, in connection: borrowing Connection
  ) throws -> PurchaseToken? {
    try connection.first(
      "SELECT * FROM purchase_tokens WHERE chain = ? AND first_id <= ? ORDER BY first_id DESC LIMIT 1",
      [.integer(chain), .integer(transaction)]
    ).map(record)
  }

  /// The token that took this one's place.
  static func successor(
    of token: PurchaseToken, in connection: borrowing Connection
  ) throws -> PurchaseToken? {
    try connection.first(
      "SELECT * FROM purchase_tokens WHERE chain = ? AND first_id > ? ORDER BY first_id LIMIT 1",
      [.integer(token.chain), .integer(token.first)]
    ).map(record)
  }

  /// Those that are not acknowledged in time.
  static func overdue(
    at now: Timestamp, limit: Int, in connection: borrowing Connection
  ) throws -> [PurchaseToken] {
    try connection.query(
      "SELECT * FROM purchase_tokens WHERE deadline <= ? ORDER BY deadline LIMIT ?",
      [.timestamp(now), .integer(limit)]
    ).map(record)
  }

  static func nextDeadline(in connection: borrowing Connection) throws -> Timestamp? {
    try connection.first("SELECT min(deadline) AS due FROM purchase_tokens WHERE deadline IS NOT NULL")?
      .optionalTimestamp("due")
  }

  /// Returns the transactions that were paid for under a token, the earliest first.
  static func transactions(
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
  /// after `offset` of them.
  static func voided(
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

extension StoredTransaction {
  /// The transaction that all its tokens share: itself, or the first transaction of a subscription; nil
  /// before it was sold.
  var chain: Int64? { sale.map { $0.type == .autoRenewableSubscription ? $0.originalID : id } }
}

/// An order as Google numbers them, made of the transaction that a token begins with: `GPA.2000-0000-0000-0001`, and `..0` behind
/// it for the first renewal.
enum OrderName {
  static func text(first: Int64, renewal: Int?) -> String {
    let digits = String(first)
    let padded = String(repeating: "0", count: max(0, 16 - digits.count)) + digits
    var groups: [Substring] = []
    var rest = padded[...]
    while rest.count > 4 {
      groups.append(rest.prefix(4))
      rest = rest.dropFirst(4)
    }
    groups.append(rest)
    return "GPA." + groups.joined(separator: "-") + (renewal.map { "..\($0)" } ?? "")
  }

  /// Nil for what is no order.
  static func parse(_ text: String) -> (first: Int64, renewal: Int?)? {
    guard text.hasPrefix("GPA."), text.utf8.count <= 40 else { return nil }
    let body = text.dropFirst(4)
    let parts = body.split(separator: ".", omittingEmptySubsequences: false)
    guard let first = Int64(parts[0].filter { $0 != "-" }) else { return nil }
    switch parts.count {
    case 1: return (first, nil)
    case 3 where parts[1].isEmpty: return Int(parts[2]).map { (first, $0) }
    default: return nil
    }
  }
}
