package import Commerce
package import Database
import PullboxAPI

/// The server's titles of arrived products, and the files of the library that hold their covers.
extension AgentDatabase {
  /// A cover whose name cannot be one is left out.
  package func listings() throws -> [ProductIdentifier: KeptListing] {
    try database.readBlocking { connection in
      var listings: [ProductIdentifier: KeptListing] = [:]
      for row in try connection.query("SELECT * FROM listings") {
        guard let product = ProductIdentifier(try row.text("product")) else { continue }
        listings[product] = KeptListing(
          title: try row.optionalText("title"),
          cover: try row.optionalText("cover").flatMap { CoverPicture.isFileName($0) ? $0 : nil },
          coverURL: try row.optionalText("cover_url"), locale: try row.optionalText("locale"),
          publication: try row.optionalText("publication").flatMap { ProductIdentifier($0) },
          published: try row.optionalTimestamp("published"))
      }
      return listings
    }
  }

  /// Those of which the server is to be asked, by identifier.
  package func dueListings() throws -> [ProductIdentifier] {
    try database.readBlocking { connection in
      try connection.query("SELECT product FROM listings WHERE is_due = 1 ORDER BY product")
        .compactMap { ProductIdentifier(try $0.text("product")) }
    }
  }

  /// The server is to be asked again of what it was asked in another language.
  package func expectListings(in locale: String?) throws {
    try database.writeBlocking(locking: [.everything]) { connection in
      _ = try connection.execute(
        "UPDATE listings SET is_due = 1 WHERE is_due = 0 AND locale IS NOT ?", [.optional(locale)])
    }
  }

  /// The server is to be asked, perhaps again.
  package func expectListing(of product: ProductIdentifier) throws {
    try database.writeBlocking(locking: [.everything]) { try Self.expectListing(of: product, in: $0) }
  }

  /// In a write that there is anyway.
  package static func expectListing(of product: ProductIdentifier, in connection: borrowing Connection) throws
  {
    try connection.execute(
      """
      INSERT INTO listings (product, is_due) VALUES (?, 1)
      ON CONFLICT (product) DO UPDATE SET is_due = 1
      """, [.text(product.description)])
  }

  /// False where nothing is expected of the product any more: then nothing is kept.
  package func save(_ listing: KeptListing, of product: ProductIdentifier, isDue: Bool) throws -> Bool {
    try database.writeBlocking(locking: [.everything]) { connection in
      try connection.execute(
        """
        UPDATE listings SET title = ?, cover = ?, cover_url = ?, locale = ?, publication = ?, published = ?, is_due = ?
        WHERE product = ?
        """,
        [
          .optional(listing.title), .optional(listing.cover), .optional(listing.coverURL),
          .optional(listing.locale), .optional(listing.publication?.description),
          .optional(listing.published), .boolean(isDue), .text(product.description),
        ]) > 0
    }
  }

  /// Also one that the server is still to be asked about.
  package func hasListing(of product: ProductIdentifier) throws -> Bool {
    try database.readBlocking { connection in
      try connection.first("SELECT 1 FROM listings WHERE product = ?", [.text(product.description)]) != nil
    }
  }

  /// It may use the reserve.
  package func removeListing(of product: ProductIdentifier) throws {
    try makingRoom {
      try database.writeBlocking(locking: [.everything]) { connection in
        _ = try connection.execute(
          "DELETE FROM listings WHERE product = ?", [.text(product.description)])
      }
    }
  }

  /// Neither here, nor on its way, nor waiting for the reader: it was withdrawn, or given up.
  private static let isStray = """
    product NOT IN (SELECT product FROM library)
    AND product NOT IN (SELECT product FROM arrivals)
    AND product NOT IN (SELECT product FROM downloads WHERE state NOT IN ('finished', 'cancelled'))
    """

  /// By identifier.
  package func strayListings() throws -> [ProductIdentifier] {
    try database.readBlocking { connection in
      try connection.query("SELECT product FROM listings WHERE \(Self.isStray) ORDER BY product")
        .compactMap { ProductIdentifier(try $0.text("product")) }
    }
  }

  /// Whether what is kept of the product is wanted, although nothing of it may be in the library.
  package func keepsListing(of product: ProductIdentifier) throws -> Bool {
    try database.readBlocking { connection in
      try connection.first(
        "SELECT 1 FROM listings WHERE product = ? AND NOT (\(Self.isStray))", [.text(product.description)])
        != nil
    }
  }

  /// Before its cover is removed. False where it is no stray any more.
  package func forgetCover(ofStray product: ProductIdentifier) throws -> Bool {
    try change(
      "UPDATE listings SET cover = NULL, cover_url = NULL WHERE product = ? AND \(Self.isStray)", product)
  }

  /// False where it is no stray any more.
  package func removeListing(ofStray product: ProductIdentifier) throws -> Bool {
    try change("DELETE FROM listings WHERE product = ? AND \(Self.isStray)", product)
  }

  private func change(_ statement: String, _ product: ProductIdentifier) throws -> Bool {
    try makingRoom {
      try database.writeBlocking(locking: [.everything]) { connection in
        try connection.execute(statement, [.text(product.description)]) > 0
      }
    }
  }

  /// The titles of the publications that listings name.
  package func publicationTitles() throws -> [ProductIdentifier: KeptPublication] {
    try database.readBlocking { connection in
      var titles: [ProductIdentifier: KeptPublication] = [:]
      for row in try connection.query("SELECT publication, title, locale FROM publications") {
        guard let publication = ProductIdentifier(try row.text("publication")) else { continue }
        titles[publication] = KeptPublication(
          title: try row.text("title"), locale: try row.optionalText("locale"))
      }
      return titles
    }
  }

  /// Keeps the title of a publication, and forgets those that no listing names.
  package func save(_ kept: KeptPublication, of publication: ProductIdentifier) throws {
    try database.writeBlocking(locking: [.everything]) { connection in
      try connection.execute(
        """
        INSERT INTO publications (publication, title, locale) VALUES (?, ?, ?)
        ON CONFLICT (publication) DO UPDATE SET title = excluded.title, locale = excluded.locale
        """, [.text(publication.description), .text(kept.title), .optional(kept.locale)])
      _ = try connection.execute(
        """
        DELETE FROM publications
        WHERE publication NOT IN (SELECT publication FROM listings WHERE publication IS NOT NULL)
        """)
    }
  }

  package static let publications = Migration(
    "which publications the listings are of",
    script: """
      ALTER TABLE listings ADD COLUMN publication TEXT;
      ALTER TABLE listings ADD COLUMN published INTEGER;
      -- What was told before there were these is asked again.
      UPDATE listings SET is_due = 1;
      CREATE TABLE publications (
        publication TEXT PRIMARY KEY,
        title TEXT NOT NULL,
        locale TEXT
      ) STRICT, WITHOUT ROWID;
      """)

  package static let listings = Migration(
    "what the server calls what has arrived",
    script: """
      -- title is in the reader's language, cover a file of the library beside the product's manifests, which was read at
      -- cover_url. With is_due 1 the server is to be asked; locale is the language in which it was asked last.
      CREATE TABLE listings (
        product TEXT PRIMARY KEY,
        title TEXT,
        cover TEXT,
        cover_url TEXT,
        locale TEXT,
        is_due INTEGER NOT NULL
      ) STRICT, WITHOUT ROWID;
      """)
}
