import Commerce
import CoreTypes
import Crypto
import Database
import PullboxAPI

/// Grants that were made or renewed while their store was away, and the proofs that it is to be asked about again. A proof
/// works like a key: it is in no list and no log, and goes with the answer.
enum UnconfirmedTable {
  /// Proofs that wait at once, and what they may take together; beyond, a store that is away serves no more.
  static let maximumCount = 10_000
  static let maximumLength = ByteCount.mebibytes(256)

  /// A proof that is to be asked about. Its description tells nothing of the proof.
  struct Waiting: Sendable, CustomStringConvertible {
    var id: Int64
    var store: String
    var digest: SHA256Digest
    /// Nil where the row does not hold one.
    var proof: Proof?

    var description: String { "unconfirmed proof \(id) of \(store)" }
  }

  /// Marks the grants; false where there is no room for the proof.
  static func mark(
    _ grants: [Int64], restingOn proof: Proof, _ digest: SHA256Digest, at store: StoreIdentifier,
    now: Timestamp,
    in connection: borrowing Connection
  ) throws -> Bool {
    let key: [SQLValue] = [.identifier(store), .digest(digest)]
    let find = "SELECT id FROM unconfirmed_proofs WHERE store = ? AND digest = ?"
    if try connection.first(find, key) == nil {
      let bytes = Array(try APIJSON.encode(proof))
      let row = try connection.first(
        "SELECT count(*) AS count, coalesce(sum(length), 0) AS length FROM unconfirmed_proofs")
      let (count, length) = (try row?.integer("count") ?? 0, try row?.integer("length") ?? 0)
      guard count < maximumCount, length + Int64(bytes.count) <= maximumLength.rawValue else { return false }
      try connection.execute(
        "INSERT INTO unconfirmed_proofs (store, digest, proof, length, since) VALUES (?, ?, ?, ?, ?)",
        key + [.blob(bytes), .integer(bytes.count), .timestamp(now)])
    }
    guard let id = try connection.first(find, key)?.integer("id") else {
      preconditionFailure("the row is there, in this transaction")
    }
    for number in grants {
      try connection.execute(
        """
        INSERT INTO unconfirmed_grants (grant_number, proof, since) VALUES (?, ?, ?)
        ON CONFLICT (grant_number) DO NOTHING
        """, [.integer(number), .integer(id), .timestamp(now)])
    }
    return true
  }

  /// At most `limit` proofs behind the row `id`, the oldest first.
  static func waiting(
    after id: Int64, limit: Int, in connection: borrowing Connection
  ) throws -> [Waiting] {
    try connection.query(
      "SELECT * FROM unconfirmed_proofs WHERE id > ? ORDER BY id LIMIT ?", [.integer(id), .integer(limit)]
    ).map { row in
      Waiting(
        id: try row.integer("id"), store: try row.text("store"), digest: try row.digest("digest"),
        proof: try? APIJSON.decode(Proof.self, from: try row.blob("proof")))
    }
  }

  /// The grants that rest on the proof.
  static func grants(
    restingOn proof: Int64, in connection: borrowing Connection
  ) throws -> [GrantRecord] {
    try connection.query(
      """
      SELECT grants.* FROM unconfirmed_grants JOIN grants ON number = grant_number WHERE proof = ?
      """, [.integer(proof)]
    ).map(GrantTable.record)
  }

  /// The store has answered: nothing is kept of the proof.
  static func remove(_ proof: Int64, in connection: borrowing Connection) throws {
    try connection.execute("DELETE FROM unconfirmed_grants WHERE proof = ?", [.integer(proof)])
    try connection.execute("DELETE FROM unconfirmed_proofs WHERE id = ?", [.integer(proof)])
  }

  /// Since when a grant rests on a store's earlier word; nil for one that is confirmed.
  static func since(_ grant: Int64, in connection: borrowing Connection) throws -> Timestamp? {
    try connection.first("SELECT since FROM unconfirmed_grants WHERE grant_number = ?", [.integer(grant)])?
      .timestamp("since")
  }

  static func count(in connection: borrowing Connection) throws -> Int64 {
    try connection.first("SELECT count(*) AS count FROM unconfirmed_grants")?.integer("count") ?? 0
  }
}
