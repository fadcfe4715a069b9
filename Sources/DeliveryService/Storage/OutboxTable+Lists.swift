import Commerce
import CoreTypes
import Database
import PullboxAPI
import ServiceRuntime

/// What operators see of the outbox, and what they decide.
extension OutboxTable {
  /// Which calls to list; nil members ask for nothing.
  struct Filter: Sendable {
    var state: OutboxCall.State?
    /// Any text: a row is shown whatever it holds.
    var store: String?
    var kind: String?
  }

  /// At most `limit` calls older than the row `before`, newest first.
  static func page(
    before: Int64, matching filter: Filter, limit: Int, in connection: borrowing Connection
  ) throws -> [OutboxCall] {
    // The plus sign keeps SQLite from the index that begins with the store, which would have to be sorted.
    var conditions = ["id < ?"]
    var values: [SQLValue] = [.integer(before)]
    for (column, value) in [("+store", filter.store), ("+kind", filter.kind)] {
      guard let value else { continue }
      conditions.append("\(column) = ?")
      values.append(.text(value))
    }
    if let state = filter.state { conditions.append(condition(state)) }
    return try connection.query(
      """
      SELECT * FROM outbox \(index(filter.state)) WHERE \(conditions.joined(separator: " AND "))
      ORDER BY id DESC LIMIT ?
      """, values + [.integer(limit)]
    ).map(call)
  }

  static func call(_ id: Int64, in connection: borrowing Connection) throws -> OutboxCall? {
    try connection.first("SELECT * FROM outbox WHERE id = ?", [.integer(id)]).map(call)
  }

  /// Has a call made again that waits, is parked or was dropped: at once, and with its refusals forgotten.
  static func retry(_ id: Int64, in connection: borrowing Connection) throws {
    try connection.execute(
      """
      UPDATE outbox SET next_attempt = ?, refusals = 0, parked = NULL, done = NULL, dropped = NULL
      WHERE id = ? AND (done IS NULL OR dropped IS NOT NULL)
      """, [.timestamp(OutboxEntry.atOnce), .integer(id)])
  }

  /// Decides that a call is not made.
  static func drop(_ id: Int64, at now: Timestamp, in connection: borrowing Connection) throws {
    try connection.execute(
      "UPDATE outbox SET done = ?, dropped = ?, parked = NULL WHERE id = ? AND done IS NULL",
      [.timestamp(now), .timestamp(now), .integer(id)])
  }

  /// Calls to one store, of one kind, that wait or are parked.
  struct Count: Sendable {
    var store: String
    var kind: String
    var waiting: Int64
    var parked: Int64
  }

  static func counts(in connection: borrowing Connection) throws -> [Count] {
    try connection.query(
      "SELECT * FROM outbox_counts WHERE waiting > 0 OR parked > 0 ORDER BY store, kind"
    ).map { row in
      Count(
        store: try row.text("store"), kind: try row.text("kind"), waiting: try row.integer("waiting"),
        parked: try row.integer("parked"))
    }
  }

  /// When the call was added that has waited longest; nil when none waits.
  static func oldest(in connection: borrowing Connection) throws -> Timestamp? {
    try connection.first(
      """
      SELECT created FROM outbox \(SQLDialect.index("outbox_open"))
      WHERE done IS NULL AND parked IS NULL ORDER BY id LIMIT 1
      """)?.timestamp("created")
  }

  /// The same for the calls to one store.
  static func oldest(
    to store: StoreIdentifier, in connection: borrowing Connection
  ) throws -> Timestamp? {
    try connection.first(
      """
      SELECT min(created) AS oldest FROM outbox \(SQLDialect.index("outbox_waiting"))
      WHERE done IS NULL AND parked IS NULL AND store = ?
      """, [.identifier(store)])?.optionalTimestamp("oldest")
  }

  /// Brings attempts forward that are further away than any pause, as they are after the wall clock was set
  /// back while no server ran; answers how many.
  static func bringForward(
    to store: StoreIdentifier, at now: Timestamp, in connection: borrowing Connection
  ) throws -> Int {
    try connection.execute(
      """
      UPDATE outbox \(SQLDialect.index("outbox_waiting")) SET next_attempt = ?
      WHERE done IS NULL AND parked IS NULL AND store = ? AND next_attempt > ?
        AND next_attempt > CASE refusals WHEN 0 THEN ? ELSE ? END
      """,
      [
        .timestamp(now), .identifier(store), .timestamp(now),
        .timestamp(now + OutboxMachine.unavailabilityBackoff.cap),
        .timestamp(now + OutboxMachine.refusalBackoff.cap),
      ])
  }

  private static func condition(_ state: OutboxCall.State) -> String {
    switch state {
    case .waiting: "done IS NULL AND parked IS NULL"
    case .parked: "done IS NULL AND parked IS NOT NULL"
    case .done: "done IS NOT NULL AND dropped IS NULL"
    case .dropped: "dropped IS NOT NULL"
    }
  }

  private static func index(_ state: OutboxCall.State?) -> String {
    switch state {
    case .waiting: SQLDialect.index("outbox_open")
    case .parked: SQLDialect.index("outbox_parked")
    case .dropped: SQLDialect.index("outbox_dropped")
    case .done, nil: "NOT INDEXED"
    }
  }

  private static func call(_ row: Row) throws -> OutboxCall {
    let parked = try row.optionalTimestamp("parked")
    let done = try row.optionalTimestamp("done")
    let isDropped = try row.optionalTimestamp("dropped") != nil
    let state: OutboxCall.State =
      isDropped ? .dropped : done != nil ? .done : parked != nil ? .parked : .waiting
    let created = try row.timestamp("created")
    return OutboxCall(
      id: try row.integer("id"), store: try row.text("store"), kind: try row.text("kind"),
      transaction: try row.text("subject"), state: state, attempts: try row.integer("attempts"),
      refusals: try row.integer("refusals"),
      nextAttempt: state == .waiting ? try nextAttempt(row, created) : nil,
      lastError: try row.optionalText("last_error"), created: created, parked: parked, done: done,
      environment: try row.text("environment"))
  }

  private static func nextAttempt(_ row: Row, _ created: Timestamp) throws -> Timestamp {
    let next = try row.timestamp("next_attempt")
    return next == OutboxEntry.atOnce ? created : next
  }
}
