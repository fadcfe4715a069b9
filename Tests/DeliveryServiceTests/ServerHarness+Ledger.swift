import Commerce
import CoreTypes
import Database
import Testing

@testable import ContentGrants
@testable import DeliveryRecords
@testable import DeliveryService

/// The ledger's entry of a transaction, without the moments at which its store told of it.
struct LedgerEntry: Hashable, Sendable {
  var product: String
  var original: String
  var start: Timestamp
  var end: Timestamp?
  var revoked: Timestamp?

  /// The names of transactions without the text that they begin with.
  init(_ transaction: VerifiedTransaction, without prefix: String) {
    product = transaction.product.description
    original = String(transaction.originalID.description.dropFirst(prefix.count))
    start = transaction.purchaseDate
    end = transaction.expiresDate
    revoked = transaction.revokedDate
  }

  init(product: String, original: String, start: Timestamp, end: Timestamp?, revoked: Timestamp?) {
    self.product = product
    self.original = original
    self.start = start
    self.end = end
    self.revoked = revoked
  }
}

extension ServerHarness {
  /// The transactions whose names begin with that text, by the rest of their names.
  func ledger(of prefix: String) async throws -> [String: LedgerEntry] {
    try await server.grants.grantStore.database.read { connection in
      let keys = try connection.query("SELECT store, environment, transaction_id FROM transactions").map {
        TransactionKey(
          store: try $0.identifier("store"), environment: try $0.choice("environment"),
          id: try $0.identifier("transaction_id"))
      }
      var entries: [String: LedgerEntry] = [:]
      for key in keys where key.id.description.hasPrefix(prefix) {
        guard let known = try LedgerTable.find(key, in: connection) else { continue }
        let name = String(key.id.description.dropFirst(prefix.count))
        entries[name] = LedgerEntry(known.transaction, without: prefix)
      }
      return entries
    }
  }
}
