package import Commerce
import CoreTypes
package import Database
package import DeliveryModel
import DeliveryRecords
package import PullboxAPI
import PullboxAPIServer
package import ServiceAPI

/// How far customers have read, on all of their devices and applications.
extension GrantService {
  /// The last that was told of the product; nil where it was not read. Throws what the database throws.
  package func progress(
    of product: ProductIdentifier, by customer: CustomerIdentifier
  ) async throws -> ReadingProgress? {
    let document = try await grantStore.database.read {
      try ReadingProgressTable.document(of: product, by: customer, in: $0)
    }
    return try document.map(Self.progress)
  }

  /// Takes in what a device or an application tells, and returns what counts from then on: the later of two words, and of two of one time
  /// that of the device whose name comes behind, so that all who hear both know the same.
  ///
  /// - Parameters:
  ///   - told: as ``ReadingProgress/kept(at:of:)`` has it.
  ///   - check: is given what counted before; what it throws ends the write, and is thrown.
  package func put(
    _ told: ReadingProgress, of product: ProductIdentifier, by customer: CustomerIdentifier,
    checking check: @escaping @Sendable (ReadingProgress?, borrowing Connection) throws -> Void = { _, _ in }
  ) async throws -> ReadingProgress {
    let document = String(decoding: try APIJSON.encode(told), as: UTF8.self)
    let mark = ReadingMark(
      product: product, modified: told.modified, page: told.page, millionths: told.millionths)
    let standing = try await grantStore.database.write(locking: []) { connection -> String? in
      let customer = try CustomerTable.lockCurrent(customer, in: connection)
      let before = try ReadingProgressTable.document(of: product, by: customer, in: connection)
      try check(before.map(Self.progress), connection)
      try ReadingProgressTable.put(mark, of: customer, by: told.device.id, document: document, in: connection)
      return try ReadingProgressTable.document(of: product, by: customer, in: connection)
    }
    return try standing.map(Self.progress) ?? told
  }

  private static func progress(_ document: String) throws -> ReadingProgress {
    try APIJSON.decode(ReadingProgress.self, from: Array(document.utf8))
  }
}

/// The same for a device, by its grant. Both throw `grant-unknown`, `entitlement-revoked`, and what ``GrantCredential/check(for:at:)`` throws.
extension GrantService {
  /// Nil where the product was not read.
  package func progress(
    of id: GrantIdentifier, credential: GrantCredential
  ) async throws -> ReadingProgress? {
    guard let reader = try await reader(of: id, credential) else { return nil }
    return try await progress(of: reader.product, by: reader.customer)
  }

  /// Throws `request-malformed`, too, for numbers that cannot be.
  package func put(
    _ told: ReadingProgress, of id: GrantIdentifier, credential: GrantCredential
  ) async throws -> ReadingProgress {
    let reader = try await reader(of: id, credential)
    let kept = try told.kept(at: grantStore.clock.now(), of: nil)
    guard let reader else { return kept }
    return try await put(kept, of: reader.product, by: reader.customer)
  }

  /// Nil for a purchase that the ledger knows no customer of.
  private func reader(
    of id: GrantIdentifier, _ credential: GrantCredential
  ) async throws -> (product: ProductIdentifier, customer: CustomerIdentifier)? {
    let grant = try await grantStore.find(id)
    try credential.check(for: grant, at: grantStore.clock.now())
    guard grant.machine.name != .revoked else { throw Problem(.entitlementRevoked) }
    let customer = try await grantStore.database.read {
      try CustomerTable.customer(of: grant.transactionKey, in: $0)
    }
    return customer.map { (grant.product, $0) }
  }
}
