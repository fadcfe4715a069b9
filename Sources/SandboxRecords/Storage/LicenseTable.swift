package import Commerce
package import Database
import PullboxAPI
package import ServiceAPI

/// A volume purchase: so many accounts may hold the product at the same time.
package struct StoredLicense: Hashable, Sendable {
  package let id: Int64
  package let product: ProductIdentifier
  /// 1 to 10,000. One that is taken back is free at once.
  package let seats: Int
}

/// The tables of volume licenses, within one database transaction.
package enum LicenseTable {
  /// Returns the row, which is the license's name on the wire.
  package static func insert(
    _ product: ProductIdentifier, seats: Int, in connection: borrowing Connection
  ) throws -> Int64 {
    try connection.execute(
      "INSERT INTO licenses (product, seats) VALUES (?, ?)", [.text(product.description), .integer(seats)])
    return connection.lastInsertedRowID
  }

  /// Nil where there is no such license.
  package static func find(_ id: Int64, in connection: borrowing Connection) throws -> StoredLicense? {
    guard let row = try connection.first("SELECT * FROM licenses WHERE id = ?", [.integer(id)]),
      let product = ProductIdentifier(try row.text("product"))
    else { return nil }
    return StoredLicense(id: id, product: product, seats: Int(try row.integer("seats")))
  }

  /// The names of the accounts that have a seat. They are in the order in which the accounts were opened.
  package static func holders(
    of license: Int64, limit: Int, in connection: borrowing Connection
  ) throws -> [String] {
    try connection.query(
      """
      SELECT name FROM license_seats JOIN accounts ON accounts.id = license_seats.account
      WHERE license = ? ORDER BY account LIMIT ?
      """, [.integer(license), .integer(limit)]
    ).map { try $0.text("name") }
  }

  /// Names at most 1000 of the accounts.
  package static func published(
    _ license: StoredLicense, in connection: borrowing Connection
  ) throws -> StoreLicense {
    StoreLicense(
      license: license.id, product: license.product, seats: license.seats,
      accounts: try holders(of: license.id, limit: 1000, in: connection))
  }

  /// - Parameter transaction: what the account holds the seat by.
  package static func add(
    _ account: Int64, to license: Int64, transaction: Int64, in connection: borrowing Connection
  ) throws {
    try connection.execute(
      "INSERT INTO license_seats (license, account, transaction_id) VALUES (?, ?, ?)",
      [.integer(license), .integer(account), .integer(transaction)])
  }

  /// The transaction of the seat that was taken back; nil where there was none. The transaction itself stays.
  package static func remove(
    _ account: Int64, from license: Int64, in connection: borrowing Connection
  ) throws -> Int64? {
    let values: [SQLValue] = [.integer(license), .integer(account)]
    let row = try connection.first(
      "SELECT transaction_id FROM license_seats WHERE license = ? AND account = ?", values)
    guard let transaction = try row?.integer("transaction_id") else { return nil }
    try connection.execute("DELETE FROM license_seats WHERE license = ? AND account = ?", values)
    return transaction
  }
}
