import Commerce
import CoreTypes
import Database
import PullboxAPI

/// A volume purchase: so many accounts may hold the product at the same time.
struct StoredLicense: Hashable, Sendable {
  let id: Int64
  let product: ProductIdentifier
  let seats: Int
}

extension PaymentStore {
  private static let seatRange = 1...10_000

  /// Throws `request-malformed`.
  func makeLicense(_ request: LicenseRequest) async throws -> StoreLicense {
    guard Self.seatRange.contains(request.seats) else {
      throw Problem(.requestMalformed, "seats is from 1 to \(Self.seatRange.upperBound)")
    }
    return try await database.write(locking: [.everything]) { connection in
      let id = try LicenseTable.insert(request.product, seats: request.seats, in: connection)
      return StoreLicense(license: id, product: request.product, seats: request.seats, accounts: [])
    }
  }

  /// Gives the account a seat: a transaction that belongs to no device. Throws `not-found`, `product-unknown`,
  /// `request-malformed` for what is no non-consumable, `state-conflict` where no seat is free or the account has one.
  func assign(_ id: String, _ request: LicenseSeatRequest) async throws -> StoreLicense {
    let (license, account) = try await licensed(id, request)
    let listing = try await catalog.listing(
      of: license.product, territory: account.territory, device: nil)
    guard let listing else { throw Problem(.productUnknown, "\(license.product) is not for sale") }
    guard listing.type == .nonConsumable else {
      throw Problem(.requestMalformed, "only non-consumable products have licenses")
    }
    return try await database.write(locking: [.everything]) { [clock, environment] connection in
      let holders = try LicenseTable.holders(of: license.id, limit: license.seats, in: connection)
      guard holders.count < license.seats, !holders.contains(account.name) else {
        throw Problem(.stateConflict, "no seat is free, or \(account.name) has one")
      }
      let now = clock.now().wholeSeconds
      var begun = try TransactionTable.insert(
        in: connection, account: account, order: PurchaseOrder(of: license.product), key: nil,
        environment: environment, requested: now)
      begun.license = license.id
      let sale = PurchaseLifecycle.Sale(
        type: .nonConsumable, originalID: begun.id, date: now, originalDate: now)
      _ = try Self.process(.sold(sale), of: begun, in: connection)
      try LicenseTable.add(account.id, to: license.id, transaction: begun.id, in: connection)
      return try LicenseTable.published(license, in: connection)
    }
  }

  /// Takes the seat back. It is free at once; what the account has of it ends after thirty days, of which its receipts tell.
  /// Throws `not-found`, also where the account has no seat.
  func revokeSeat(_ id: String, _ request: LicenseSeatRequest) async throws -> StoreLicense {
    let (license, account) = try await licensed(id, request)
    return try await database.write(locking: [.everything]) { [clock] connection in
      let held = try LicenseTable.remove(account.id, from: license.id, in: connection)
      guard let held, var transaction = try TransactionTable.find(in: connection, id: held) else {
        throw Problem(.notFound, "\(account.name) has no seat")
      }
      let calendar = try CalendarTable.current(in: connection)
      let end = calendar.licenseEnd(from: clock.now().wholeSeconds).wholeSeconds
      let event = PurchaseLifecycle.Event.licenseWithdrawn(end: end)
      if transaction.life.handle(event) == .changed {
        try TransactionTable.update(transaction, in: connection)
        // Restored copies are of the same seat.
        try FamilySharing.follow(event, of: transaction, in: connection)
      }
      return try LicenseTable.published(license, in: connection)
    }
  }

  private func licensed(
    _ id: String, _ request: LicenseSeatRequest
  ) async throws -> (StoredLicense, Account) {
    try await database.read { connection in
      guard let license = try Int64(id).flatMap({ try LicenseTable.find($0, in: connection) }) else {
        throw Problem(.notFound, "there is no license \(id)")
      }
      return (license, try AccountTable.named(request.account, in: connection))
    }
  }
}

/// The tables of volume licenses, within one database transaction.
enum LicenseTable {
  static func insert(
    _ product: ProductIdentifier, seats: Int, in connection: borrowing Connection
  ) throws -> Int64 {
    try connection.execute(
      "INSERT INTO licenses (product, seats) VALUES (?, ?)", [.text(product.description), .integer(seats)])
    return connection.lastInsertedRowID
  }

  static func find(_ id: Int64, in connection: borrowing Connection) throws -> StoredLicense? {
    guard let row = try connection.first("SELECT * FROM licenses WHERE id = ?", [.integer(id)]),
      let product = ProductIdentifier(try row.text("product"))
    else { return nil }
    return StoredLicense(id: id, product: product, seats: Int(try row.integer("seats")))
  }

  /// The names of the accounts that have a seat.
  static func holders(
    of license: Int64, limit: Int, in connection: borrowing Connection
  ) throws -> [String] {
    try connection.query(
      """
      SELECT name FROM license_seats JOIN accounts ON accounts.id = license_seats.account
      WHERE license = ? ORDER BY account LIMIT ?
      """, [.integer(license), .integer(limit)]
    ).map { try $0.text("name") }
  }

  static func published(
    _ license: StoredLicense, in connection: borrowing Connection
  ) throws -> StoreLicense {
    StoreLicense(
      license: license.id, product: license.product, seats: license.seats,
      accounts: try holders(of: license.id, limit: 1000, in: connection))
  }

  static func add(
    _ account: Int64, to license: Int64, transaction: Int64, in connection: borrowing Connection
  ) throws {
    try connection.execute(
      "INSERT INTO license_seats (license, account, transaction_id) VALUES (?, ?, ?)",
      [.integer(license), .integer(account), .integer(transaction)])
  }

  /// The transaction of the seat that was taken back; nil where there was none.
  static func remove(
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
