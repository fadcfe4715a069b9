package import Commerce
package import CoreTypes
package import Database
package import DeliveryModel
import PullboxAPI
package import ServiceAPI

/// The audit log: which key did what, and when. Rows are only ever added; the database refuses anything else.
/// Its functions run in the caller's transaction and throw ``DatabaseError``.
package enum AuditTable {
  /// The actor of what the server does by itself, such as scheduled garbage collection.
  package static let serverActor = "server"

  private static let columns = "id, at, actor, action, subject, detail, environment, about"

  /// Appends an entry. A write that is undone takes it along, so that the log has what happened alone.
  package static func add(_ entry: AuditEntry, in connection: borrowing Connection) throws {
    try connection.execute(
      """
      INSERT INTO audit (at, actor, action, subject, detail, environment, about) VALUES (?, ?, ?, ?, ?, ?, ?)
      """,
      [
        .timestamp(entry.at), .text(entry.actor), .text(entry.action), .text(entry.subject),
        .optional(entry.detail), .optional(entry.environment), .optional(entry.about),
      ])
  }

  /// Which entries to list; nil members ask for nothing.
  package struct Filter: Sendable {
    /// About the product or one of its versions, requests for a second operator among them.
    package var product: ProductIdentifier?
    /// About this version of the product alone, as the table of versions spells it; it needs a product.
    package var version: ContentVersion?
    /// The name of an operator key.
    package var actor: String?
    /// Such as `version.release`.
    package var action: String?
    /// The time of the entries.
    package var times = TimeRange()

    /// Asks for entries that have all of these members.
    package init(
      product: ProductIdentifier? = nil, version: ContentVersion? = nil, actor: String? = nil,
      action: String? = nil, times: TimeRange = TimeRange()
    ) {
      self.product = product
      self.version = version
      self.actor = actor
      self.action = action
      self.times = times
    }
  }

  /// Where an entry stands in the order of the log: by its time, and of one time by its row. A clock that was set back makes that
  /// another order than that of the rows.
  package struct Place: Hashable, Comparable, Sendable {
    /// The date of the entry.
    package var time: Timestamp
    /// The row of the entry.
    package var row: Int64

    /// Before every entry that can be.
    package static let end = Place(time: Timestamp(millisecondsSinceEpoch: .max), row: .max)

    /// The log shows the greater place first.
    package static func < (a: Place, b: Place) -> Bool { (a.time, a.row) < (b.time, b.row) }
  }

  /// Where that entry stands, behind which a page can begin; nil without such an entry.
  package static func place(of row: Int64, in connection: borrowing Connection) throws -> Place? {
    try connection.first("SELECT at FROM audit WHERE id = ?", [.integer(row)]).map {
      Place(time: try $0.timestamp("at"), row: row)
    }
  }

  /// At most `limit` entries older than the one at `place`, newest first, each with its row.
  package static func page(
    before place: Place = .end, matching filter: Filter, limit: Int, in connection: borrowing Connection
  ) throws -> [(id: Int64, entry: AuditEntry)] {
    guard let product = filter.product else {
      return try rows(before: place, matching: filter, index(for: filter), [], limit: limit, in: connection)
    }
    let version = filter.version.map { "\(product) \($0)" }
    let own = try rows(
      before: place, matching: filter, "audit_by_product",
      [("product", product.description), ("subject", version)], limit: limit, in: connection)
    let others = try rows(
      before: place, matching: filter, "audit_by_about",
      [("about_product", product.description), ("about", version)], limit: limit, in: connection)
    let merged = (own + others).sorted {
      Place(time: $1.entry.at, row: $1.id) < Place(time: $0.entry.at, row: $0.id)
    }
    return Array(merged.prefix(limit))
  }

  /// Those that an index leads to, by its columns and then by the rest of the filter.
  private static func rows(
    before place: Place, matching filter: Filter, _ index: String, _ columns: [(String, String?)],
    limit: Int, in connection: borrowing Connection
  ) throws -> [(id: Int64, entry: AuditEntry)] {
    let end = min(place, filter.times.until.map { Place(time: $0, row: .min) } ?? .end)
    var conditions = ["(at, id) < (?, ?)", "at >= ?"]
    var values: [SQLValue] = [
      .timestamp(end.time), .integer(end.row),
      .timestamp(filter.times.since ?? Timestamp(millisecondsSinceEpoch: .min)),
    ]
    for (column, value) in columns + [("actor", filter.actor), ("action", filter.action)] {
      guard let value else { continue }
      conditions.append("\(column) = ?")
      values.append(.text(value))
    }
    return try connection.query(
      """
      SELECT \(Self.columns) FROM audit \(SQLDialect.index(index)) WHERE \(conditions.joined(separator: " AND "))
      ORDER BY at DESC, id DESC LIMIT ?
      """, values + [.integer(limit)]
    ).map { (try $0.integer("id"), try entry($0)) }
  }

  /// The index for entries of all products that has them by all that is asked, in the order of the list. Those of a product are few.
  private static func index(for filter: Filter) -> String {
    switch (filter.actor, filter.action) {
    case (nil, nil): "audit_by_time"
    case (_, nil): "audit_by_actor"
    case (nil, _): "audit_by_action"
    case (_, _): "audit_by_actor_and_action"
    }
  }

  /// Returns the entries about one subject, the newest first.
  package static func history(
    of subject: String, limit: Int, in connection: borrowing Connection
  ) throws -> [AuditEntry] {
    try connection.query(
      "SELECT \(columns) FROM audit WHERE subject = ? ORDER BY id DESC LIMIT ?",
      [.text(subject), .integer(limit)]
    ).map(entry)
  }

  /// Reads the columns of ``columns``, but for the number.
  private static func entry(_ row: Row) throws -> AuditEntry {
    AuditEntry(
      at: try row.timestamp("at"), actor: try row.text("actor"), action: try row.text("action"),
      subject: try row.text("subject"), detail: try row.optionalText("detail"),
      environment: try row.optionalText("environment"), about: try row.optionalText("about"))
  }
}
