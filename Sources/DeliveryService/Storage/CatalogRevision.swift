import CoreTypes
import Database

/// How often what the catalog says has changed, and when it last did: what was made of the catalog at one
/// revision is good until there is another.
struct CatalogRevision: Hashable, Sendable {
  var number: Int64
  var changed: Timestamp

  static func current(in connection: borrowing Connection) throws -> CatalogRevision {
    guard let row = try connection.first("SELECT revision, changed FROM catalogue_state") else {
      return CatalogRevision(number: 0, changed: Timestamp(millisecondsSinceEpoch: 0))
    }
    return CatalogRevision(number: try row.integer("revision"), changed: try row.timestamp("changed"))
  }

  /// Counts a change. The date never goes back, whatever the clock does.
  static func increment(at now: Timestamp, in connection: borrowing Connection) throws {
    try connection.execute(
      "UPDATE catalogue_state SET revision = revision + 1, changed = max(changed, ?)", [.timestamp(now)])
  }
}
