import Commerce
import Database
import Digests
import Measures
import PullboxAPI

/// The rows of content versions.
enum VersionTable {
  static func find(
    _ product: ProductIdentifier, _ version: ContentVersion, in connection: borrowing Connection
  ) throws -> VersionRecord? {
    // `1` and `1.0` are one version: the spelling in the table need not be the one asked for.
    try all(of: product, in: connection).first { $0.version == version }
  }

  /// Newest first.
  static func all(
    of product: ProductIdentifier, in connection: borrowing Connection
  ) throws -> [VersionRecord] {
    let rows = try connection.query(
      """
      SELECT product, version, state, digest, length, manifest_digest, pieces, files, created, released, reason
      FROM versions WHERE product = ?
      """, [.text(product.text)])
    return try rows.map(record).sorted { $0.version > $1.version }
  }

  static func insert(
    _ record: VersionRecord, manifest: [UInt8], cover: String?, title: String?,
    in connection: borrowing Connection
  ) throws {
    try connection.execute(
      """
      INSERT INTO versions (product, version, state, digest, length, manifest, manifest_digest, pieces, files,
        cover, title, created)
      VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
      """,
      [
        .text(record.product.text), .text(record.version.text), .text(record.state.rawValue),
        .blob(record.digest.array), .byteCount(record.length), .blob(manifest),
        .blob(record.manifestDigest.array), .integer(record.pieces), .integer(record.files),
        .optional(cover), .optional(title), .timestamp(record.created),
      ])
  }

  static func update(_ record: VersionRecord, in connection: borrowing Connection) throws {
    try connection.execute(
      "UPDATE versions SET state = ?, released = ?, reason = ? WHERE product = ? AND version = ?",
      [
        .text(record.state.rawValue), .optional(record.released), .optional(record.reason),
        .text(record.product.text), .text(record.version.text),
      ])
  }

  /// The version that readers get now; nil when none is released.
  static func released(
    of product: ProductIdentifier, in connection: borrowing Connection
  ) throws -> ReleasedContent? {
    try connection.first(
      "SELECT * FROM versions WHERE product = ? AND state = 'released'", [.text(product.text)]
    ).map(content)
  }

  /// A version that a reader may still ask for by name: released now or before.
  static func available(
    _ product: ProductIdentifier, _ version: ContentVersion, in connection: borrowing Connection
  ) throws -> ReleasedContent? {
    let rows = try connection.query(
      "SELECT * FROM versions WHERE product = ? AND state IN ('released', 'superseded')",
      [.text(product.text)])
    return try rows.map(content).first { $0.version == version }
  }

  static func isWithdrawn(
    _ product: ProductIdentifier, _ version: ContentVersion?, in connection: borrowing Connection
  ) throws -> Bool {
    try all(of: product, in: connection).contains {
      $0.state == .withdrawn && (version == nil || $0.version == version)
    }
  }

  /// The manifest's bytes of a version, by its spelling in the table; nil when there is no such version.
  static func manifest(
    of product: ProductIdentifier, _ version: ContentVersion, in connection: borrowing Connection
  ) throws -> [UInt8]? {
    try connection.first(
      "SELECT manifest FROM versions WHERE product = ? AND version = ?",
      [.text(product.text), .text(version.text)])?.blob("manifest")
  }

  /// The manifest's bytes for a package of that digest; nil when no version refers to it.
  static func manifest(
    of digest: SHA256Digest, in connection: borrowing Connection
  ) throws -> [UInt8]? {
    try connection.first("SELECT manifest FROM versions WHERE digest = ? LIMIT 1", [.blob(digest.array)])?
      .blob("manifest")
  }

  private static func record(_ row: Row) throws -> VersionRecord {
    VersionRecord(
      product: try row.identifier("product"), version: try row.identifier("version"),
      state: try row.choice("state"), length: try row.byteCount("length"), digest: try row.digest("digest"),
      manifestDigest: try row.digest("manifest_digest"), pieces: Int(try row.integer("pieces")),
      files: Int(try row.integer("files")), created: try row.timestamp("created"),
      released: try row.optionalTimestamp("released"), reason: try row.optionalText("reason"))
  }

  private static func content(_ row: Row) throws -> ReleasedContent {
    ReleasedContent(
      product: try row.identifier("product"), version: try row.identifier("version"),
      digest: try row.digest("digest"), length: try row.byteCount("length"),
      manifestDigest: try row.digest("manifest_digest"), cover: try row.optionalText("cover"))
  }
}
