package import Commerce
package import CoreTypes
package import Receipts

/// The memory that Google's interface has not: its answers tell the end of a subscription and not its beginning, and nothing
/// of the purchases before. A call throws where the memory cannot be reached; a cancelled one throws `CancellationError`.
package protocol GooglePurchaseMemory: Sendable {
  /// Returns the records of these tokens; a token that was never seen has no entry.
  func records(
    of tokens: [GooglePurchaseToken], at store: StoreIdentifier
  ) async throws -> [GooglePurchaseToken: GooglePurchaseRecord]

  /// Keeps what is known of tokens now, all of it or nothing. A replacement that is known stays.
  func keep(
    _ records: [(token: GooglePurchaseToken, record: GooglePurchaseRecord)], at store: StoreIdentifier
  ) async throws

  /// Every transaction of these purchases, each named by its first.
  func transactions(ofPurchases purchases: [TransactionKey]) async throws -> [VerifiedTransaction]

  /// Returns the times as of which a store last repeated what is known of these transactions. Only times that were heard and
  /// are not written with the transactions yet are among them.
  func dates(of transactions: [TransactionKey]) -> [TransactionKey: Timestamp]

  /// Those of the products that may be bought again once they are used up.
  func consumables(among products: [ProductIdentifier]) async throws -> Set<ProductIdentifier>
}
