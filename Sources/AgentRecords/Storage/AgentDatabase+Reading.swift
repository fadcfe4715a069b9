package import Commerce
package import CoreTypes
import Database
import PullboxAPI
package import ServiceAPI

/// How far products were read on this device. Content that is removed keeps its record: fetched again, it is read on.
extension AgentDatabase {
  /// Products whose records are kept: those that were read last.
  package static let maximumReadings = 10_000

  /// Nil where the product was not read.
  package func reading(of product: ProductIdentifier) throws -> ReadingRecord? {
    try readings("SELECT * FROM reading WHERE product = ?", [.text(product.description)]).first
  }

  /// The latest first, `limit` at most.
  package func readings(limit: Int) throws -> [ReadingRecord] {
    try readings("SELECT * FROM reading ORDER BY modified DESC, product LIMIT ?", [.integer(limit)])
  }

  private func readings(_ query: String, _ values: [SQLValue]) throws -> [ReadingRecord] {
    try records(
      query, values,
      dropping: { row in
        [("DELETE FROM reading WHERE product = ?", [.text(try row.text("product"))])]
      }
    ) { row in try Self.reading(row) }
  }

  /// Those whose latest word the server has not been told, of products that a grant of this device's is known of; the earliest first, `limit`
  /// at most.
  package func untoldReadings(limit: Int) throws -> [ReadingRecord] {
    try readings(
      """
      SELECT * FROM reading WHERE (told IS NULL OR told < modified)
        AND product IN (SELECT product FROM product_grants) ORDER BY modified, product LIMIT ?
      """, [.integer(limit)])
  }

  /// The server has been told the word of that time about the product.
  package func noteTold(_ product: ProductIdentifier, at modified: Timestamp) throws {
    try database.writeBlocking(locking: [.everything]) { connection in
      try connection.execute(
        "UPDATE reading SET told = ? WHERE product = ?",
        [.timestamp(modified), .text(product.description)])
    }
  }

  /// The grant by which this device got the product last; nil where it has none, or it is another device now.
  package func grant(of product: ProductIdentifier) throws -> GrantIdentifier? {
    try database.readBlocking { connection in
      try connection.first(
        "SELECT grant_id FROM product_grants WHERE product = ?", [.text(product.description)]
      ).flatMap { GrantIdentifier(try $0.text("grant_id")) }
    }
  }

  /// Writes a record down, unless one that stands counts beside it, and answers what counts then.
  ///
  /// - Parameter check: is given what counted before; what it throws ends the write, and is thrown.
  package func put(
    _ record: ReadingRecord, checking check: @escaping @Sendable (ReadingRecord?) throws -> Void
  ) throws -> ReadingRecord {
    try database.writeBlocking(locking: [.everything]) { connection in
      let row = try connection.first(
        "SELECT * FROM reading WHERE product = ?", [.text(record.product.description)])
      // One that cannot be read is replaced.
      let before = row.flatMap { try? Self.reading($0) }
      try check(before)
      if let before, !record.counts(beside: before) { return before }
      try connection.execute(
        """
        INSERT INTO reading (product, modified, version, page_name, document) VALUES (?, ?, ?, ?, ?)
        ON CONFLICT (product) DO UPDATE SET modified = excluded.modified, version = excluded.version,
          page_name = excluded.page_name, document = excluded.document
        """,
        [
          .text(record.product.description), .timestamp(record.progress.modified),
          .text(record.version.description), .optional(record.pageName),
          .text(try Self.text(record.progress)),
        ])
      _ = try connection.execute(
        """
        DELETE FROM reading WHERE product IN (
          SELECT product FROM reading ORDER BY modified DESC, product LIMIT -1 OFFSET ?)
        """, [.integer(Self.maximumReadings)])
      return record
    }
  }

  private static func reading(_ row: borrowing Row) throws -> ReadingRecord {
    ReadingRecord(
      product: try require(ProductIdentifier(try row.text("product")), "reading.product"),
      progress: try require(
        try value(ReadingProgress.self, try row.text("document")), "reading.document"),
      version: try require(ContentVersion(try row.text("version")), "reading.version"),
      pageName: try row.optionalText("page_name"))
  }

  static let readingExchange = Migration(
    "reading on other devices",
    script: """
      -- told: the time of the latest word that the server was told, or told itself.
      ALTER TABLE reading ADD COLUMN told INTEGER;
      -- The grant by which each product came last; downloads are forgotten after a while.
      CREATE TABLE product_grants (product TEXT PRIMARY KEY, grant_id TEXT NOT NULL) STRICT, WITHOUT ROWID;
      INSERT INTO product_grants (product, grant_id)
        SELECT product, grant_id FROM downloads WHERE grant_id IS NOT NULL AND sequence IN (
          SELECT max(sequence) FROM downloads WHERE grant_id IS NOT NULL GROUP BY product);
      CREATE TRIGGER downloads_grant AFTER UPDATE OF grant_id ON downloads
      WHEN NEW.grant_id IS NOT NULL AND NEW.grant_id IS NOT OLD.grant_id
      BEGIN
        INSERT INTO product_grants (product, grant_id) VALUES (NEW.product, NEW.grant_id)
        ON CONFLICT (product) DO UPDATE SET grant_id = excluded.grant_id;
      END;
      """)

  static let reading = Migration(
    "how far products were read",
    script: """
      -- document: the latest word as it was told; page_name: the file of its page in that version.
      CREATE TABLE reading (
        product TEXT PRIMARY KEY,
        modified INTEGER NOT NULL,
        version TEXT NOT NULL,
        page_name TEXT,
        document TEXT NOT NULL
      ) STRICT, WITHOUT ROWID;
      CREATE INDEX reading_by_time ON reading (modified);
      """)
}
