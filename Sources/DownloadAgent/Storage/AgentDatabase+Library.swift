import Commerce
import CoreTypes
import Crypto
import Database
import PullboxAPI

extension AgentDatabase {
  /// The manifest of what is placed as that version of the product; nil where it is not known.
  func libraryManifest(_ item: LibraryItem) throws -> [UInt8]? {
    try database.readBlocking { connection in
      try connection.first(
        "SELECT manifest FROM library WHERE product = ? AND version = ?",
        [.text(item.product.description), .text(item.version.description)])?.optionalBlob("manifest")
    }
  }

  /// What is placed, by product and version.
  func libraryItems() throws -> [LibraryItem] {
    try database.readBlocking { connection in
      var items: [LibraryItem] = []
      try connection.forEach("SELECT * FROM library") { row in items.append(try Self.item(row)) }
      return items.sorted { ($0.product.description, $0.version) < ($1.product.description, $1.version) }
    }
  }

  /// The item, if the library holds that version of the product.
  func libraryItem(of product: ProductIdentifier, version: ContentVersion) throws -> LibraryItem? {
    try libraryItems().first { $0.product == product && $0.version == version }
  }

  /// Any item that came in the package of that digest.
  func libraryItem(digest: SHA256Digest) throws -> LibraryItem? {
    try database.readBlocking { connection in
      try connection.first("SELECT * FROM library WHERE digest = ? LIMIT 1", [.text(digest.hexadecimal)])
        .map { try Self.item($0) }
    }
  }

  /// `manifest` tells which of its files a later version need not bring.
  func saveLibraryItem(_ item: LibraryItem, manifest: [UInt8]? = nil) throws {
    try database.writeBlocking(locking: [.everything]) { connection in
      try connection.execute(
        """
        INSERT INTO library (product, version, path, digest, length, placed_at, title, manifest)
        VALUES (?, ?, ?, ?, ?, ?, ?, ?)
        ON CONFLICT (product, version) DO UPDATE SET path = excluded.path, digest = excluded.digest,
          length = excluded.length, placed_at = excluded.placed_at, title = excluded.title,
          manifest = excluded.manifest
        """,
        [
          .text(item.product.description), .text(item.version.description), .text(item.path),
          .text(item.digest.hexadecimal),
          .byteCount(item.length), .timestamp(item.placedAt), .optional(item.title), .optional(manifest),
        ])
    }
  }

  func removeLibraryItem(_ item: LibraryItem) throws {
    try database.writeBlocking(locking: [.everything]) { connection in
      try connection.execute(
        "DELETE FROM library WHERE product = ? AND version = ?",
        [.text(item.product.description), .text(item.version.description)])
    }
  }

  private static func item(_ row: Row) throws -> LibraryItem {
    LibraryItem(
      product: try require(ProductIdentifier(try row.text("product")), "library.product"),
      version: try require(ContentVersion(try row.text("version")), "library.version"),
      path: try row.text("path"),
      digest: try require(SHA256Digest(hexadecimal: try row.text("digest")), "library.digest"),
      length: try row.byteCount("length"), placedAt: try row.timestamp("placed_at"),
      title: try row.optionalText("title"))
  }
}
