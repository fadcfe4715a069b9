package import Commerce
package import CoreTypes
package import Crypto
package import Database
import DeliverySchema

/// The public parts of versions, which everyone may see without a ticket: covers and samples, by digest.
/// Contents are kept once, whichever versions show them. Its functions run in the caller's transaction and
/// throw ``DatabaseError``.
package enum PreviewTable {
  /// The place of the cover; samples have 1 and up.
  package static let cover = 0

  /// The place of the cover in another width.
  package static func place(ofWidth width: Int) -> Int { -width }

  /// One file of a package that is public.
  package struct Preview: Sendable {
    /// ``PreviewTable/cover``, ``PreviewTable/place(ofWidth:)``, or the number of a sample.
    package var place: Int
    /// The media type to answer with.
    package var mediaType: String
    /// The SHA-256 of the content.
    package var digest: SHA256Digest
    /// The bytes of the file.
    package var content: [UInt8]

    package init(place: Int, mediaType: String, digest: SHA256Digest, content: [UInt8]) {
      self.place = place
      self.mediaType = mediaType
      self.digest = digest
      self.content = content
    }
  }

  /// Adds the previews of a new version, which never change.
  package static func insert(
    _ previews: [Preview], of product: ProductIdentifier, _ version: ContentVersion,
    in connection: borrowing Connection
  ) throws {
    for preview in previews {
      try connection.execute(
        "INSERT INTO preview_contents (digest, media_type, content) VALUES (?, ?, ?) ON CONFLICT (digest) DO NOTHING",
        [.digest(preview.digest), .text(preview.mediaType), .blob(preview.content)])
      try connection.execute(
        "INSERT INTO previews (product, ordering, place, digest) VALUES (?, ?, ?, ?)",
        [
          .identifier(product), .text(version.orderingKey), .integer(preview.place), .digest(preview.digest),
        ])
    }
  }

  /// Returns the cover of a product on sale: the narrowest picture that is at least as wide as `width`, or the cover itself
  /// where there is none. Chooses the version as ``released(_:of:version:at:in:)`` does.
  package static func releasedCover(
    width: Int, of product: ProductIdentifier, version: ContentVersion?, at now: Timestamp,
    in connection: borrowing Connection
  ) throws -> Preview? {
    let condition = version == nil ? "versions.percentage = 100" : "versions.ordering = ?"
    let row = try connection.first(
      """
      SELECT max(previews.place) AS place FROM versions
      JOIN previews ON previews.product = versions.product AND previews.ordering = versions.ordering
      WHERE versions.product = ? AND versions.state = 'released' AND previews.place <= ? AND \(condition)
      """,
      [.identifier(product), .integer(place(ofWidth: width))]
        + (version.map { [.text($0.orderingKey)] } ?? []))
    let found = try row?.optionalInteger("place").map(Int.init(clamping:)) ?? cover
    return try released(found, of: product, version: version, at: now, in: connection)
  }

  /// Whether everyone may see a sample of that version.
  package static func hasSample(
    of product: ProductIdentifier, _ version: ContentVersion, in connection: borrowing Connection
  ) throws -> Bool {
    try connection.first(
      "SELECT 1 FROM previews WHERE product = ? AND ordering = ? AND place > ? LIMIT 1",
      [.identifier(product), .text(version.orderingKey), .integer(cover)]) != nil
  }

  /// Returns the preview at that place of a product on sale, from the version that is released to all, or from the one
  /// named, as long as it is released. Nil when there is none. A product is on sale here if it is cleared and
  /// within its dates.
  package static func released(
    _ place: Int, of product: ProductIdentifier, version: ContentVersion?, at now: Timestamp,
    in connection: borrowing Connection
  ) throws -> Preview? {
    let condition = version == nil ? "versions.percentage = 100" : "versions.ordering = ?"
    let row = try connection.first(
      """
      SELECT preview_contents.digest, media_type, content
      FROM versions
      JOIN products ON products.id = versions.product AND products.on_sale = 1
        AND (products.available_from IS NULL OR products.available_from <= ?)
        AND (products.available_until IS NULL OR products.available_until > ?)
      JOIN previews ON previews.product = versions.product AND previews.ordering = versions.ordering
      JOIN preview_contents ON preview_contents.digest = previews.digest
      WHERE versions.product = ? AND versions.state = 'released' AND previews.place = ? AND \(condition)
      """,
      [.timestamp(now), .timestamp(now), .identifier(product), .integer(place)]
        + (version.map { [.text($0.orderingKey)] } ?? []))
    return try row.map { row in
      Preview(
        place: place, mediaType: try row.text("media_type"), digest: try row.digest("digest"),
        content: try row.blob("content"))
    }
  }
}
