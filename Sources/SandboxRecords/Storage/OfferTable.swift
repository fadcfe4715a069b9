package import Commerce
package import Database
import PullboxAPI
package import ServiceAPI

/// The table of what products offer to new subscribers, within one database transaction.
package enum OfferTable {
  /// Nil for a product whose offers were never set. They may be empty.
  package static func find(
    _ product: ProductIdentifier, in connection: borrowing Connection
  ) throws -> ProductOffers? {
    try connection.first("SELECT document FROM offers WHERE product = ?", [.text(product.description)])
      .map { try APIJSON.decode(ProductOffers.self, from: Array(try $0.text("document").utf8)) }
  }

  /// Takes the place of all that the product offered.
  package static func put(
    _ offers: ProductOffers, of product: ProductIdentifier, in connection: borrowing Connection
  ) throws {
    try connection.execute(
      """
      INSERT INTO offers (product, document) VALUES (?, ?)
      ON CONFLICT (product) DO UPDATE SET document = excluded.document
      """,
      [.text(product.description), .text(String(decoding: try APIJSON.encode(offers), as: UTF8.self))])
  }

  /// Products whose offers were set, also to none.
  package static func count(in connection: borrowing Connection) throws -> Int64 {
    try connection.first("SELECT count(*) AS count FROM offers")?.integer("count") ?? 0
  }
}
