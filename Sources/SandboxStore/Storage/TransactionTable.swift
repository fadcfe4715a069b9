import Commerce
import CoreTypes
import Database
import ServiceRuntime

/// The table of transactions, within one database transaction.
enum TransactionTable {
  /// Inserts a purchase that begins; the identifier is the next free one.
  static func insert(
    in connection: borrowing Connection, account: Int64, order: PurchaseOrder, key: String?,
    requested: Timestamp
  ) throws -> StoredTransaction {
    try connection.execute(
      """
      INSERT INTO transactions
        (account, product, quantity, device, application_username, requested, state, idempotency_key)
      VALUES (?, ?, ?, ?, ?, ?, 'purchasing', ?)
      """,
      [
        .integer(account), .text(order.product.description), .integer(order.quantity),
        .optional(order.device?.description), .optional(order.applicationUsername), .timestamp(requested),
        .optional(key),
      ])
    return StoredTransaction(
      id: connection.lastInsertedRowID, account: account, product: order.product, quantity: order.quantity,
      device: order.device, applicationUsername: order.applicationUsername, requested: requested,
      life: PurchaseLifecycle())
  }

  /// The purchase that was begun with that key.
  static func find(
    in connection: borrowing Connection, account: Int64, key: String
  ) throws -> StoredTransaction? {
    try connection.first(
      "SELECT * FROM transactions WHERE account = ? AND idempotency_key = ?", [.integer(account), .text(key)]
    ).map(transaction)
  }

  /// The key is free for another purchase.
  static func forgetKey(of transaction: Int64, in connection: borrowing Connection) throws {
    try connection.execute(
      "UPDATE transactions SET idempotency_key = NULL WHERE id = ?", [.integer(transaction)])
  }

  /// Saves the state of a transaction.
  static func update(_ transaction: StoredTransaction, in connection: borrowing Connection) throws {
    var sale: PurchaseLifecycle.Sale?
    var finished: Timestamp?
    var failure: PurchaseFailure?
    let state: SQLValue
    switch transaction.life.state {
    case .purchasing: state = "purchasing"
    case .purchased(let sold, let date):
      state = "purchased"
      sale = sold
      finished = date
    case .failed(let reason):
      state = "failed"
      failure = reason
    }
    try connection.execute(
      """
      UPDATE transactions SET state = ?, failure = ?, type = ?, original_id = ?, purchased = ?, expires = ?,
        finished = ?
      WHERE id = ?
      """,
      [
        state, .optional(failure?.rawValue), .optional(sale?.type.rawValue), .optional(sale?.originalID),
        .optional(sale?.date), .optional(sale?.expires), .optional(finished), .integer(transaction.id),
      ])
  }

  static func find(in connection: borrowing Connection, id: Int64) throws -> StoredTransaction? {
    try connection.first("SELECT * FROM transactions WHERE id = ?", [.integer(id)]).map(transaction)
  }

  /// An account's transactions by their identifiers, from the first after `after`; at most `limit`.
  static func list(
    in connection: borrowing Connection, account: Int64, inQueue: Bool, after: Int64, limit: Int
  ) throws -> [StoredTransaction] {
    let queue = inQueue ? "AND finished IS NULL AND state <> 'failed'" : ""
    return try connection.query(
      "SELECT * FROM transactions WHERE account = ? \(queue) AND id > ? ORDER BY id LIMIT ?",
      [.integer(account), .integer(after), .integer(limit)]
    ).map(transaction)
  }

  /// The purchase that a later one of the same product continues.
  static func originalID(
    in connection: borrowing Connection, account: Int64, product: ProductIdentifier
  ) throws -> Int64? {
    try connection.first(
      """
      SELECT original_id FROM transactions
      WHERE account = ? AND product = ? AND state = 'purchased' ORDER BY id LIMIT 1
      """, [.integer(account), .text(product.description)])?.integer("original_id")
  }

  static func purchasing(in connection: borrowing Connection, limit: Int) throws -> [StoredTransaction] {
    try connection.query(
      "SELECT * FROM transactions WHERE state = 'purchasing' ORDER BY id LIMIT ?", [.integer(limit)]
    ).map(transaction)
  }

  static func countInQueues(in connection: borrowing Connection) throws -> Int64 {
    try connection.first(
      "SELECT count(*) AS count FROM transactions WHERE finished IS NULL AND state <> 'failed'")?
      .integer("count") ?? 0
  }

  static func count(in connection: borrowing Connection, account: Int64) throws -> Int {
    let row = try connection.first(
      "SELECT count(*) AS count FROM transactions WHERE account = ?", [.integer(account)])
    return Int(try row?.integer("count") ?? 0)
  }

  private static func transaction(_ row: Row) throws -> StoredTransaction {
    guard let product = ProductIdentifier(try row.text("product")) else {
      throw StateDirectoryError(
        .damaged, path: "store.sqlite", message: "a transaction is of no product")
    }
    return StoredTransaction(
      id: try row.integer("id"), account: try row.integer("account"), product: product,
      quantity: Int(try row.integer("quantity")),
      device: try row.optionalText("device").flatMap(DeviceIdentifier.init),
      applicationUsername: try row.optionalText("application_username"),
      requested: try row.timestamp("requested"), life: try life(row))
  }

  private static func life(_ row: Row) throws -> PurchaseLifecycle {
    switch try row.text("state") {
    case "purchasing":
      return PurchaseLifecycle(.purchasing)
    case "failed":
      return PurchaseLifecycle(.failed(PurchaseFailure(rawValue: try row.text("failure"))))
    default:
      guard let type = ProductType(rawValue: try row.text("type")) else {
        throw StateDirectoryError(
          .damaged, path: "store.sqlite", message: "a transaction is of no known product type")
      }
      let sale = PurchaseLifecycle.Sale(
        type: type, originalID: try row.integer("original_id"), date: try row.timestamp("purchased"),
        expires: try row.optionalTimestamp("expires"))
      return PurchaseLifecycle(.purchased(sale, finished: try row.optionalTimestamp("finished")))
    }
  }
}
