package import CoreTypes
package import Crypto
package import Database

/// The packages that are not sent any more although versions of theirs were granted; ``RevocationList`` is
/// its image in memory.
package enum BlockedContentTable {
  /// Blocks a package. One that is blocked already keeps its date.
  package static func add(
    _ digest: SHA256Digest, at now: Timestamp, in connection: borrowing Connection
  ) throws {
    let added = try connection.execute(
      "INSERT INTO content_stops (digest, at) VALUES (?, ?) ON CONFLICT DO NOTHING",
      [.digest(digest), .timestamp(now)])
    if added > 0 { try StopLog.note(.content(digest), at: now, in: connection) }
  }

  /// Takes the block away; nothing happens without one.
  package static func remove(
    _ digest: SHA256Digest, at now: Timestamp, in connection: borrowing Connection
  ) throws {
    let removed = try connection.execute(
      "DELETE FROM content_stops WHERE digest = ?", [.digest(digest)])
    if removed > 0 { try StopLog.note(.content(digest), at: now, in: connection) }
  }

  /// Whether the package is blocked.
  package static func contains(_ digest: SHA256Digest, in connection: borrowing Connection) throws -> Bool {
    try connection.first("SELECT 1 AS one FROM content_stops WHERE digest = ?", [.digest(digest)]) != nil
  }

  /// Returns every blocked package, in no order, for the image in memory.
  package static func all(in connection: borrowing Connection) throws -> [SHA256Digest] {
    try connection.query("SELECT digest FROM content_stops").map { try $0.digest("digest") }
  }
}
