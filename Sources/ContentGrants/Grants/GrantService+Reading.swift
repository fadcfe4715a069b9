import Commerce
import CoreTypes
import Database
import DeliveryModel
import DeliveryRecords
package import PullboxAPI
import PullboxAPIServer

/// How far a customer has read what a device was granted, on all of the customer's devices and applications: the same records as those of
/// the catalog for readers' applications.
extension GrantService {
  /// The last that was told of the grant's product; nil where it was not read. Throws `grant-unknown`, `entitlement-revoked`, and what
  /// ``GrantCredential/check(for:at:)`` throws.
  package func progress(
    of id: GrantIdentifier, credential: GrantCredential
  ) async throws -> ReadingProgress? {
    let grant = try await reader(of: id, credential)
    let document = try await grantStore.database.read { connection -> String? in
      guard let customer = try CustomerTable.customer(of: grant.transactionKey, in: connection) else {
        return nil
      }
      return try ReadingProgressTable.document(of: grant.product, by: customer, in: connection)
    }
    return try document.map { try APIJSON.decode(ReadingProgress.self, from: Array($0.utf8)) }
  }

  /// Takes in what the device tells, and returns what counts from then on: the later, and of two of one time that of the device whose name
  /// comes behind. Throws the same, and `request-malformed` for numbers that cannot be.
  package func put(
    _ told: ReadingProgress, of id: GrantIdentifier, credential: GrantCredential
  ) async throws -> ReadingProgress {
    let grant = try await reader(of: id, credential)
    let kept = try told.kept(at: grantStore.clock.now(), of: nil)
    let document = String(decoding: try APIJSON.encode(kept), as: UTF8.self)
    let mark = ReadingMark(
      product: grant.product, modified: kept.modified, page: kept.page, millionths: kept.millionths)
    let standing = try await grantStore.database.write(locking: []) { connection -> String? in
      guard let owner = try CustomerTable.customer(of: grant.transactionKey, in: connection) else {
        return nil
      }
      let customer = try CustomerTable.lockCurrent(owner, in: connection)
      try ReadingProgressTable.put(mark, of: customer, by: kept.device.id, document: document, in: connection)
      return try ReadingProgressTable.document(of: grant.product, by: customer, in: connection)
    }
    return try standing.map { try APIJSON.decode(ReadingProgress.self, from: Array($0.utf8)) } ?? kept
  }

  private func reader(of id: GrantIdentifier, _ credential: GrantCredential) async throws -> GrantRecord {
    let grant = try await grantStore.find(id)
    try credential.check(for: grant, at: grantStore.clock.now())
    guard grant.machine.name != .revoked else { throw Problem(.entitlementRevoked) }
    return grant
  }
}
