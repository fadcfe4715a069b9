import Commerce
import Crypto
import Database

/// What everyone may see of a version without a ticket: its cover and its samples, by digest.
enum PreviewTable {
  /// The place of the cover; samples have 1 and up.
  static let cover = 0

  /// One file of a package that is public.
  struct Preview: Sendable {
    /// ``PreviewTable/cover``, or the number of a sample.
    var place: Int
    var mediaType: String
    var digest: SHA256Digest
    var content: [UInt8]
  }

  static func insert(
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

  /// Of a product on sale: what is at that place of the version that is released to all, or of the one named, as long as it is
  /// released. Nil when there is nothing.
  static func released(
    _ place: Int, of product: ProductIdentifier, version: ContentVersion?, in connection: borrowing Connection
  ) throws -> Preview? {
    let condition = version == nil ? "versions.percentage = 100" : "versions.ordering = ?"
    let row = try connection.first(
      """
      SELECT preview_contents.digest, media_type, content
      FROM versions
      JOIN products ON products.id = versions.product AND products.on_sale = 1
      JOIN previews ON previews.product = versions.product AND previews.ordering = versions.ordering
      JOIN preview_contents ON preview_contents.digest = previews.digest
      WHERE versions.product = ? AND versions.state = 'released' AND previews.place = ? AND \(condition)
      """,
      [.identifier(product), .integer(place)] + (version.map { [.text($0.orderingKey)] } ?? []))
    return try row.map { row in
      Preview(
        place: place, mediaType: try row.text("media_type"), digest: try row.digest("digest"),
        content: try row.blob("content"))
    }
  }
}
