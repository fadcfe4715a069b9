package import Commerce
package import CoreTypes
package import Crypto
package import Database
package import DeliveryModel
import DeliverySchema
import PullboxAPI
import ServiceAPI

/// The content version of a product that readers get now.
package struct ReleasedContent: Hashable, Sendable {
  /// The product that is for sale.
  package var product: ProductIdentifier
  /// The version as its publisher spelled it.
  package var version: ContentVersion
  /// The SHA-256 of the package.
  package var digest: SHA256Digest
  /// Bytes of the package.
  package var length: ByteCount
  /// The SHA-256 of the manifest's exact bytes.
  package var manifestDigest: SHA256Digest
  /// Path of the cover within the package.
  package var cover: String?
  /// Whether everyone may see it.
  package var hasPublicCover = false
  /// When it was released to whom it is offered now.
  package var released: Timestamp?
}

/// Versions as devices ask for them.
extension VersionTable {
  private static let contentColumns =
    "product, version, state, percentage, digest, length, manifest_digest, cover, released"

  /// Returns the version for every device that is in no partial release; nil when nothing is released to all.
  package static func releasedToAll(
    of product: ProductIdentifier, in connection: borrowing Connection
  ) throws -> ReleasedContent? {
    try connection.first(
      "SELECT \(contentColumns) FROM versions WHERE product = ? AND state = 'released' AND percentage = 100",
      [.identifier(product)]
    ).map { try content($0) }
  }

  /// The version that a part of the devices gets; nil when there is none.
  package static func releasedToPart(
    of product: ProductIdentifier, in connection: borrowing Connection
  ) throws -> ContentVersion? {
    try connection.first(
      "SELECT version FROM versions WHERE product = ? AND state = 'released' AND percentage < 100",
      [.identifier(product)]
    ).map { try $0.identifier("version") }
  }

  /// Returns the version that this device gets now, as ``RolloutPlan/version(for:of:)`` chooses it; nil when nothing is
  /// released to it.
  package static func offered(
    _ product: ProductIdentifier, to device: DeviceIdentifier, in connection: borrowing Connection
  ) throws -> ReleasedContent? {
    let part = try connection.first(
      "SELECT \(contentColumns) FROM versions WHERE product = ? AND state = 'released' AND percentage < 100",
      [.identifier(product)])
    if let part, try share(part)?.includes(device, of: product) == true { return try content(part) }
    return try releasedToAll(of: product, in: connection)
  }

  /// Returns the released versions of the products that have changed since that revision of the catalog.
  package static func released(
    since revision: Int64, in connection: borrowing Connection
  ) throws -> [(content: ReleasedContent, share: RolloutPercentage)] {
    let columns = contentColumns.split(separator: ", ").map { "versions.\($0)" }.joined(separator: ", ")
    return try connection.query(
      """
      SELECT \(columns), EXISTS (
        SELECT 1 FROM previews
        WHERE previews.product = versions.product AND previews.ordering = versions.ordering AND previews.place = 0
      ) AS has_cover
      FROM products \(SQLDialect.index("products_by_revision")) CROSS JOIN versions
      WHERE products.revision > ? AND versions.product = products.id AND versions.state = 'released'
      """, [.integer(revision)]
    ).map { row in
      var content = try content(row)
      content.hasPublicCover = try row.boolean("has_cover")
      return (content, try share(row) ?? .all)
    }
  }

  /// A version that the device may ask for by name: released now to it, or before to any device. A version that
  /// was superseded is open to every device.
  package static func available(
    _ product: ProductIdentifier, _ version: ContentVersion, to device: DeviceIdentifier,
    in connection: borrowing Connection
  ) throws -> ReleasedContent? {
    let row = try connection.first(
      """
      SELECT \(contentColumns) FROM versions
      WHERE product = ? AND ordering = ? AND state IN ('released', 'superseded')
      """, [.identifier(product), .text(version.orderingKey)])
    guard let row else { return nil }
    if let share = try share(row), !share.includes(device, of: product) { return nil }
    return try content(row)
  }

  /// Whether that version, or any where none is named, was withdrawn.
  package static func isWithdrawn(
    _ product: ProductIdentifier, _ version: ContentVersion?, in connection: borrowing Connection
  ) throws -> Bool {
    if let version {
      return try find(product, version, in: connection)?.state == .withdrawn
    }
    return try connection.first(
      "SELECT 1 FROM versions WHERE state = 'withdrawn' AND product = ? LIMIT 1", [.identifier(product)])
      != nil
  }

  /// The manifest's bytes for a package of that digest; nil when no version refers to it.
  package static func manifest(
    of digest: SHA256Digest, in connection: borrowing Connection
  ) throws -> [UInt8]? {
    try connection.first(
      """
      SELECT document FROM manifests
      WHERE digest = (SELECT manifest_digest FROM versions WHERE versions.digest = ? LIMIT 1)
      """, [.digest(digest)])?
      .blob("document")
  }

  /// Bytes of the package, by any version that has it; nil where none has.
  package static func length(
    of digest: SHA256Digest, in connection: borrowing Connection
  ) throws -> ByteCount? {
    try connection.first("SELECT length FROM versions WHERE digest = ? LIMIT 1", [.digest(digest)])
      .map { ByteCount(try $0.integer("length")) }
  }

  /// The manifest's bytes by their own digest.
  package static func manifestDocument(
    _ manifestDigest: SHA256Digest, in connection: borrowing Connection
  ) throws -> [UInt8]? {
    try connection.first(
      "SELECT document FROM manifests WHERE digest = ?", [.digest(manifestDigest)])?.blob("document")
  }

  /// Whether grants made before open that package no more: a version with it was withdrawn with its downloads
  /// stopped, and it is not that of another version that readers may have.
  package static func isStopped(_ digest: SHA256Digest, in connection: borrowing Connection) throws -> Bool {
    let stopped = try connection.first(
      "SELECT 1 FROM versions WHERE digest = ? AND downloads_stopped = 1 LIMIT 1", [.digest(digest)])
    return try stopped != nil && available(with: digest, in: connection) == nil
  }

  /// A version of any product that readers may have and whose package is that one.
  package static func available(
    with digest: SHA256Digest, in connection: borrowing Connection
  ) throws -> (product: ProductIdentifier, version: ContentVersion)? {
    try connection.first(
      """
      SELECT product, version FROM versions
      WHERE digest = ? AND state IN ('released', 'superseded') LIMIT 1
      """, [.digest(digest)]
    ).map { (try $0.identifier("product"), try $0.identifier("version")) }
  }

  /// The share that the version is released to; nil where it is not released now.
  private static func share(_ row: Row) throws -> RolloutPercentage? {
    try row.optional("percentage", as: "1 to 100", from: row.optionalInteger) {
      RolloutPercentage(percentage: Int($0))
    }
  }

  /// Reads the columns of ``contentColumns``.
  private static func content(_ row: Row) throws -> ReleasedContent {
    ReleasedContent(
      product: try row.identifier("product"), version: try row.identifier("version"),
      digest: try row.digest("digest"), length: try row.byteCount("length"),
      manifestDigest: try row.digest("manifest_digest"), cover: try row.optionalText("cover"),
      released: try row.optionalTimestamp("released"))
  }
}
