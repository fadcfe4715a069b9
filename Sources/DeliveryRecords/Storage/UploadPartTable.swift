package import CoreTypes
package import Crypto
package import Database

/// A part of an upload's bytes, as it lies in the store that all nodes share.
package struct UploadPart: Hashable, Sendable {
  /// Where it begins in the upload.
  package var start: ByteCount
  /// Its bytes, one at least.
  package var length: ByteCount
  /// The SHA-256 of its bytes.
  package var digest: SHA256Digest
  /// Names its object, and no other one that was ever put.
  package var name: String

  package init(start: ByteCount, length: ByteCount, digest: SHA256Digest, name: String) {
    self.start = start
    self.length = length
    self.digest = digest
    self.name = name
  }

  /// Where the next one begins.
  package var end: ByteCount { start + length }
}

/// The parts of uploads that any node goes on with: what has a row here counts as received. An upload whose bytes lie in a file of one
/// server has none. The functions run in the caller's transaction, in one that locks the upload where they write, and throw
/// ``DatabaseError``.
package enum UploadPartTable {
  /// Adds a part, in place of those whose bytes it has.
  package static func set(
    _ part: UploadPart, of upload: String, in connection: borrowing Connection
  ) throws {
    try connection.execute(
      """
      INSERT INTO upload_parts (upload, start, length, digest, name) VALUES (?, ?, ?, ?, ?)
      ON CONFLICT (upload, start)
      DO UPDATE SET length = excluded.length, digest = excluded.digest, name = excluded.name
      """,
      [
        .text(upload), .byteCount(part.start), .byteCount(part.length), .digest(part.digest),
        .text(part.name),
      ])
    try connection.execute(
      "DELETE FROM upload_parts WHERE upload = ? AND start > ? AND start < ?",
      [.text(upload), .byteCount(part.start), .byteCount(part.end)])
  }

  /// The parts from the first byte on, each behind the one before.
  package static func all(of upload: String, in connection: borrowing Connection) throws -> [UploadPart] {
    try connection.query(
      "SELECT start, length, digest, name FROM upload_parts WHERE upload = ? ORDER BY start", [.text(upload)]
    ).map { row in
      UploadPart(
        start: try row.byteCount("start"), length: try row.byteCount("length"),
        digest: try row.digest("digest"), name: try row.text("name"))
    }
  }

  /// How many bytes the parts have.
  package static func length(of upload: String, in connection: borrowing Connection) throws -> ByteCount {
    try connection.first(
      "SELECT start + length AS length FROM upload_parts WHERE upload = ? ORDER BY start DESC LIMIT 1",
      [.text(upload)]
    )?.byteCount("length") ?? .zero
  }

  /// Forgets all parts, and the uploads that consist of them: a server that has no nodes beside it begins these anew.
  package static func abandon(in connection: borrowing Connection) throws {
    try connection.execute(
      "DELETE FROM uploads WHERE digest IS NULL AND id IN (SELECT upload FROM upload_parts)")
    try connection.execute("DELETE FROM upload_parts WHERE upload IN (SELECT id FROM uploads)")
  }

  /// Forgets the parts, and returns them: their objects are the caller's to remove.
  package static func removeAll(
    of upload: String, in connection: borrowing Connection
  ) throws -> [UploadPart] {
    let parts = try all(of: upload, in: connection)
    try connection.execute("DELETE FROM upload_parts WHERE upload = ?", [.text(upload)])
    return parts
  }
}

extension UploadTable {
  /// For how long an upload whose bytes became a package still counts with what it had reserved: packages are counted by a list that
  /// is some time old. It has parts until the package is there.
  private static let listAge: Duration = .seconds(120)

  /// Writes down how many bytes the upload may reach.
  package static func setReserved(
    _ length: ByteCount, of id: String, in connection: borrowing Connection
  ) throws {
    try connection.execute("UPDATE uploads SET reserved = ? WHERE id = ?", [.byteCount(length), .text(id)])
  }

  /// Returns what all uploads besides one have reserved together.
  package static func reserved(
    besides id: String, at now: Timestamp, in connection: borrowing Connection
  ) throws -> ByteCount {
    try connection.first(
      """
      SELECT CAST(coalesce(sum(reserved), 0) AS BIGINT) AS reserved FROM uploads
      WHERE id <> ? AND (digest IS NULL OR touched > ? OR EXISTS (SELECT 1 FROM upload_parts WHERE upload = uploads.id))
      """, [.text(id), .timestamp(now - listAge)]
    )?.byteCount("reserved") ?? .zero
  }
}
