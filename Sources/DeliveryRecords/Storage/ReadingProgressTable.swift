package import Commerce
package import CoreTypes
package import Database
package import DeliveryModel

/// How far a customer has read a product, as the application that read last says it.
package struct ReadingMark: Hashable, Sendable {
  package var product: ProductIdentifier
  /// When it was read, by the application's clock, and no later than the server heard of it.
  package var modified: Timestamp
  /// The page, counted from zero; nil where there are none.
  package var page: Int?
  /// How much of it was read, from 0 to 1,000,000; nil where it is not known.
  package var millionths: Int?

  package init(product: ProductIdentifier, modified: Timestamp, page: Int?, millionths: Int?) {
    self.product = product
    self.modified = modified
    self.page = page
    self.millionths = millionths
  }
}

/// How far customers have read: one row for a customer and a product, the latest that any of their applications told. Its functions run in
/// the caller's transaction and throw ``DatabaseError``.
package enum ReadingProgressTable {
  /// Writes a mark down, with what the application tells beside it, unless a later one stands, or one of the same time by a device whose
  /// name comes behind. Runs in a write that has locked the customer.
  package static func put(
    _ mark: ReadingMark, of customer: CustomerIdentifier, by device: String, document: String,
    in connection: borrowing Connection
  ) throws {
    try connection.execute(
      """
      INSERT INTO reading_progress (customer, product, modified, device, page, millionths, document)
      VALUES (?, ?, ?, ?, ?, ?, ?)
      ON CONFLICT (customer, product) DO UPDATE SET modified = excluded.modified, device = excluded.device,
        page = excluded.page, millionths = excluded.millionths, document = excluded.document
      WHERE excluded.modified > reading_progress.modified
        OR excluded.modified = reading_progress.modified AND excluded.device >= reading_progress.device
      """,
      [
        .customer(customer), .identifier(mark.product), .timestamp(mark.modified), .text(device),
        .optional(mark.page.map { Int64($0) }), .optional(mark.millionths.map { Int64($0) }), .text(document),
      ])
  }

  /// The application's word, as it was written down; nil where the product was not read.
  package static func document(
    of product: ProductIdentifier, by customer: CustomerIdentifier, in connection: borrowing Connection
  ) throws -> String? {
    try connection.first(
      "SELECT document FROM reading_progress WHERE customer = ? AND product = ?",
      [.customer(customer), .identifier(product)]
    ).map { try $0.text("document") }
  }

  /// The customer's marks, the latest first, `limit` at most.
  package static func marks(
    of customer: CustomerIdentifier, limit: Int, in connection: borrowing Connection
  ) throws -> [ReadingMark] {
    try connection.query(
      """
      SELECT product, modified, page, millionths
      FROM reading_progress \(SQLDialect.index("reading_progress_by_time"))
      WHERE customer = ? ORDER BY modified DESC LIMIT ?
      """, [.customer(customer), .integer(limit)]
    ).map(mark)
  }

  /// The customer's marks of these products, in no order.
  package static func marks(
    of customer: CustomerIdentifier, among products: [ProductIdentifier], in connection: borrowing Connection
  ) throws -> [ReadingMark] {
    try KeyBatch.all(of: products).flatMap { ids in
      try connection.query(
        """
        SELECT product, modified, page, millionths FROM reading_progress
        WHERE customer = ? AND product IN (\(ids.placeholders))
        """, [.customer(customer)] + ids.values
      ).map(mark)
    }
  }

  private static func mark(_ row: borrowing Row) throws -> ReadingMark {
    ReadingMark(
      product: try row.identifier("product"), modified: try row.timestamp("modified"),
      page: try row.optionalInteger("page").map(Int.init(clamping:)),
      millionths: try row.optionalInteger("millionths").map(Int.init(clamping:)))
  }

  /// Gives one customer's marks to another: of a product that both have read the later one stays. Runs in a write that has locked both.
  static func merge(
    _ customer: CustomerIdentifier, into kept: CustomerIdentifier, in connection: borrowing Connection
  ) throws {
    try connection.execute(
      """
      INSERT INTO reading_progress (customer, product, modified, device, page, millionths, document)
      SELECT ?, product, modified, device, page, millionths, document FROM reading_progress WHERE customer = ?
      ON CONFLICT (customer, product) DO UPDATE SET modified = excluded.modified, device = excluded.device,
        page = excluded.page, millionths = excluded.millionths, document = excluded.document
      WHERE excluded.modified > reading_progress.modified
        OR excluded.modified = reading_progress.modified AND excluded.device >= reading_progress.device
      """, [.customer(kept), .customer(customer)])
    try connection.execute("DELETE FROM reading_progress WHERE customer = ?", [.customer(customer)])
  }
}
