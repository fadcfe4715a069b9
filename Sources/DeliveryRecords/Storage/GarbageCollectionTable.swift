package import CoreTypes
package import Crypto
package import Database

/// The packages that the database knows as needed or unneeded. A package without a row is needed, or was never
/// found unneeded. Its functions run in the caller's transaction and throw ``DatabaseError``; those about one
/// package need its lock.
package enum GarbageCollectionTable {
  /// States of grants that may still ask for their content: not finished, or revoked before they were and
  /// perhaps reinstated.
  private static let live = "('granted', 'completed', 'revoked/granted', 'revoked/completed')"

  /// Whether a live grant refers to the package of `versions`. A grant's package is that of its version.
  private static let hasLiveGrant = """
    EXISTS (SELECT 1 FROM grants \(SQLDialect.index("grants_by_version"))
      WHERE grants.product = versions.product AND grants.version = versions.version AND grants.state IN \(live))
    """

  /// Returns the packages that a version or a live grant refers to. Without `keepsWithdrawn`, a withdrawn version does not
  /// count by itself.
  package static func needed(
    keepsWithdrawn: Bool, in connection: borrowing Connection
  ) throws -> Set<SHA256Digest> {
    let rows = try connection.query(
      """
      SELECT digest FROM versions WHERE ? = 1 OR state <> 'withdrawn' OR \(hasLiveGrant)
      """, [.boolean(keepsWithdrawn)])
    return Set(try rows.map { try $0.digest("digest") })
  }

  /// The same question about one blob, with the uploads that are on their way to a version. The answer holds
  /// until the end of a write that locks the package.
  package static func isNeeded(
    _ digest: SHA256Digest, keepsWithdrawn: Bool, in connection: borrowing Connection
  ) throws -> Bool {
    let value = SQLValue.digest(digest)
    return try connection.first(
      """
      SELECT 1 AS one FROM versions WHERE digest = ? AND (? = 1 OR state <> 'withdrawn' OR \(hasLiveGrant))
      UNION ALL SELECT 1 FROM uploads WHERE digest = ?
      LIMIT 1
      """, [value, .boolean(keepsWithdrawn), value]) != nil
  }

  /// Returns since when packages are unneeded, condemned ones among them.
  package static func unneeded(in connection: borrowing Connection) throws -> [SHA256Digest: Timestamp] {
    var since: [SHA256Digest: Timestamp] = [:]
    for row in try connection.query("SELECT digest, since FROM unneeded_blobs") {
      since[try row.digest("digest")] = try row.timestamp("since")
    }
    return since
  }

  /// One that is marked already keeps its time.
  package static func mark(
    _ digest: SHA256Digest, since now: Timestamp, in connection: borrowing Connection
  ) throws {
    try connection.execute(
      "INSERT INTO unneeded_blobs (digest, since) VALUES (?, ?) ON CONFLICT DO NOTHING",
      [.digest(digest), .timestamp(now)])
  }

  /// The package is needed again; a condemned one is so no more, unless it is to stay so.
  package static func unmark(
    _ digest: SHA256Digest, keepingCondemned keepsCondemned: Bool = false, in connection: borrowing Connection
  ) throws {
    try connection.execute(
      "DELETE FROM unneeded_blobs WHERE digest = ? AND (? = 0 OR condemned IS NULL)",
      [.digest(digest), .boolean(keepsCondemned)])
  }

  /// Its file is about to be removed. One that was marked keeps its time.
  package static func condemn(
    _ digest: SHA256Digest, length: ByteCount, at now: Timestamp, in connection: borrowing Connection
  ) throws {
    try connection.execute(
      """
      INSERT INTO unneeded_blobs (digest, since, condemned) VALUES (?, ?, ?)
      ON CONFLICT (digest) DO UPDATE SET condemned = excluded.condemned
      """, [.digest(digest), .timestamp(now), .byteCount(length)])
  }

  /// Its file is gone. False where it is condemned no more.
  package static func forget(_ digest: SHA256Digest, in connection: borrowing Connection) throws -> Bool {
    try connection.execute(
      "DELETE FROM unneeded_blobs WHERE digest = ? AND condemned IS NOT NULL", [.digest(digest)]) > 0
  }

  /// Those whose removal was begun and not brought to its end.
  package static func condemned(
    in connection: borrowing Connection
  ) throws -> [(digest: SHA256Digest, length: ByteCount, since: Timestamp)] {
    try connection.query("SELECT digest, condemned, since FROM unneeded_blobs WHERE condemned IS NOT NULL")
      .map {
        (try $0.digest("digest"), try $0.byteCount("condemned"), try $0.timestamp("since"))
      }
  }
}
