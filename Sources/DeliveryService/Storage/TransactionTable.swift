import Commerce
import Database

/// What stores last said of the transactions that they vouched for, or took back.
enum TransactionTable {
  static func word(
    on id: TransactionIdentifier, of store: StoreIdentifier, in connection: borrowing Connection
  ) throws -> TransactionStanding.StoreWord? {
    try connection.first(
      "SELECT as_of, revoked FROM transactions WHERE store = ? AND transaction_id = ?",
      [.identifier(store), .identifier(id)]
    ).map {
      TransactionStanding.StoreWord(
        asOf: try $0.timestamp("as_of"), revoked: try $0.optionalTimestamp("revoked"))
    }
  }

  static func setWord(
    _ word: TransactionStanding.StoreWord, on id: TransactionIdentifier, of store: StoreIdentifier,
    in connection: borrowing Connection
  ) throws {
    try connection.execute(
      """
      INSERT INTO transactions (store, transaction_id, as_of, revoked) VALUES (?, ?, ?, ?)
      ON CONFLICT (store, transaction_id) DO UPDATE SET as_of = excluded.as_of, revoked = excluded.revoked
      """,
      [
        .identifier(store), .identifier(id), .timestamp(word.asOf),
        .optional(word.revoked),
      ])
  }
}
