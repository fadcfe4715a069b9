package import Commerce
package import CoreTypes
import Crypto
package import Database
import DeliverySchema
package import PullboxAPI
package import ServiceAPI

/// The rows of content versions. Their content never changes (the database refuses it); where they stand
/// does. Its functions run in the caller's transaction and throw ``DatabaseError`` and ``ColumnTypeMismatch``.
package enum VersionTable {
  private static let columns = """
    product, version, state, digest, length, manifest_digest, pieces, files, created, released, reason, percentage,
    scheduled_at, scheduled_percentage, scheduled_by, submitted_by, approved_by, downloads_stopped
    """

  /// `1` and `1.0` are one version, whatever its spelling in the table.
  package static func find(
    _ product: ProductIdentifier, _ version: ContentVersion, in connection: borrowing Connection
  ) throws -> VersionRecord? {
    try connection.first(
      "SELECT \(columns) FROM versions WHERE product = ? AND ordering = ?",
      [.identifier(product), .text(version.orderingKey)]
    ).map(record)
  }

  /// The refusal of a version that there is not: it names those that there are, the newest first.
  package static func unknown(
    _ version: ContentVersion, of product: ProductIdentifier, in connection: borrowing Connection
  ) throws -> Problem {
    let shown = 5
    let versions = try page(of: product, after: nil, limit: shown + 1, in: connection).map(
      \.version.description)
    let names = versions.prefix(shown).joined(separator: ", ") + (versions.count > shown ? ", …" : "")
    return Problem(
      .versionUnknown,
      "\(product) has no version \(version)"
        + (names.isEmpty ? "; nothing was uploaded for it yet" : "; it has \(names)"))
  }

  /// At most `limit` versions below `after`, the newest first.
  package static func page(
    of product: ProductIdentifier, after: ContentVersion?, limit: Int, in connection: borrowing Connection
  ) throws -> [VersionRecord] {
    // Digits and lower-case letters are all below it.
    let bound = after?.orderingKey ?? "~"
    return try connection.query(
      "SELECT \(columns) FROM versions WHERE product = ? AND ordering < ? ORDER BY ordering DESC LIMIT ?",
      [.identifier(product), .text(bound), .integer(limit)]
    ).map(record)
  }

  /// Those that all devices or a part of them get: two at most, the newest first.
  package static func released(
    of product: ProductIdentifier, in connection: borrowing Connection
  ) throws -> [VersionRecord] {
    try connection.query(
      """
      SELECT \(columns) FROM versions WHERE product = ? AND state = 'released' AND percentage = 100
      UNION ALL
      SELECT \(columns) FROM versions WHERE product = ? AND state = 'released' AND percentage < 100
      """, [.identifier(product), .identifier(product)]
    ).map(record).sorted { $0.version > $1.version }
  }

  /// Returns the number of the product's versions, in whatever state.
  package static func count(of product: ProductIdentifier, in connection: borrowing Connection) throws -> Int
  {
    let row = try connection.first(
      "SELECT count(*) AS count FROM versions WHERE product = ?", [.identifier(product)])
    return Int(try row?.integer("count") ?? 0)
  }

  /// A version whose release has a date, as its row names it: it may hold what this program never writes there.
  package struct Scheduled: Hashable, Sendable {
    /// When the release is due, by the wall clock.
    package var at: Timestamp
    /// The product as the row spells it.
    package var product: String
    /// The version as the row spells it.
    package var version: String

    /// Before every version that can be.
    package static let start = Scheduled(
      at: Timestamp(millisecondsSinceEpoch: .min), product: "", version: "")
  }

  /// At most `limit` of those whose release was to happen by then and that stand behind `last`, the earliest first.
  package static func due(
    at now: Timestamp, after last: Scheduled = .start, limit: Int, in connection: borrowing Connection
  ) throws -> [Scheduled] {
    try connection.query(
      """
      SELECT scheduled_at, product, version FROM versions \(SQLDialect.index("versions_scheduled"))
      WHERE scheduled_at IS NOT NULL AND scheduled_at <= ? AND (scheduled_at, product, version) > (?, ?, ?)
      ORDER BY scheduled_at, product, version LIMIT ?
      """,
      [.timestamp(now), .timestamp(last.at), .text(last.product), .text(last.version), .integer(limit)]
    ).map { row in
      Scheduled(
        at: try row.timestamp("scheduled_at"), product: try row.text("product"),
        version: try row.text("version"))
    }
  }

  /// When the first release after `now` is to happen; nil when none is.
  package static func nextDate(after now: Timestamp, in connection: borrowing Connection) throws -> Timestamp?
  {
    try connection.first(
      "SELECT min(scheduled_at) AS next FROM versions WHERE scheduled_at IS NOT NULL AND scheduled_at > ?",
      [.timestamp(now)])?
      .optionalTimestamp("next")
  }

  /// Adds a version with its manifest, which is kept once for all versions that have the same. Throws
  /// ``DatabaseError`` `constraint` where the product has the version already.
  ///
  /// - Parameters:
  ///   - record: the version, which is not released yet.
  ///   - manifest: the manifest's exact bytes.
  ///   - cover: the path of the cover within the package; nil for none.
  ///   - title: the title that the manifest shows; nil for none.
  package static func insert(
    _ record: VersionRecord, manifest: [UInt8], cover: String?, title: String?,
    in connection: borrowing Connection
  ) throws {
    try connection.execute(
      "INSERT INTO manifests (digest, document) VALUES (?, ?) ON CONFLICT DO NOTHING",
      [.digest(record.manifestDigest), .blob(manifest)])
    try connection.execute(
      """
      INSERT INTO versions (product, version, ordering, state, digest, length, manifest_digest, pieces, files,
        cover, title, created)
      VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
      """,
      [
        .identifier(record.product), .identifier(record.version), .text(record.version.orderingKey),
        .choice(record.state), .digest(record.digest), .byteCount(record.length),
        .digest(record.manifestDigest), .integer(record.pieces), .integer(record.files),
        .optional(cover), .optional(title), .timestamp(record.created),
      ])
  }

  /// Writes down where the version stands. The columns of its content stay; a trigger refuses a change of them.
  package static func update(_ record: VersionRecord, in connection: borrowing Connection) throws {
    let scheduled = record.scheduled
    try connection.execute(
      """
      UPDATE versions SET state = ?, released = ?, reason = ?, percentage = ?, scheduled_at = ?,
        scheduled_percentage = ?, scheduled_by = ?, submitted_by = ?, approved_by = ?, downloads_stopped = ?
      WHERE product = ? AND version = ?
      """,
      [
        .choice(record.state), .optional(record.released), .optional(record.reason),
        .optional(record.percentage.map(Int64.init)), .optional(scheduled?.at),
        .optional((scheduled?.percentage).map(Int64.init)), .optional(scheduled?.by),
        .optional(record.submittedBy), .optional(record.approvedBy),
        .boolean(record.downloadsStopped == true),
        .identifier(record.product), .identifier(record.version),
      ])
  }

  /// Reads the columns of ``columns``.
  private static func record(_ row: Row) throws -> VersionRecord {
    var record = VersionRecord(
      product: try row.identifier("product"), version: try row.identifier("version"),
      state: try row.choice("state"), length: try row.byteCount("length"), digest: try row.digest("digest"),
      manifestDigest: try row.digest("manifest_digest"), pieces: Int(try row.integer("pieces")),
      files: Int(try row.integer("files")), created: try row.timestamp("created"),
      released: try row.optionalTimestamp("released"), reason: try row.optionalText("reason"))
    record.percentage = try row.optionalInteger("percentage").map { Int($0) }
    if let at = try row.optionalTimestamp("scheduled_at") {
      record.scheduled = ScheduledRelease(
        at: at, percentage: Int(try row.integer("scheduled_percentage")), by: try row.text("scheduled_by"))
    }
    record.submittedBy = try row.optionalText("submitted_by")
    record.approvedBy = try row.optionalText("approved_by")
    record.downloadsStopped = try row.boolean("downloads_stopped") ? true : nil
    return record
  }
}
