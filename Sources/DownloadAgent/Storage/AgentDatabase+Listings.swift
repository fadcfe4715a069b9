import Commerce
import Database
import PullboxAPI

/// What the server called what has arrived, and which file of the library its cover is.
extension AgentDatabase {
  func listings() throws -> [ProductIdentifier: KeptListing] {
    try database.readBlocking { connection in
      var listings: [ProductIdentifier: KeptListing] = [:]
      for row in try connection.query("SELECT product, title, cover, cover_url FROM listings") {
        guard let product = ProductIdentifier(try row.text("product")) else { continue }
        listings[product] = KeptListing(
          title: try row.optionalText("title"),
          cover: try row.optionalText("cover").flatMap { CoverPicture.isFileName($0) ? $0 : nil },
          coverURL: try row.optionalText("cover_url"))
      }
      return listings
    }
  }

  /// Those of which the server is to be asked, by identifier; at most `limit`.
  func dueListings(limit: Int) throws -> [ProductIdentifier] {
    try database.readBlocking { connection in
      try connection.query(
        "SELECT product FROM listings WHERE is_due = 1 ORDER BY product LIMIT ?", [.integer(Int64(limit))]
      ).compactMap { ProductIdentifier(try $0.text("product")) }
    }
  }

  /// The server is to be asked, perhaps again.
  static func expectListing(of product: ProductIdentifier, in connection: borrowing Connection) throws {
    try connection.execute(
      """
      INSERT INTO listings (product, is_due) VALUES (?, 1)
      ON CONFLICT (product) DO UPDATE SET is_due = 1
      """, [.text(product.description)])
  }

  /// False where nothing is expected of the product any more: then nothing is kept.
  func save(_ listing: KeptListing, of product: ProductIdentifier, isDue: Bool) throws -> Bool {
    try database.writeBlocking(locking: [.everything]) { connection in
      try connection.execute(
        "UPDATE listings SET title = ?, cover = ?, cover_url = ?, is_due = ? WHERE product = ?",
        [
          .optional(listing.title), .optional(listing.cover), .optional(listing.coverURL), .boolean(isDue),
          .text(product.description),
        ]) > 0
    }
  }

  func removeListing(of product: ProductIdentifier) throws {
    try makingRoom {
      try database.writeBlocking(locking: [.everything]) { connection in
        _ = try connection.execute(
          "DELETE FROM listings WHERE product = ?", [.text(product.description)])
      }
    }
  }

  /// Those of what is neither here, nor on its way, nor waits for the reader: it was withdrawn, or given up.
  func strayListings() throws -> [ProductIdentifier] {
    try database.readBlocking { connection in
      try connection.query(
        """
        SELECT product FROM listings
        WHERE product NOT IN (SELECT product FROM library)
          AND product NOT IN (SELECT product FROM arrivals)
          AND product NOT IN (SELECT product FROM downloads WHERE state NOT IN ('finished', 'cancelled'))
        ORDER BY product
        """
      ).compactMap { ProductIdentifier(try $0.text("product")) }
    }
  }

  static let listings = Migration(
    "what the server calls what has arrived",
    script: """
      -- title is in the reader's language, cover a file of the library beside the product's manifests, which was read at
      -- cover_url. With is_due 1 the server is to be asked.
      CREATE TABLE listings (
        product TEXT PRIMARY KEY,
        title TEXT,
        cover TEXT,
        cover_url TEXT,
        is_due INTEGER NOT NULL
      ) STRICT, WITHOUT ROWID;
      """)
}
