package import CoreTypes
package import Database
package import PullboxAPI

/// The steps that wait for another operator's approval, and those that did. Its functions run in the caller's transaction, throw
/// ``DatabaseError``, and need no lock: each statement decides by itself.
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
  }

  /// A row.
  package struct Entry: Sendable {
    /// The part that operators see.
    package var approval: Approval
    /// The part that is carried out.
    package var request: Request

    package init(approval: Approval, request: Request) {
      self.approval = approval
      self.request = request
    }
  }

  private static let columns = """
    id, state, action, subject, reason, affected, scope, asked, asked_by, expires, decided, decided_by, outcome,
    method, pattern, target, tag, body
    """

  /// Adds a request, whose number it answers.
  package static func add(_ entry: Entry, in connection: borrowing Connection) throws -> Int64? {
    let (approval, request) = (entry.approval, entry.request)
    return try connection.insertNumbered(
      """
      INSERT INTO approvals (state, action, subject, reason, affected, scope, asked, asked_by, expires,
        method, pattern, target, tag, body)
      VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
      """,
      [
        .choice(approval.state), .text(approval.action), .text(approval.subject), .optional(approval.reason),
        .optional(approval.affected), .choice(approval.scope), .timestamp(approval.asked),
        .text(approval.askedBy), .timestamp(approval.expires),
        .text(request.method), .text(request.pattern), .text(request.target), .optional(request.tag),
        .blob(request.body),
      ], answering: "id")
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
    return try connection.query(
      """
      SELECT \(columns) FROM approvals \(SQLDialect.index("approvals_by_state"))
      WHERE state = ? AND id < ? ORDER BY id DESC LIMIT ?
      """, [.choice(state), .integer(before), .integer(limit)]
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

  /// An approved request was carried out, or could not be.
  package static func finish(
    _ id: Int64, as state: Approval.State, outcome: String?, in connection: borrowing Connection
  ) throws {
    try connection.execute(
      "UPDATE approvals SET state = ?, outcome = ? WHERE id = ? AND state = 'approved'",
      [.choice(state), .optional(outcome), .integer(id)])
  }

  /// Ends the requests whose time is over.
  package static func expire(at now: Timestamp, in connection: borrowing Connection) throws {
    try connection.execute(
      "UPDATE approvals SET state = 'expired' WHERE state = 'waiting' AND expires <= ?", [.timestamp(now)])
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
      request: Request(
        method: method, pattern: try row.text("pattern"), target: target, tag: try row.optionalText("tag"),
        body: try row.blob("body")))
  }
}
