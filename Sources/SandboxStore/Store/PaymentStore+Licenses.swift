import Commerce
import CoreTypes
import Database
import PullboxAPI
import SandboxRecords
import ServiceAPI

extension PaymentStore {
  private static let seatRange = 1...10_000

  /// Makes a license without holders. The product is not looked up before the first seat is given. Throws
  /// `request-malformed` for less than one seat or more than 10,000.
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
  /// `request-malformed` for what is no non-consumable, `state-conflict` where no seat is free or the account
  /// has one. The sale is free and of one non-consumable, and shared with no family. Account and license are
  /// looked up first, then the catalog is asked; seats are counted in the database transaction of the sale.
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
      _ = try Sales.process(.sold(sale), of: begun, in: connection)
      try LicenseTable.add(account.id, to: license.id, transaction: begun.id, in: connection)
      return try LicenseTable.published(license, in: connection)
    }
  }

  /// Takes the seat back. It is free at once; what the account has of it ends after thirty days, of which its receipts tell.
  /// Throws `not-found`, also where the account has no seat. Thirty days are a month of the store's, and the
  /// end is a whole second.
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
        try ChangeRecorder.update(transaction, in: connection)
        // Restored copies are of the same seat.
        try FamilySharing.follow(event, of: transaction, in: connection)
      }
      return try LicenseTable.published(license, in: connection)
    }
  }

  /// Throws `not-found` for either.
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
