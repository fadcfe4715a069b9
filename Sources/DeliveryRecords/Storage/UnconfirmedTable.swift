package import Commerce
package import CoreTypes
package import Crypto
package import Database
package import DeliveryModel
import PullboxAPI
package import ServiceAPI

/// Grants that were made or renewed while their store was away, and the proofs that it is to be asked about again. A proof
/// works like a key: it is in no list and no log, and goes with the answer. Its functions run in the caller's
/// transaction and throw ``DatabaseError``.
package enum UnconfirmedTable {
  /// Proofs that wait at once, and what they may take together; beyond, a store that is away serves no more.
  package static let maximumCount = 10_000
  /// Bytes of all proofs that wait.
  package static let maximumLength = ByteCount.mebibytes(256)

  /// A proof as it is kept, made outside the write that keeps it.
  package struct EncodedProof: Sendable, CustomStringConvertible {
    fileprivate var bytes: [UInt8]

    /// Encodes the proof. Throws `EncodingError`.
    package init(_ proof: Proof) throws {
      bytes = Array(try APIJSON.encode(proof))
    }

    /// The number of its bytes alone, for logs.
    package var description: String { "proof of \(bytes.count) bytes" }
  }

  /// Where a proof stands in the order in which its store is asked.
  package struct Place: Hashable, Sendable {
    /// The row: the oldest has the smallest.
    package var id: Int64
    /// Bytes of the encoded proof.
    package var length: ByteCount
  }

  /// A proof that is to be asked about. Its description tells nothing of the proof.
  package struct Waiting: Sendable, CustomStringConvertible {
    /// The row, by which grants refer to the proof.
    package var id: Int64
    /// The store's name, which the configuration may not know any more.
    package var store: String
    /// The SHA-256 by which the proof is remembered.
    package var digest: SHA256Digest
    fileprivate var encoded: [UInt8]

    /// Nil where the row does not hold one. It is read anew each time: not on a thread of the database.
    package func decoded() -> Proof? { try? APIJSON.decode(Proof.self, from: encoded) }

    package var description: String { "unconfirmed proof \(id) of \(store)" }
  }

  /// Marks the grants; false where there is no room for the proof. A grant that is marked already keeps its
  /// first proof. Runs in a write that locks the proof. Writes that decide side by side about other proofs may go beyond
  /// the bounds, each by its own.
  package static func mark(
    _ grants: [Int64], restingOn proof: EncodedProof, _ digest: SHA256Digest, at store: StoreIdentifier,
    now: Timestamp,
    in connection: borrowing Connection
  ) throws -> Bool {
    let key: [SQLValue] = [.identifier(store), .digest(digest)]
    let find = "SELECT id FROM unconfirmed_proofs WHERE store = ? AND digest = ?"
    if try connection.first(find, key) == nil {
      let (count, kept) = (proof.bytes.count, try CounterTable.unconfirmed(in: connection))
      guard kept.proofs < maximumCount, kept.length + ByteCount(count) <= maximumLength else { return false }
    }
    // Also where the row is there: it is this write's from then on, so that none which confirms its last grant removes it beside.
    try connection.execute(
      """
      INSERT INTO unconfirmed_proofs (store, digest, proof, length, since) VALUES (?, ?, ?, ?, ?)
      ON CONFLICT (store, digest) DO UPDATE SET length = excluded.length
      """, key + [.blob(proof.bytes), .integer(proof.bytes.count), .timestamp(now)])
    guard let id = try connection.first(find, key)?.integer("id") else {
      // SQLite has the row still. In PostgreSQL another transaction may have removed it since the first look.
      return try mark(grants, restingOn: proof, digest, at: store, now: now, in: connection)
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

  /// The next store, by its name, that is to be asked about something.
  package static func store(after name: String, in connection: borrowing Connection) throws -> String? {
    try connection.first(
      "SELECT store FROM unconfirmed_proofs WHERE store > ? ORDER BY store LIMIT 1", [.text(name)])?
      .text("store")
  }

  /// At most `limit` places of proofs of the store behind the row `id`, the oldest first. Reads no proof.
  package static func places(
    of store: String, after id: Int64, limit: Int, in connection: borrowing Connection
  ) throws -> [Place] {
    try connection.query(
      "SELECT id, length FROM unconfirmed_proofs WHERE store = ? AND id > ? ORDER BY id LIMIT ?",
      [.text(store), .integer(id), .integer(limit)]
    ).map { Place(id: try $0.integer("id"), length: try $0.byteCount("length")) }
  }

  /// Nil where it waits no more.
  package static func waiting(_ id: Int64, in connection: borrowing Connection) throws -> Waiting? {
    try connection.first("SELECT store, digest, proof FROM unconfirmed_proofs WHERE id = ?", [.integer(id)])
      .map { row in
        Waiting(
          id: id, store: try row.text("store"), digest: try row.digest("digest"),
          encoded: try row.blob("proof"))
      }
  }

  /// The grants that rest on the proof. They are in no order.
  package static func grants(
    restingOn proof: Int64, in connection: borrowing Connection
  ) throws -> [GrantRecord] {
    try connection.query(
      """
      SELECT \(GrantTable.columns) FROM unconfirmed_grants JOIN grants ON number = grant_number WHERE proof = ?
      """, [.integer(proof)]
    ).map(GrantTable.record)
  }

  /// The store has answered: nothing is kept of the proof. Runs in a write that locks it.
  package static func remove(_ proof: Int64, in connection: borrowing Connection) throws {
    try connection.execute("DELETE FROM unconfirmed_grants WHERE proof = ?", [.integer(proof)])
    try connection.execute("DELETE FROM unconfirmed_proofs WHERE id = ?", [.integer(proof)])
  }

  /// The store vouches for what these grants were made for, by whatever proof: they rest on no earlier word any more. Runs in
  /// a write that locks the grants' transactions; the proofs that they rested on need no lock.
  package static func confirm(_ grants: [Int64], in connection: borrowing Connection) throws {
    for number in grants {
      let row = try connection.first(
        "SELECT proof FROM unconfirmed_grants WHERE grant_number = ?", [.integer(number)])
      guard let proof = try row?.integer("proof") else { continue }
      try connection.execute("DELETE FROM unconfirmed_grants WHERE grant_number = ?", [.integer(number)])
      let isNeeded = try connection.first(
        "SELECT 1 AS one FROM unconfirmed_grants WHERE proof = ? LIMIT 1", [.integer(proof)])
      if isNeeded == nil { try removeUnneeded(proof, in: connection) }
    }
  }

  /// Removes a proof on which nothing rests any more. The first statement waits for writes that mark grants by it, so that
  /// the second one sees them.
  private static func removeUnneeded(_ proof: Int64, in connection: borrowing Connection) throws {
    try connection.execute("UPDATE unconfirmed_proofs SET length = length WHERE id = ?", [.integer(proof)])
    try connection.execute(
      """
      DELETE FROM unconfirmed_proofs
      WHERE id = ? AND NOT EXISTS (SELECT 1 FROM unconfirmed_grants WHERE proof = unconfirmed_proofs.id)
      """, [.integer(proof)])
  }

  /// Since when a grant rests on a store's earlier word; nil for one that is confirmed.
  package static func since(_ grant: Int64, in connection: borrowing Connection) throws -> Timestamp? {
    try connection.first("SELECT since FROM unconfirmed_grants WHERE grant_number = ?", [.integer(grant)])?
      .timestamp("since")
  }

  /// The basis of a grant that was made while its store was away, as long as the grant is marked.
  package struct Basis: Hashable, Sendable {
    /// When the store vouched for the proof last; nil where that is not remembered any more.
    package var lastWord: Timestamp?
  }

  /// Nil for a grant that is confirmed, and for one that the store had vouched for when it was made.
  package static func basis(
    of grant: GrantRecord, in connection: borrowing Connection
  ) throws -> Basis? {
    let row = try connection.first(
      """
      SELECT unconfirmed_grants.since AS since, unconfirmed_proofs.digest AS digest FROM unconfirmed_grants
      JOIN unconfirmed_proofs ON unconfirmed_proofs.id = unconfirmed_grants.proof WHERE grant_number = ?
      """, [.integer(grant.number)])
    guard let row, try row.timestamp("since") <= grant.created else { return nil }
    return Basis(
      lastWord: try RememberedProofTable.lastGood(
        try row.digest("digest"), at: grant.store, shownBy: grant.device, in: connection))
  }
}
