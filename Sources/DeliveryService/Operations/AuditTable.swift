import Database
import Measures
import PullboxAPI

/// Who did what, when: rows are only ever added.
enum AuditTable {
  static func add(_ entry: AuditEntry, in connection: borrowing Connection) throws {
    try connection.execute(
      "INSERT INTO audit (at, actor, action, subject, detail) VALUES (?, ?, ?, ?, ?)",
      [
        .timestamp(entry.at), .text(entry.actor), .text(entry.action), .text(entry.subject),
        .optional(entry.detail),
      ])
  }

  /// At most `limit` entries older than the row `before`, newest first, each with its row.
  static func page(
    before: Int64, limit: Int, in connection: borrowing Connection
  ) throws -> [(id: Int64, entry: AuditEntry)] {
    try connection.query(
      "SELECT * FROM audit WHERE id < ? ORDER BY id DESC LIMIT ?", [.integer(before), .integer(limit)]
    ).map { row in
      (
        try row.integer("id"),
        AuditEntry(
          at: try row.timestamp("at"), actor: try row.text("actor"), action: try row.text("action"),
          subject: try row.text("subject"), detail: try row.optionalText("detail"))
      )
    }
  }
}
