import Database
import Digests
import Measures

/// An upload as the database knows it; its bytes are an incoming file of the blob store.
struct Upload: Sendable {
  var id: String
  /// The name of the operator key that began it.
  var owner: String
  /// Nil while the client has not said (`Upload-Defer-Length`).
  var length: ByteCount?
  /// `Upload-Metadata` as it was given.
  var metadata: String
  /// Set when the bytes are complete and on their way into the store of packages.
  var digest: SHA256Digest?
}

/// The rows of uploads.
enum UploadTable {
  static func insert(_ upload: Upload, at now: Timestamp, in connection: borrowing Connection) throws {
    try connection.execute(
      "INSERT INTO uploads (id, owner, length, metadata, created, touched) VALUES (?, ?, ?, ?, ?, ?)",
      [
        .text(upload.id), .text(upload.owner), .optional(upload.length, SQLValue.byteCount),
        .text(upload.metadata), .timestamp(now), .timestamp(now),
      ])
  }

  static func find(_ id: String, in connection: borrowing Connection) throws -> Upload? {
    guard let row = try connection.first("SELECT * FROM uploads WHERE id = ?", [.text(id)]) else {
      return nil
    }
    return Upload(
      id: try row.text("id"), owner: try row.text("owner"),
      length: try row.optionalInteger("length").map { ByteCount(rawValue: $0) },
      metadata: try row.text("metadata"),
      digest: try row.optionalBlob("digest").flatMap { SHA256Digest($0) })
  }

  static func setLength(
    _ length: ByteCount, of id: String, in connection: borrowing Connection
  ) throws {
    try connection.execute("UPDATE uploads SET length = ? WHERE id = ?", [.byteCount(length), .text(id)])
  }

  static func setDigest(
    _ digest: SHA256Digest, of id: String, in connection: borrowing Connection
  ) throws {
    try connection.execute("UPDATE uploads SET digest = ? WHERE id = ?", [.blob(digest.array), .text(id)])
  }

  static func touch(_ id: String, at now: Timestamp, in connection: borrowing Connection) throws {
    try connection.execute("UPDATE uploads SET touched = ? WHERE id = ?", [.timestamp(now), .text(id)])
  }

  static func remove(_ id: String, in connection: borrowing Connection) throws {
    try connection.execute("DELETE FROM uploads WHERE id = ?", [.text(id)])
  }
}
