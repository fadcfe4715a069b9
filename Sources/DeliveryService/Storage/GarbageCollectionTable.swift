import CoreTypes
import Crypto
import Database

/// What the database knows about which blobs are needed.
enum GarbageCollectionTable {
  /// States of grants that may still ask for their content: not finished, or revoked before they were and
  /// perhaps reinstated.
  private static let live = "('granted', 'completed', 'revoked/granted', 'revoked/completed')"

  /// What a version or a live grant refers to. Without `keepsWithdrawn`, a withdrawn version alone needs
  /// nothing.
  static func needed(
    keepsWithdrawn: Bool, in connection: borrowing Connection
  ) throws -> Set<SHA256Digest> {
    let rows = try connection.query(
      """
      SELECT digest FROM versions WHERE ? OR state <> 'withdrawn'
      UNION SELECT digest FROM grants WHERE state IN \(live)
      """, [.boolean(keepsWithdrawn)])
    return Set(try rows.map { try $0.digest("digest") })
  }

  /// The same question about one blob, with the uploads that are on their way to a version.
  static func isNeeded(
    _ digest: SHA256Digest, keepsWithdrawn: Bool, in connection: borrowing Connection
  ) throws -> Bool {
    let value = SQLValue.digest(digest)
    return try connection.first(
      """
      SELECT 1 AS one FROM versions WHERE digest = ? AND (? OR state <> 'withdrawn')
      UNION ALL SELECT 1 FROM uploads WHERE digest = ?
      UNION ALL SELECT 1 FROM grants WHERE digest = ? AND state IN \(live)
      LIMIT 1
      """, [value, .boolean(keepsWithdrawn), value, value]) != nil
  }

  static func unneeded(in connection: borrowing Connection) throws -> [SHA256Digest: Timestamp] {
    var since: [SHA256Digest: Timestamp] = [:]
    for row in try connection.query("SELECT * FROM unneeded_blobs") {
      since[try row.digest("digest")] = try row.timestamp("since")
    }
    return since
  }

  /// One that is marked already keeps its time.
  static func mark(
    _ digest: SHA256Digest, since now: Timestamp, in connection: borrowing Connection
  ) throws {
    try connection.execute(
      "INSERT OR IGNORE INTO unneeded_blobs (digest, since) VALUES (?, ?)",
      [.digest(digest), .timestamp(now)])
  }

  static func unmark(_ digest: SHA256Digest, in connection: borrowing Connection) throws {
    try connection.execute("DELETE FROM unneeded_blobs WHERE digest = ?", [.digest(digest)])
  }
}
