import Commerce
import CoreTypes
import Database
import PullboxAPI

/// The audit log: which key did what, and when. Rows are only ever added; the database refuses anything else.
enum AuditTable {
  /// The actor of what the server does by itself, such as scheduled garbage collection.
  static let serverActor = "server"

  static func add(_ entry: AuditEntry, in connection: borrowing Connection) throws {
    try connection.execute(
      "INSERT INTO audit (at, actor, action, subject, detail) VALUES (?, ?, ?, ?, ?)",
      [
        .timestamp(entry.at), .text(entry.actor), .text(entry.action), .text(entry.subject),
        .optional(entry.detail),
      ])
  }

  /// Which entries to list; nil members ask for nothing.
  struct Filter: Sendable {
    /// About the product or one of its versions.
    var product: ProductIdentifier?
    /// The name of an operator key.
    var actor: String?
    /// Such as `version.release`.
    var action: String?
  }

  /// At most `limit` entries older than the row `before`, newest first, each with its row.
  static func page(
    before: Int64, matching filter: Filter, limit: Int, in connection: borrowing Connection
  ) throws -> [(id: Int64, entry: AuditEntry)] {
    var conditions = ["id < ?"]
    var values: [SQLValue] = [.integer(before)]
    for (column, value) in [
      ("product", filter.product?.description), ("actor", filter.actor), ("action", filter.action),
    ] {
      guard let value else { continue }
      conditions.append("\(column) = ?")
      values.append(.text(value))
    }
    return try connection.query(
      "SELECT * FROM audit WHERE \(conditions.joined(separator: " AND ")) ORDER BY id DESC LIMIT ?",
      values + [.integer(limit)]
    ).map { (try $0.integer("id"), try entry($0)) }
  }

  /// What was done with one subject, the newest first.
  static func history(
    of subject: String, limit: Int, in connection: borrowing Connection
  ) throws -> [AuditEntry] {
    try connection.query(
      "SELECT * FROM audit WHERE subject = ? ORDER BY id DESC LIMIT ?", [.text(subject), .integer(limit)]
    ).map(entry)
  }

  private static func entry(_ row: Row) throws -> AuditEntry {
    AuditEntry(
      at: try row.timestamp("at"), actor: try row.text("actor"), action: try row.text("action"),
      subject: try row.text("subject"), detail: try row.optionalText("detail"))
  }
}
