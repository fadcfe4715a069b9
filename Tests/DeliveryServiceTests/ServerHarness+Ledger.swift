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

extension ServerHarness {
  /// Up to when the server has read the history of notifications; nil before its first reading.
  func readingPosition() async throws -> Timestamp? {
    try await server.grants.grantStore.database.read {
      try NotificationHistoryTable.position(of: .apple, .sandbox, in: $0)?.until
    }
  }

  /// Waits for the end of the reading that a server begins when it starts: it takes answers that a test has prepared for a
  /// question of its own, and what it finds is found by no other.
  func awaitFirstReading() async throws {
    while try await readingPosition() != Self.start { await Task.yield() }
  }
}
