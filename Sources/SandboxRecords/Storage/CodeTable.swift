package import Commerce
package import Database
package import PullboxAPI
import ServiceRuntime

/// A gift or promotional code as the store keeps it.
package struct StoredCode: Hashable, Sendable {
  /// Sixteen hexadecimal digits in capitals.
  package let code: String
  package let product: ProductIdentifier
  /// Nil for a gift, and for a subscription whose first period costs nothing.
  package let offer: StoreOffer?
  /// Accounts that may redeem it, each once.
  package let uses: Int

  package init(code: String, product: ProductIdentifier, offer: StoreOffer?, uses: Int) {
    self.code = code
    self.product = product
    self.offer = offer
    self.uses = uses
  }

  /// The offer that a subscription of that plan begins with. Without an offer in the code that is a free
  /// trial of one period.
  package func firstOffer(for plan: SubscriptionPlan) -> StoreOffer {
    offer ?? StoreOffer(payment: .freeTrial, period: plan.period)
  }
}

/// The tables of codes and of who redeemed them, within one database transaction.
package enum CodeTable {
  package static func insert(_ code: StoredCode, in connection: borrowing Connection) throws {
    let offer = try code.offer.map { String(decoding: try APIJSON.encode($0), as: UTF8.self) }
    try connection.execute(
      "INSERT INTO codes (code, product, offer, uses) VALUES (?, ?, ?, ?)",
      [.text(code.code), .text(code.product.description), .optional(offer), .integer(code.uses)])
  }

  /// Throws ``StateDirectoryError`` `damaged` for a row without a product.
  package static func find(_ code: String, in connection: borrowing Connection) throws -> StoredCode? {
    guard let row = try connection.first("SELECT * FROM codes WHERE code = ?", [.text(code)]) else {
      return nil
    }
    guard let product = ProductIdentifier(try row.text("product")) else {
      throw StateDirectoryError(.damaged, path: "store.sqlite", message: "a code is of no product")
    }
    let offer = try row.optionalText("offer").map {
      try APIJSON.decode(StoreOffer.self, from: Array($0.utf8))
    }
    return StoredCode(code: code, product: product, offer: offer, uses: Int(try row.integer("uses")))
  }

  package static func count(in connection: borrowing Connection) throws -> Int64 {
    try connection.first("SELECT count(*) AS count FROM codes")?.integer("count") ?? 0
  }

  /// Accounts that have redeemed it.
  package static func redemptions(of code: String, in connection: borrowing Connection) throws -> Int {
    let row = try connection.first(
      "SELECT count(*) AS count FROM redemptions WHERE code = ?", [.text(code)])
    return Int(try row?.integer("count") ?? 0)
  }

  /// Whether the account has used it, whatever became of that sale.
  package static func isRedeemed(
    _ code: String, by account: Int64, in connection: borrowing Connection
  ) throws -> Bool {
    try connection.first(
      "SELECT 1 FROM redemptions WHERE code = ? AND account = ?", [.text(code), .integer(account)]) != nil
  }

  /// Returns the transaction that the account's request with that key was answered with; nil where that
  /// request did not redeem the code.
  package static func answer(
    to key: String, of code: String, account: Int64, in connection: borrowing Connection
  ) throws -> StoredTransaction? {
    let row = try connection.first(
      "SELECT transaction_id FROM redemptions WHERE code = ? AND account = ? AND idempotency_key = ?",
      [.text(code), .integer(account), .text(key)])
    return try row?.optionalInteger("transaction_id").flatMap {
      try TransactionTable.find(in: connection, id: $0)
    }
  }

  /// The account has not redeemed it before. A second row of the same account breaks the table's primary key.
  ///
  /// - Parameter key: the idempotency key of the request; nil where it bore none.
  package static func redeem(
    _ code: String, account: Int64, key: String?, for transaction: StoredTransaction,
    in connection: borrowing Connection
  ) throws {
    try connection.execute(
      "INSERT INTO redemptions (code, account, idempotency_key, transaction_id) VALUES (?, ?, ?, ?)",
      [.text(code), .integer(account), .optional(key), .integer(transaction.id)])
  }
}
