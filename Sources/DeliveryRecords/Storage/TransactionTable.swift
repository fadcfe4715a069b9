package import Commerce
package import Database
package import DeliveryModel

/// The last words of stores on the transactions that they vouched for, or took back. They are the part of a ledger's row
/// (``LedgerTable``) that decides whether grants stand.
package enum TransactionTable {
  /// Returns the store's last word on the transaction; nil where it was never heard of.
  package static func word(
    on transaction: TransactionKey, in connection: borrowing Connection
  ) throws -> TransactionStanding.StoreWord? {
    try connection.first(
      "SELECT as_of, revoked FROM transactions WHERE store = ? AND environment = ? AND transaction_id = ?",
      transaction.values
    ).map {
      TransactionStanding.StoreWord(
        asOf: try $0.timestamp("as_of"), revoked: try $0.optionalTimestamp("revoked"))
    }
  }

  /// Writes the word down, and a row for a transaction without one. The caller has found that it is the later
  /// one.
  package static func setWord(
    _ word: TransactionStanding.StoreWord, on transaction: TransactionKey,
    in connection: borrowing Connection
  ) throws {
    try connection.execute(
      """
      INSERT INTO transactions (store, environment, transaction_id, as_of, revoked) VALUES (?, ?, ?, ?, ?)
      ON CONFLICT (store, environment, transaction_id) DO UPDATE SET
        as_of = excluded.as_of, revoked = excluded.revoked
      """, transaction.values + [.timestamp(word.asOf), .optional(word.revoked)])
  }
}
