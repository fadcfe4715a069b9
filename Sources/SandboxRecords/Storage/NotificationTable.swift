package import Commerce
package import CoreTypes
package import Database
import Foundation
import PullboxAPI
import ServiceRuntime

/// The table of notifications, within one database transaction: rows are written with the change that they tell of,
/// dated by the sender, and kept for the history.
package enum NotificationTable {
  /// Rows that are kept, the newest; sent or not.
  static let capacity = 100_000

  /// How far the history goes back: 180 days in production, 30 in the sandbox.
  package static func reach(in environment: StoreEnvironment) -> Duration {
    .seconds((environment == .production ? 180 : 30) * 86_400)
  }

  /// A notification before it is dated. Its UUID is made at the insertion.
  package struct Draft {
    package var type: NotificationType
    package var subtype: NotificationSubtype?
    package var account: Int64?
    package var original: Int64?
    package var content = NotificationContent()
    /// Not to be dated before then.
    package var due = Timestamp(millisecondsSinceEpoch: 0)
    /// Whether the subscription, which is written after its transaction, is still to be told.
    package var awaitsSubscription = false

    package init(
      type: NotificationType, subtype: NotificationSubtype? = nil, account: Int64? = nil,
      original: Int64? = nil
    ) {
      self.type = type
      self.subtype = subtype
      self.account = account
      self.original = original
    }
  }

  /// Writes one down and returns its UUID.
  @discardableResult
  package static func insert(_ draft: Draft, in connection: borrowing Connection) throws -> String {
    let uuid = UUID().uuidString.lowercased()
    try connection.execute(
      """
      INSERT INTO notifications (uuid, type, subtype, account, original_id, document, due, awaits_subscription)
      VALUES (?, ?, ?, ?, ?, ?, ?, ?)
      """,
      [
        .text(uuid), .text(draft.type.rawValue), .optional(draft.subtype?.rawValue), .optional(draft.account),
        .optional(draft.original), .text(try document(of: draft.content)), .timestamp(draft.due),
        .boolean(draft.awaitsSubscription),
      ])
    return uuid
  }

  /// Tells the subscription in what was written down before it was. Called in the database transaction that
  /// wrote them.
  static func complete(
    original: Int64, in connection: borrowing Connection, _ change: (inout NotificationContent) -> Void
  ) throws {
    // What awaits was written in the same database transaction, and so is not dated; the index has no other.
    let rows = try connection.query(
      """
      SELECT id, document FROM notifications
      WHERE original_id = ? AND signed IS NULL AND awaits_subscription = 1
      """,
      [.integer(original)])
    for row in rows {
      var content = try content(of: row)
      change(&content)
      try connection.execute(
        "UPDATE notifications SET document = ?, awaits_subscription = 0 WHERE id = ?",
        [.text(try document(of: content)), .integer(try row.integer("id"))])
    }
  }

  /// Takes back what was to be told later and is not true any more. One that is dated stays.
  static func cancel(
    _ type: NotificationType, original: Int64, in connection: borrowing Connection
  ) throws {
    try connection.execute(
      "DELETE FROM notifications WHERE original_id = ? AND type = ? AND signed IS NULL",
      [.integer(original), .text(type.rawValue)])
  }

  /// Whether ``date(at:isSent:in:)`` has something to do, or a notification is to be sent and there is where to.
  ///
  /// - Parameter isSent: whether there is an address.
  package static func hasWork(
    at now: Timestamp, isSent: Bool, in connection: borrowing Connection
  ) throws -> Bool {
    try connection.first(
      "SELECT 1 FROM notifications WHERE signed IS NULL AND due <= ? LIMIT 1", [.timestamp(now)]) != nil
      || isSent
        && connection.first(
          "SELECT 1 FROM notifications WHERE next_attempt <= ? LIMIT 1", [.timestamp(now)]) != nil
  }

  /// When the next is to be sent; nil where none waits.
  package static func nextAttempt(in connection: borrowing Connection) throws -> Timestamp? {
    try connection.first(
      "SELECT min(next_attempt) AS next FROM notifications WHERE next_attempt IS NOT NULL"
    )?.optionalTimestamp("next")
  }

  /// Dates those whose time has come, at most `limit`, in the order of what they tell: each a millisecond after the one
  /// before at the least. Returns how many there were.
  ///
  /// - Parameter isSent: whether they are to be sent; each is due at once then.
  package static func date(
    at now: Timestamp, isSent: Bool, limit: Int, in connection: borrowing Connection
  ) throws -> Int {
    let rows = try connection.query(
      "SELECT id FROM notifications WHERE signed IS NULL AND due <= ? ORDER BY due, id LIMIT ?",
      [.timestamp(now), .integer(limit)])
    guard !rows.isEmpty else { return 0 }
    let last = try connection.first(
      "SELECT max(signed) AS last FROM notifications WHERE signed IS NOT NULL"
    )?.optionalTimestamp("last")
    var date = max(now, last.map { $0 + .milliseconds(1) } ?? now)
    for row in rows {
      try connection.execute(
        "UPDATE notifications SET signed = ?, next_attempt = ? WHERE id = ?",
        [.timestamp(date), isSent ? .timestamp(now) : .null, .integer(try row.integer("id"))])
      date = date + .milliseconds(1)
    }
    return rows.count
  }

  /// Those that are to be sent by now, the earliest first.
  package static func due(
    at now: Timestamp, limit: Int, in connection: borrowing Connection
  ) throws -> [StoredNotification] {
    try connection.query(
      "SELECT * FROM notifications WHERE next_attempt <= ? ORDER BY next_attempt, id LIMIT ?",
      [.timestamp(now), .integer(limit)]
    ).map(notification)
  }

  /// Keeps what became of an attempt. Nil for `next`: there is no other. All attempts of the notification are
  /// written, with whether one of them was taken.
  package static func record(
    _ notification: StoredNotification, next: Timestamp?, in connection: borrowing Connection
  ) throws {
    let attempts = String(decoding: try APIJSON.encode(notification.attempts), as: UTF8.self)
    let isDelivered = notification.attempts.contains { $0.sendAttemptResult == .success }
    try connection.execute(
      "UPDATE notifications SET attempts = ?, delivered = ?, next_attempt = ? WHERE id = ?",
      [.text(attempts), .boolean(isDelivered), .optional(next), .integer(notification.id)])
  }

  /// Which of the dated ones are wanted. Nil lets all pass.
  package struct Filter: Hashable, Sendable {
    package var range: Range<Timestamp>
    package var type: NotificationType?
    package var subtype: NotificationSubtype?
    package var account: Int64?
    /// Those that were tried and never taken.
    package var onlyFailures = false

    package init(range: Range<Timestamp>) {
      self.range = range
    }
  }

  /// Those after `id` that the filter lets pass, in the order of their dates; at most `limit`. Rows are in
  /// the order of their insertion. Dates rise with it, but for what was written down to be told later.
  package static func history(
    _ filter: Filter, after id: Int64, limit: Int, in connection: borrowing Connection
  ) throws -> [StoredNotification] {
    var conditions = ["signed >= ?", "signed < ?", "id > ?"]
    var values: [SQLValue] = [
      .timestamp(filter.range.lowerBound), .timestamp(filter.range.upperBound), .integer(id),
    ]
    if let type = filter.type {
      conditions.append("type = ?")
      values.append(.text(type.rawValue))
    }
    if let subtype = filter.subtype {
      conditions.append("subtype = ?")
      values.append(.text(subtype.rawValue))
    }
    if let account = filter.account {
      conditions.append("account = ?")
      values.append(.integer(account))
    }
    if filter.onlyFailures { conditions.append("delivered = 0 AND attempts <> '[]'") }
    return try connection.query(
      "SELECT * FROM notifications WHERE \(conditions.joined(separator: " AND ")) ORDER BY id LIMIT ?",
      values + [.integer(limit)]
    ).map(notification)
  }

  /// Nil for an unknown one. Those that are not dated are found too.
  package static func find(uuid: String, in connection: borrowing Connection) throws -> StoredNotification? {
    try connection.first("SELECT * FROM notifications WHERE uuid = ?", [.text(uuid)]).map(notification)
  }

  /// Removes what is older than the history goes back, and the oldest beyond ``capacity``. Returns how many of those
  /// were never delivered and still to be sent. One that is older but still to be sent stays, unless it is
  /// beyond the capacity.
  package static func prune(before date: Timestamp, in connection: borrowing Connection) throws -> Int {
    try connection.execute(
      "DELETE FROM notifications WHERE signed < ? AND next_attempt IS NULL", [.timestamp(date)])
    let newest = try connection.first("SELECT max(id) AS newest FROM notifications")?.optionalInteger(
      "newest")
    guard let newest, newest > capacity else { return 0 }
    let bound = SQLValue.integer(newest - Int64(capacity))
    let lost = try connection.first(
      "SELECT count(*) AS count FROM notifications WHERE id <= ? AND next_attempt IS NOT NULL", [bound]
    )?.integer("count")
    try connection.execute("DELETE FROM notifications WHERE id <= ?", [bound])
    return Int(lost ?? 0)
  }

  private static func document(of content: NotificationContent) throws -> String {
    String(decoding: try APIJSON.encode(content), as: UTF8.self)
  }

  private static func content(of row: Row) throws -> NotificationContent {
    try APIJSON.decode(NotificationContent.self, from: Array(try row.text("document").utf8))
  }

  /// Throws ``StateDirectoryError`` `damaged` for a type that this version does not know.
  private static func notification(_ row: Row) throws -> StoredNotification {
    guard let type = NotificationType(rawValue: try row.text("type")) else {
      throw StateDirectoryError(.damaged, path: "store.sqlite", message: "a notification is of no type")
    }
    return StoredNotification(
      id: try row.integer("id"), uuid: try row.text("uuid"), type: type,
      subtype: try row.optionalText("subtype").flatMap(NotificationSubtype.init),
      content: try content(of: row), signed: try row.optionalTimestamp("signed"),
      attempts: try APIJSON.decode([NotificationAttempt].self, from: Array(try row.text("attempts").utf8)))
  }
}
