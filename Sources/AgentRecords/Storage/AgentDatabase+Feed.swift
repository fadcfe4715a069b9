package import Commerce
import CoreTypes
package import Database
package import PullboxAPI

/// Where the agent is in the feed of its store's account, and what has arrived there that is not in the library yet.
extension AgentDatabase {
  package struct Arrivals: Sendable {
    /// Nil before the feed was read for the first time.
    package var cursor: String?
    /// To be fetched.
    package var due: [ProductIdentifier: FeedEntry] = [:]
    /// Waits for the reader to ask for it.
    package var listed: [ProductIdentifier: FeedEntry] = [:]

    package init(
      cursor: String? = nil, due: [ProductIdentifier: FeedEntry] = [:],
      listed: [ProductIdentifier: FeedEntry] = [:]
    ) {
      self.cursor = cursor
      self.due = due
      self.listed = listed
    }
  }

  /// Cursor and entries are of one moment.
  package func arrivals() throws -> Arrivals {
    try database.readBlocking { connection in
      var arrivals = Arrivals(cursor: try connection.first("SELECT cursor FROM feed")?.text("cursor"))
      for row in try connection.query("SELECT * FROM arrivals") {
        guard let entry = try Self.value(FeedEntry.self, try row.optionalText("entry")) else { continue }
        if try row.boolean("is_listed") {
          arrivals.listed[entry.product] = entry
        } else {
          arrivals.due[entry.product] = entry
        }
      }
      return arrivals
    }
  }

  /// Leaves the arrivals as they are.
  package func setFeedCursor(_ cursor: String) throws {
    try database.writeBlocking(locking: [.everything]) { try Self.setFeedCursor(cursor, in: $0) }
  }

  /// All of it in one write, with the products of which the server is to be asked how they are called and
  /// look. The cursor stays where `arrivals` has none.
  package func save(_ arrivals: Arrivals, expectingListingsOf products: [ProductIdentifier] = []) throws {
    try database.writeBlocking(locking: [.everything]) { connection in
      if let cursor = arrivals.cursor { try Self.setFeedCursor(cursor, in: connection) }
      try connection.execute("DELETE FROM arrivals")
      for (entries, isListed) in [(arrivals.due, false), (arrivals.listed, true)] {
        for (product, entry) in entries {
          try connection.execute(
            "INSERT INTO arrivals (product, entry, is_listed) VALUES (?, ?, ?)",
            [.text(product.description), .text(try Self.text(entry)), .boolean(isListed)])
        }
      }
      for product in products { try Self.expectListing(of: product, in: connection) }
    }
  }

  /// None of the product is no error.
  package func removeArrival(of product: ProductIdentifier) throws {
    try database.writeBlocking(locking: [.everything]) { connection in
      try connection.execute("DELETE FROM arrivals WHERE product = ?", [.text(product.description)])
    }
  }

  private static func setFeedCursor(_ cursor: String, in connection: borrowing Connection) throws {
    try connection.execute("DELETE FROM feed")
    try connection.execute("INSERT INTO feed (cursor) VALUES (?)", [.text(cursor)])
  }

  package static let feed = Migration(
    "where the device is in its feed", script: "CREATE TABLE feed (cursor TEXT NOT NULL) STRICT;")

  package static let arrivals = Migration(
    "what has arrived and is not in the library yet",
    script: """
      -- entry is the feed's; with is_listed 1 the reader is to ask for it, else it is to be fetched.
      CREATE TABLE arrivals (
        product TEXT PRIMARY KEY,
        entry TEXT NOT NULL,
        is_listed INTEGER NOT NULL
      ) STRICT, WITHOUT ROWID;
      """)
}
