package import Commerce
import CoreTypes
import Crypto
package import Database
package import Receipts

/// Purchase tokens of Google Play, each by its SHA-256: what kind of purchase it is of, and which of them another one
/// replaced. The tokens themselves are not kept.
package enum GooglePurchaseTable {
  /// Returns what is known of the token; nil where it was never seen.
  package static func find(
    _ token: GooglePurchaseToken, of store: StoreIdentifier, in connection: borrowing Connection
  ) throws -> GooglePurchaseRecord? {
    try connection.first(
      """
      SELECT kind, environment, original_id, replaced FROM google_purchases WHERE store = ? AND token_digest = ?
      """, [.identifier(store), .digest(token.digest)]
    ).map { row in
      GooglePurchaseRecord(
        kind: try row.choice("kind"), environment: try row.choice("environment"),
        original: try row.optionalText("original_id").flatMap { TransactionIdentifier($0) },
        replaced: try row.optionalTimestamp("replaced"))
    }
  }

  /// A replacement that is known stays. So does the first transaction, where the record names none.
  package static func put(
    _ record: GooglePurchaseRecord, of token: GooglePurchaseToken, at store: StoreIdentifier,
    in connection: borrowing Connection
  ) throws {
    try connection.execute(
      """
      INSERT INTO google_purchases (store, token_digest, kind, environment, original_id, replaced)
      VALUES (?, ?, ?, ?, ?, ?)
      ON CONFLICT (store, token_digest) DO UPDATE SET kind = excluded.kind, environment = excluded.environment,
        original_id = coalesce(excluded.original_id, google_purchases.original_id),
        replaced = coalesce(google_purchases.replaced, excluded.replaced)
      """,
      [
        .identifier(store), .digest(token.digest), .choice(record.kind), .choice(record.environment),
        .optional(record.original, SQLValue.identifier), .optional(record.replaced),
      ])
  }
}
