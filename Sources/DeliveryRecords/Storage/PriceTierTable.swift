package import Commerce
package import CoreTypes
package import Database
import PullboxAPI
package import ServiceAPI

/// The rows of price tiers. The free tier has none. Its functions run in the caller's transaction and throw
/// ``DatabaseError``.
package enum PriceTierTable {
  /// The largest number of price tiers that a server holds: a change of one reads all of them.
  package static let capacity = 200

  /// Returns the tier; nil where there is none of that name.
  package static func find(_ name: PriceTierName, in connection: borrowing Connection) throws -> PriceTier? {
    if name == .free { return .free }
    return try connection.first("SELECT document FROM price_tiers WHERE name = ?", [.identifier(name)])
      .map(tier)
  }

  /// Whether a product may name the tier. The free one is always there.
  package static func exists(_ name: PriceTierName, in connection: borrowing Connection) throws -> Bool {
    try name == .free
      || connection.first("SELECT 1 FROM price_tiers WHERE name = ?", [.identifier(name)]) != nil
  }

  /// By name, the free one first.
  package static func all(in connection: borrowing Connection) throws -> [PriceTier] {
    try [.free] + connection.query("SELECT document FROM price_tiers ORDER BY name").map(tier)
  }

  /// Returns the number of tiers, without the free one.
  package static func count(in connection: borrowing Connection) throws -> Int {
    Int(try connection.first("SELECT count(*) AS count FROM price_tiers")?.integer("count") ?? 0)
  }

  /// Whether a product has its prices from it.
  package static func isUsed(_ name: PriceTierName, in connection: borrowing Connection) throws -> Bool {
    try connection.first("SELECT 1 FROM products WHERE price_tier = ? LIMIT 1", [.identifier(name)]) != nil
  }

  /// Creates or changes a tier, and counts a change of the catalog.
  package static func put(
    _ document: EncodedDocument<PriceTier>, at now: Timestamp, in connection: borrowing Connection
  ) throws {
    try connection.execute(
      """
      INSERT INTO price_tiers (name, document) VALUES (?, ?)
      ON CONFLICT (name) DO UPDATE SET document = excluded.document
      """, [.identifier(document.value.name), .text(document.text)])
    try noteChange(at: now, in: connection)
  }

  /// Removes a tier, and counts a change of the catalog. The caller has found that no product names it.
  package static func remove(_ name: PriceTierName, at now: Timestamp, in connection: borrowing Connection)
    throws
  {
    try connection.execute("DELETE FROM price_tiers WHERE name = ?", [.identifier(name)])
    try noteChange(at: now, in: connection)
  }

  /// Whether a tier has changed since that revision of the catalog.
  package static func haveChanged(since revision: Int64, in connection: borrowing Connection) throws -> Bool {
    try connection.first("SELECT 1 FROM catalogue_state WHERE price_tiers > ?", [.integer(revision)]) != nil
  }

  private static func noteChange(at now: Timestamp, in connection: borrowing Connection) throws {
    guard let revision = try CatalogRevision.increment(at: now, in: connection) else { return }
    try connection.execute("UPDATE catalogue_state SET price_tiers = ?", [.integer(revision.number)])
  }

  private static func tier(_ row: Row) throws -> PriceTier {
    try APIJSON.decode(PriceTier.self, from: Array(try row.text("document").utf8))
  }
}
