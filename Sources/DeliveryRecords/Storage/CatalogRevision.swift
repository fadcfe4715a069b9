package import Commerce
package import CoreTypes
package import Database

/// How often what the catalog says has changed, and when it last did: what was made of the catalog at one
/// revision is good until there is another.
package struct CatalogRevision: Hashable, Sendable {
  /// Counts up by one with every change, from 1.
  package var number: Int64
  /// When the catalog last changed; later changes never have an earlier date.
  package var changed: Timestamp

  /// `number` is 0 for a database without a catalog, and at least 1 with one.
  package init(number: Int64, changed: Timestamp) {
    self.number = number
    self.changed = changed
  }

  /// Returns the revision that the transaction sees; 0 in a database without a catalog.
  package static func current(in connection: borrowing Connection) throws -> CatalogRevision {
    guard let row = try connection.first("SELECT revision, changed FROM catalogue_state") else {
      return CatalogRevision(number: 0, changed: Timestamp(millisecondsSinceEpoch: 0))
    }
    return try revision(row)
  }

  /// Counts a change of a product or of what is released of it. The date never goes back, whatever the clock
  /// does. To be called in the write that makes the change. The product gets the revision, by which copies in
  /// memory find it.
  package static func increment(
    at now: Timestamp, by product: ProductIdentifier, in connection: borrowing Connection
  ) throws {
    guard let revision = try increment(at: now, in: connection) else { return }
    try connection.execute(
      "UPDATE products SET revision = ? WHERE id = ?", [.integer(revision.number), .identifier(product)])
  }

  /// Counts a change of something else than products. Returns the new revision. Notes the change of
  /// ``ChangeTopic/catalog``, which counts once the write is committed.
  @discardableResult
  package static func increment(
    at now: Timestamp, in connection: borrowing Connection
  ) throws -> CatalogRevision? {
    try connection.noteChange(of: .catalog)
    return try connection.first(
      """
      UPDATE catalogue_state SET revision = revision + 1, changed = CASE WHEN changed < ? THEN ? ELSE changed END
      RETURNING revision, changed
      """, [.timestamp(now), .timestamp(now)]
    ).map(revision)
  }

  private static func revision(_ row: Row) throws -> CatalogRevision {
    CatalogRevision(number: try row.integer("revision"), changed: try row.timestamp("changed"))
  }
}

extension ChangeTopic {
  /// Whatever takes ``CatalogRevision`` on.
  package static let catalog = ChangeTopic("catalog")
}
