package import Commerce
package import CoreTypes
package import Crypto
package import Database

/// Proofs that a store vouched for, by their digests: what serves while it is away. Nothing in a row opens
/// anything. Its functions run in the caller's transaction and throw ``DatabaseError``.
package enum RememberedProofTable {
  /// A proof of more transactions is not remembered.
  package static let maximumTransactions = 1000
  /// A proof that is good again within this time is not written down again. A date that is further ahead was written by a clock that was,
  /// and says nothing.
  package static let freshness: Duration = .seconds(3600)
  /// The oldest beyond are forgotten.
  package static let maximumCount = 1_000_000

  /// The store has vouched for that proof, which the device showed. A proof of several stores or environments,
  /// of none, or of too many transactions is left out.
  package static func note(
    _ digest: SHA256Digest, of transactions: [VerifiedTransaction], shownBy device: DeviceIdentifier,
    at now: Timestamp, in connection: borrowing Connection
  ) throws {
    guard let first = transactions.first?.key, transactions.count <= maximumTransactions,
      transactions.allSatisfy({ $0.store == first.store && $0.environment == first.environment })
    else { return }
    try connection.enqueue(
      """
      INSERT INTO remembered_proofs (store, digest, device, environment, transactions, good)
      VALUES (?, ?, ?, ?, ?, ?)
      ON CONFLICT (store, digest, device) DO UPDATE SET
        environment = excluded.environment, transactions = excluded.transactions, good = excluded.good
        WHERE remembered_proofs.good <= ? OR remembered_proofs.good > ?
      """,
      [
        .identifier(first.store), .digest(digest), .identifier(device), .choice(first.environment),
        .text(transactions.map(\.id.description).joined(separator: " ")), .timestamp(now),
        .timestamp(now - freshness), .timestamp(now + freshness),
      ])
  }

  /// The proof's transactions, each by the latest word of its store; nil where the proof is not known to have been good for
  /// that device within `age` before `now`.
  package static func transactions(
    of digest: SHA256Digest, at store: StoreIdentifier, shownBy device: DeviceIdentifier,
    goodWithin age: Duration, of now: Timestamp, in connection: borrowing Connection
  ) throws -> [VerifiedTransaction]? {
    let row = try connection.first(
      """
      SELECT environment, transactions FROM remembered_proofs
      WHERE store = ? AND digest = ? AND device = ? AND good >= ? AND good <= ?
      """,
      [
        .identifier(store), .digest(digest), .identifier(device), .timestamp(now - age),
        .timestamp(now + freshness),
      ])
    guard let row else { return nil }
    let environment: StoreEnvironment = try row.choice("environment")
    var transactions: [VerifiedTransaction] = []
    for name in try row.text("transactions").split(separator: " ") {
      guard let id = TransactionIdentifier(String(name)),
        let found = try LedgerTable.find(
          TransactionKey(store: store, environment: environment, id: id), in: connection)
      else { return nil }
      transactions.append(found.transaction)
    }
    return transactions
  }

  /// When the proof was good for that device last, to an hour; nil where that is not remembered.
  static func lastGood(
    _ digest: SHA256Digest, at store: StoreIdentifier, shownBy device: DeviceIdentifier,
    in connection: borrowing Connection
  ) throws -> Timestamp? {
    try connection.first(
      "SELECT good FROM remembered_proofs WHERE store = ? AND digest = ? AND device = ?",
      [.identifier(store), .digest(digest), .identifier(device)])?.timestamp("good")
  }

  /// The store vouches for the proof no more.
  package static func forget(
    _ digest: SHA256Digest, at store: StoreIdentifier, in connection: borrowing Connection
  ) throws {
    try connection.execute(
      "DELETE FROM remembered_proofs WHERE store = ? AND digest = ?", [.identifier(store), .digest(digest)])
  }

  /// When the first of those beyond `limit` was last good, the newest before; nil where there are not so many. It goes over all
  /// that are kept: not within a write.
  package static func excess(beyond limit: Int = maximumCount, in connection: borrowing Connection) throws
    -> Timestamp?
  {
    try connection.first(
      "SELECT good FROM remembered_proofs ORDER BY good DESC LIMIT 1 OFFSET ?", [.integer(limit)]
    )?.timestamp("good")
  }

  /// Removes some of those that were last good before `cutoff`; whether there may be more. Needs no lock: one that is
  /// good again at that moment stays.
  package static func sweep(
    before cutoff: Timestamp, limit: Int, in connection: borrowing Connection
  ) throws -> Bool {
    let removed = try connection.execute(
      """
      DELETE FROM remembered_proofs WHERE (store, digest, device) IN (
        SELECT store, digest, device FROM remembered_proofs WHERE good < ? ORDER BY good LIMIT ?)
        AND good < ?
      """, [.timestamp(cutoff), .integer(limit), .timestamp(cutoff)])
    return removed == limit
  }
}
