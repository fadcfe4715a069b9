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
      "INSERT INTO audit (at, actor, action, subject, detail, environment) VALUES (?, ?, ?, ?, ?, ?)",
      [
        .timestamp(entry.at), .text(entry.actor), .text(entry.action), .text(entry.subject),
        .optional(entry.detail), .optional(entry.environment),
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
    var times = TimeRange()

    /// The log is in the order of its rows, which a clock that was set back makes another than that of the times.
    fileprivate var isByTimeOnly: Bool {
      !times.isEverything && product == nil && actor == nil && action == nil
    }
  }

  /// Whether a page can have ended there.
  static func exists(_ id: Int64, in connection: borrowing Connection) throws -> Bool {
    try connection.first("SELECT 1 FROM audit WHERE id = ?", [.integer(id)]) != nil
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
    for (text, value) in filter.times.conditions(on: "at") {
      conditions.append(text)
      values.append(value)
    }
    let hint = index(for: filter).map(SQLDialect.index) ?? ""
    return try connection.query(
      "SELECT * FROM audit \(hint) WHERE \(conditions.joined(separator: " AND ")) ORDER BY id DESC LIMIT ?",
      values + [.integer(limit)]
    ).map { (try $0.integer("id"), try entry($0)) }
  }

  /// Those of a product are few; the others are found by all that is asked, in the order of the list.
  private static func index(for filter: Filter) -> String? {
    if filter.product != nil { return "audit_by_product" }
    return switch (filter.actor, filter.action) {
    case (nil, nil): filter.isByTimeOnly ? "audit_by_time" : nil
    case (_, nil): "audit_by_actor"
    case (nil, _): "audit_by_action"
    case (_, _): "audit_by_actor_and_action"
    }
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
      subject: try row.text("subject"), detail: try row.optionalText("detail"),
      environment: try row.optionalText("environment"))
  }
}
