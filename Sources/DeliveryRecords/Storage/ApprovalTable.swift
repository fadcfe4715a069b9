package import CoreTypes
package import Crypto
package import Database
import PullboxAPI
package import ServiceAPI

/// The steps that wait for another operator's approval, and those that did, with what the audit log has of them. Its functions run in the
/// caller's transaction, throw ``DatabaseError``, and need no lock: each statement decides by itself.
package enum ApprovalTable {
  /// The time after which a request is forgotten, whatever became of it.
  package static let memory: Duration = .seconds(365 * 86_400)

  /// The request that is made again, as it was made first, once it is approved.
  package struct Request: Hashable, Sendable {
    /// Its method.
    package var method: String
    /// The route that answers it.
    package var pattern: String
    /// Its address, as it was written.
    package var target: String
    /// The state that it is for (`If-Match`).
    package var tag: String?
    /// Its body.
    package var body: [UInt8]

    package init(method: String, pattern: String, target: String, tag: String?, body: [UInt8]) {
      self.method = method
      self.pattern = pattern
      self.target = target
      self.tag = tag
      self.body = body
    }

    /// Whether both ask for one step in one state, in other words perhaps.
    package func isForSameState(as other: Request) -> Bool {
      method == other.method && target == other.target && tag == other.tag
    }
  }

  /// A row.
  package struct Entry: Sendable {
    /// The part that operators see.
    package var approval: Approval
    /// The SHA-256 of the operator key that asked.
    package var key: SHA256Digest
    /// The part that is carried out.
    package var request: Request

    package init(approval: Approval, key: SHA256Digest, request: Request) {
      self.approval = approval
      self.key = key
      self.request = request
    }
  }

  private static let columns = """
    id, state, action, subject, reason, affected, scope, asked, asked_by, asked_key, expires, decided, decided_by,
    outcome, method, pattern, target, tag, body
    """

  /// Adds a request, whose number it answers.
  package static func add(_ entry: Entry, in connection: borrowing Connection) throws -> Int64 {
    let (approval, request) = (entry.approval, entry.request)
    return try connection.insert(
      """
      INSERT INTO approvals (id, state, action, subject, reason, affected, scope, asked, asked_by, asked_key,
        expires, method, pattern, target, tag, body)
      VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
      """,
      [
        .choice(approval.state), .text(approval.action), .text(approval.subject), .optional(approval.reason),
        .optional(approval.affected), .choice(approval.scope), .timestamp(approval.asked),
        .text(approval.askedBy), .digest(entry.key), .timestamp(approval.expires),
        .text(request.method), .text(request.pattern), .text(request.target), .optional(request.tag),
        .blob(request.body),
      ], numberedBy: NumberedKey(of: "approvals", column: "id"))
  }

  /// Nil for a number that no request has.
  package static func find(
    _ id: Int64, at now: Timestamp, in connection: borrowing Connection
  ) throws -> Entry? {
    try connection.first("SELECT \(columns) FROM approvals WHERE id = ?", [.integer(id)]).map {
      try entry($0, at: now)
    }
  }

  /// At most `limit` requests older than the one of that number, the newest first; nil for `state` asks for all.
  package static func page(
    before: Int64, in state: Approval.State?, at now: Timestamp, limit: Int,
    in connection: borrowing Connection
  ) throws -> [Entry] {
    guard let state else {
      return try connection.query(
        "SELECT \(columns) FROM approvals WHERE id < ? ORDER BY id DESC LIMIT ?",
        [.integer(before), .integer(limit)]
      ).map { try entry($0, at: now) }
    }
    let stored = try connection.query(
      """
      SELECT \(columns) FROM approvals \(SQLDialect.index("approvals_by_state"))
      WHERE state = ? AND id < ? AND (state <> 'waiting' OR expires > ?) ORDER BY id DESC LIMIT ?
      """, [.choice(state), .integer(before), .timestamp(now), .integer(limit)]
    ).map { try entry($0, at: now) }
    guard state == .expired else { return stored }
    let late = try self.late(at: now, in: connection).filter { $0.approval.id < before }
    return Array((stored + late).sorted { $0.approval.id > $1.approval.id }.prefix(limit))
  }

  /// At most `limit` requests of that key's name that wait, the newest first.
  package static func waiting(
    askedBy actor: String, at now: Timestamp, limit: Int, in connection: borrowing Connection
  ) throws -> [Entry] {
    try connection.query(
      """
      SELECT \(columns) FROM approvals \(SQLDialect.index("approvals_by_state"))
      WHERE state = 'waiting' AND asked_by = ? AND expires > ? ORDER BY id DESC LIMIT ?
      """, [.text(actor), .timestamp(now), .integer(limit)]
    ).map { try entry($0, at: now) }
  }

  /// Returns the requests whose time is over, and that no sweep has ended yet: they are few.
  private static func late(at now: Timestamp, in connection: borrowing Connection) throws -> [Entry] {
    try connection.query(
      """
      SELECT \(columns) FROM approvals \(SQLDialect.index("approvals_waiting"))
      WHERE state = 'waiting' AND expires <= ? ORDER BY expires
      """, [.timestamp(now)]
    ).map { try entry($0, at: now) }
  }

  /// The request is decided by that operator; false where it waits no more, or its time is over.
  package static func decide(
    _ id: Int64, as state: Approval.State, by actor: String, because reason: String?, at now: Timestamp,
    in connection: borrowing Connection
  ) throws -> Bool {
    try connection.execute(
      """
      UPDATE approvals SET state = ?, decided = ?, decided_by = ?, outcome = ?
      WHERE id = ? AND state = 'waiting' AND expires > ?
      """,
      [
        .choice(state), .timestamp(now), .text(actor), .optional(reason), .integer(id), .timestamp(now),
      ]) > 0
  }

  /// An approved request was carried out, or could not be; false for one that is not approved.
  package static func finish(
    _ id: Int64, as state: Approval.State, outcome: String?, in connection: borrowing Connection
  ) throws -> Bool {
    try connection.execute(
      "UPDATE approvals SET state = ?, outcome = ? WHERE id = ? AND state = 'approved'",
      [.choice(state), .optional(outcome), .integer(id)]) > 0
  }

  /// Ends the requests whose time is over; the audit log has each.
  package static func expire(at now: Timestamp, in connection: borrowing Connection) throws {
    for entry in try late(at: now, in: connection) {
      let isEnded =
        try connection.execute(
          "UPDATE approvals SET state = 'expired' WHERE id = ? AND state = 'waiting'",
          [.integer(entry.approval.id)]) > 0
      guard isEnded else { continue }
      try note(
        "approval.expire", of: entry.approval, by: AuditTable.serverActor, detail: nil, at: now,
        in: connection)
    }
  }

  /// Writes down what `actor` did to a request, and who had asked. Its subject is the request, and it is about the product or the version:
  /// an entry whose subject is a version is a part of that version's state, which the request is for.
  package static func note(
    _ action: String, of approval: Approval, by actor: String, detail: String?, at now: Timestamp,
    in connection: borrowing Connection
  ) throws {
    let isAboutProduct = ["product.", "version."].contains { approval.action.hasPrefix($0) }
    let asker = actor == approval.askedBy ? "" : ", asked for by \(approval.askedBy)"
    try AuditTable.add(
      AuditEntry(
        at: now, actor: actor, action: action, subject: "approval \(approval.id)",
        detail: "\(approval.action) \(approval.subject)\(asker)" + (detail.map { ": \($0)" } ?? ""),
        about: isAboutProduct ? approval.subject : nil), in: connection)
  }

  /// Removes requests that were made before then, at most `limit`; whether there may be more.
  package static func forget(
    before cutoff: Timestamp, limit: Int, in connection: borrowing Connection
  ) throws -> Bool {
    try connection.execute(
      """
      DELETE FROM approvals WHERE id IN (SELECT id FROM approvals WHERE asked < ? ORDER BY asked LIMIT ?)
      """, [.timestamp(cutoff), .integer(limit)]) == limit
  }

  private static func entry(_ row: borrowing Row, at now: Timestamp) throws -> Entry {
    let (method, target) = (try row.text("method"), try row.text("target"))
    let expires = try row.timestamp("expires")
    var state: Approval.State = try row.choice("state")
    if state == .waiting, expires <= now { state = .expired }
    return Entry(
      approval: Approval(
        id: try row.integer("id"), state: state, action: try row.text("action"),
        subject: try row.text("subject"), reason: try row.optionalText("reason"),
        affected: try row.optionalInteger("affected"), request: "\(method) \(target)",
        scope: try row.choice("scope"), asked: try row.timestamp("asked"),
        askedBy: try row.text("asked_by"), expires: expires,
        decided: try row.optionalTimestamp("decided"), decidedBy: try row.optionalText("decided_by"),
        outcome: try row.optionalText("outcome")),
      key: try row.digest("asked_key"),
      request: Request(
        method: method, pattern: try row.text("pattern"), target: target, tag: try row.optionalText("tag"),
        body: try row.blob("body")))
  }
}
