import Database
import CoreTypes

/// Counts the changes of what the catalog says, so that what was made of it need not be made again.
enum CatalogRevision {
  struct Mark: Hashable, Sendable {
    var revision: Int64
    var changed: Timestamp
  }

  static func mark(in connection: borrowing Connection) throws -> Mark {
    guard let row = try connection.first("SELECT revision, changed FROM catalogue_state") else {
      return Mark(revision: 0, changed: Timestamp(millisecondsSinceEpoch: 0))
    }
    return Mark(revision: try row.integer("revision"), changed: try row.timestamp("changed"))
  }

  /// The date never goes back, whatever the clock does.
  static func bump(at now: Timestamp, in connection: borrowing Connection) throws {
    try connection.execute(
      "UPDATE catalogue_state SET revision = revision + 1, changed = max(changed, ?)", [.timestamp(now)])
  }
}
