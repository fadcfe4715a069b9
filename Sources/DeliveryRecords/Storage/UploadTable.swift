package import CoreTypes
package import Crypto
package import Database
package import DeliveryModel

/// The rows of uploads. An upload has one until it expires, also once it became a version. The functions run in
/// the caller's transaction, in one that locks the upload where they write, and throw ``DatabaseError``.
package enum UploadTable {
  private static let columns =
    "id, owner, length, metadata, digest, awaits_end, whole_digest, created, touched, addressed"

  /// Begins an upload. Throws ``DatabaseError`` `constraint` for a name that is taken.
  package static func insert(_ upload: Upload, in connection: borrowing Connection) throws {
    try connection.execute(
      """
      INSERT INTO uploads (id, owner, length, metadata, awaits_end, whole_digest, created, touched, addressed)
      VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
      """,
      [
        .text(upload.id), .text(upload.owner), .optional(upload.length, SQLValue.byteCount),
        .text(upload.metadata), .boolean(upload.awaitsEnd), .optional(upload.wholeDigest, SQLValue.digest),
        .timestamp(upload.created), .timestamp(upload.touched), .boolean(upload.isAddressed),
      ])
  }

  /// Returns the upload, expired or not; nil where there is none.
  package static func find(_ id: String, in connection: borrowing Connection) throws -> Upload? {
    try connection.first("SELECT \(columns) FROM uploads WHERE id = ?", [.text(id)]).map(upload)
  }

  /// The uploads whose bytes no version has. Those of versions stay until they expire, for a client that asks again.
  package static func countWithoutVersion(in connection: borrowing Connection) throws -> Int64 {
    try connection.first(
      """
      SELECT count(*) AS uploads FROM uploads WHERE digest IS NULL
        OR NOT EXISTS (SELECT 1 FROM versions WHERE versions.digest = uploads.digest)
      """)?.integer("uploads") ?? 0
  }

  /// The oldest first.
  package static func all(in connection: borrowing Connection) throws -> [Upload] {
    try connection.query("SELECT \(columns) FROM uploads ORDER BY created, id").map(upload)
  }

  /// At most `limit` uploads behind `after`, the oldest first.
  package static func page(
    after: UploadCursor?, limit: Int, in connection: borrowing Connection
  ) throws -> [Upload] {
    let after = after ?? UploadCursor(created: Timestamp(millisecondsSinceEpoch: .min), id: "")
    return try connection.query(
      """
      SELECT \(columns) FROM uploads \(SQLDialect.index("uploads_by_age")) WHERE (created, id) > (?, ?)
      ORDER BY created, id LIMIT ?
      """,
      [.timestamp(after.created), .text(after.id), .integer(limit)]
    ).map(upload)
  }

  /// Writes down the length, which the client did not know at first.
  package static func setLength(
    _ length: ByteCount, of id: String, in connection: borrowing Connection
  ) throws {
    try connection.execute("UPDATE uploads SET length = ? WHERE id = ?", [.byteCount(length), .text(id)])
  }

  /// The bytes end here; nothing follows.
  package static func setEnd(_ length: ByteCount, of id: String, in connection: borrowing Connection) throws {
    try connection.execute(
      "UPDATE uploads SET length = ?, awaits_end = 0 WHERE id = ?", [.byteCount(length), .text(id)])
  }

  /// The bytes are complete: they have this digest, and the upload's time begins anew.
  package static func setDigest(
    _ digest: SHA256Digest, of id: String, at now: Timestamp, in connection: borrowing Connection
  ) throws {
    try connection.execute(
      "UPDATE uploads SET digest = ?, touched = ? WHERE id = ?",
      [.digest(digest), .timestamp(now), .text(id)])
  }

  /// A request has added to it: its time begins anew.
  package static func touch(_ id: String, at now: Timestamp, in connection: borrowing Connection) throws {
    try connection.execute("UPDATE uploads SET touched = ? WHERE id = ?", [.timestamp(now), .text(id)])
  }

  /// Its client is about to be told the address.
  package static func setAddressed(_ id: String, in connection: borrowing Connection) throws {
    try connection.execute("UPDATE uploads SET addressed = 1 WHERE id = ?", [.text(id)])
  }

  /// Forgets the uploads whose address no client can know, when no request is making any.
  package static func removeUnaddressed(
    createdBefore cutoff: Timestamp, in connection: borrowing Connection
  ) throws {
    try connection.execute(
      "DELETE FROM uploads WHERE addressed = 0 AND created < ?", [.timestamp(cutoff)])
  }

  /// Forgets the upload. Its bytes are the caller's to remove.
  package static func remove(_ id: String, in connection: borrowing Connection) throws {
    try connection.execute("DELETE FROM uploads WHERE id = ?", [.text(id)])
  }

  /// Reads the columns of ``columns``. A digest that is damaged counts as none, so that one row does not keep the others from being
  /// read.
  private static func upload(_ row: Row) throws -> Upload {
    Upload(
      id: try row.text("id"), owner: try row.text("owner"),
      length: try row.optionalByteCount("length"),
      metadata: try row.text("metadata"),
      digest: try row.digestIfIntact("digest"),
      awaitsEnd: try row.boolean("awaits_end"),
      wholeDigest: try row.digestIfIntact("whole_digest"),
      created: try row.timestamp("created"), touched: try row.timestamp("touched"),
      isAddressed: try row.boolean("addressed"))
  }
}
