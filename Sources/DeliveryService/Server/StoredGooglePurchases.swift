import Commerce
import CoreTypes
import Crypto
import Database
import DeliveryRecords
import PaymentStores
import Receipts

/// The server's own memory of purchases at Google Play: its tables.
struct StoredGooglePurchases: GooglePurchaseMemory {
  let database: Database
  let laterDates: LaterDates

  func records(
    of tokens: [GooglePurchaseToken], at store: StoreIdentifier
  ) async throws -> [GooglePurchaseToken: GooglePurchaseRecord] {
    try await database.read { connection in
      try tokens.reduce(into: [:]) { known, token in
        known[token] = try GooglePurchaseTable.find(token, of: store, in: connection)
      }
    }
  }

  func keep(
    _ records: [(token: GooglePurchaseToken, record: GooglePurchaseRecord)], at store: StoreIdentifier
  ) async throws {
    // Each is one statement. In one order, so that two writes about the same tokens do not wait for each other.
    let records = records.sorted { $0.token.digest.hexadecimal < $1.token.digest.hexadecimal }
    try await database.write(locking: []) { connection in
      for (token, record) in records {
        try GooglePurchaseTable.put(record, of: token, at: store, in: connection)
      }
    }
  }

  func transactions(ofPurchases purchases: [TransactionKey]) async throws -> [VerifiedTransaction] {
    try await database.read { connection in
      try purchases.flatMap { try LedgerTable.transactions(ofPurchase: $0, in: connection) }
    }
  }

  func dates(of transactions: [TransactionKey]) -> [TransactionKey: Timestamp] {
    laterDates.heard(of: transactions).mapValues(\.asOf)
  }

  func consumables(among products: [ProductIdentifier]) async throws -> Set<ProductIdentifier> {
    try await database.read { connection in
      Set(try products.filter { try ProductTable.find($0, in: connection)?.product.type == .consumable })
    }
  }
}
