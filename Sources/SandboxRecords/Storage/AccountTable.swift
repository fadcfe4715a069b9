package import CoreTypes
package import Crypto
package import Database
import PullboxAPI

/// The table of accounts, within one database transaction.
package enum AccountTable {
  /// - Parameters:
  ///   - name: the account's name in answers, which no other one has.
  ///   - title: the name that the test gave it, which may stand twice.
  ///   - token: the digest of the token, which is kept nowhere.
  package static func insert(
    in connection: borrowing Connection, name: String, title: String, territory: String, token: SHA256Digest,
    created: Timestamp
  ) throws {
    try connection.execute(
      "INSERT INTO accounts (name, title, territory, token_digest, created) VALUES (?, ?, ?, ?, ?)",
      [.text(name), .text(title), .text(territory), .blob(token.array), .timestamp(created)])
  }

  /// Nil for a token of no account.
  package static func find(in connection: borrowing Connection, token: SHA256Digest) throws -> Account? {
    try connection.first(
      "SELECT * FROM accounts WHERE token_digest = ?", [.blob(token.array)]
    ).map(account)
  }

  static func find(in connection: borrowing Connection, name: String) throws -> Account? {
    try connection.first("SELECT * FROM accounts WHERE name = ?", [.text(name)]).map(account)
  }

  /// Throws `not-found`.
  package static func named(_ name: String, in connection: borrowing Connection) throws -> Account {
    guard let account = try find(in: connection, name: name) else {
      throw Problem(.notFound, "there is no account \(name)")
    }
    return account
  }

  /// Nil where there is no such row.
  package static func find(in connection: borrowing Connection, id: Int64) throws -> Account? {
    try connection.first("SELECT * FROM accounts WHERE id = ?", [.integer(id)]).map(account)
  }

  /// Columns without a value stand for what ``ApplicationPurchase`` has by itself.
  private static func account(_ row: Row) throws -> Account {
    let standard = ApplicationPurchase()
    return Account(
      id: try row.integer("id"), name: try row.text("name"), territory: try row.text("territory"),
      canMakePayments: try row.boolean("can_make_payments"), asksToBuy: try row.boolean("asks_to_buy"),
      application: ApplicationPurchase(
        originalVersion: try row.optionalText("original_version") ?? standard.originalVersion,
        date: try row.optionalTimestamp("original_purchased") ?? standard.date,
        download: try row.optionalInteger("download_id") ?? standard.download))
  }

  /// Saves what may change of an account. Name, territory and token never change.
  package static func update(_ account: Account, in connection: borrowing Connection) throws {
    try connection.execute(
      """
      UPDATE accounts SET can_make_payments = ?, asks_to_buy = ?, original_version = ?, original_purchased = ?,
        download_id = ? WHERE id = ?
      """,
      [
        .boolean(account.canMakePayments), .boolean(account.asksToBuy),
        .text(account.application.originalVersion), .timestamp(account.application.date),
        .integer(account.application.download), .integer(account.id),
      ])
  }

  /// Counts row by row, whenever an account is opened, and for the metrics.
  package static func count(in connection: borrowing Connection) throws -> Int {
    Int(try connection.first("SELECT count(*) AS count FROM accounts")?.integer("count") ?? 0)
  }

  /// Nil takes back what was set.
  package static func setNextFailure(
    _ failure: PurchaseFailure?, account: Int64, in connection: borrowing Connection
  ) throws {
    try connection.execute(
      "UPDATE accounts SET next_failure = ? WHERE id = ?",
      [.optional(failure?.rawValue), .integer(account)])
  }

  /// The failure that a test wants for the account's next purchase; returned once.
  package static func consumeNextFailure(
    account: Int64, in connection: borrowing Connection
  ) throws -> PurchaseFailure? {
    let row = try connection.first("SELECT next_failure FROM accounts WHERE id = ?", [.integer(account)])
    guard let text = try row?.optionalText("next_failure") else { return nil }
    try setNextFailure(nil, account: account, in: connection)
    return PurchaseFailure(rawValue: text)
  }
}
