package import Commerce
package import CoreTypes
package import Database
import DeliveryModel
import PullboxAPI
package import ServiceAPI
import ServiceRuntime

/// The lists of the outbox that operators see, and their decisions on its calls.
extension OutboxTable {
  /// The columns that ``call(_:)`` reads.
  private static let callColumns = """
    id, store, kind, subject, state, attempts, refusals, next_attempt, last_error, created, parked, done, environment
    """

  /// Which calls to list; nil members ask for nothing.
  package struct Filter: Sendable {
    /// Calls in this state alone.
    package var state: OutboxCall.State?
    /// Any text: a row is shown whatever it holds.
    package var store: String?
    /// Any text, as for ``store``.
    package var kind: String?

    /// Creates a filter; without arguments, one that every call passes.
    package init(state: OutboxCall.State? = nil, store: String? = nil, kind: String? = nil) {
      self.state = state
      self.store = store
      self.kind = kind
    }
  }

  /// At most `limit` calls older than the row `before`, newest first. It visits as many as it answers of each store, kind and
  /// state, however many there are.
  package static func page(
    before: Int64, matching filter: Filter, limit: Int, in connection: borrowing Connection
  ) throws -> [OutboxCall] {
    guard filter.state != nil || filter.store != nil || filter.kind != nil else {
      return try connection.query(
        "SELECT \(callColumns) FROM outbox WHERE id < ? ORDER BY id DESC LIMIT ?",
        [.integer(before), .integer(limit)]
      ).map(call)
    }
    var ids: [Int64] = []
    for state in filter.state.map({ [$0] }) ?? OutboxCall.State.allCases {
      for first in try firsts(state, of: filter.store, filter.kind, in: connection) {
        ids += try connection.query(
          """
          SELECT id FROM outbox \(SQLDialect.index("outbox_by_state"))
          WHERE state = ? AND store = ? AND kind = ? AND id < ? ORDER BY id DESC LIMIT ?
          """, [.choice(state), .text(first.store), .text(first.kind), .integer(before), .integer(limit)]
        ).map { try $0.integer("id") }
      }
    }
    return try ids.sorted(by: >).prefix(limit).compactMap { try call($0, in: connection) }
  }

  /// A store and a kind of which there are calls in some state.
  private struct First {
    var store: String
    var kind: String
  }

  /// Each store and kind, or one of them, of which there are calls of that state: a look at the index for each.
  private static func firsts(
    _ state: OutboxCall.State, of store: String? = nil, _ kind: String? = nil,
    in connection: borrowing Connection
  ) throws -> [First] {
    var firsts: [First] = []
    var last: First?
    while let first = try next(state, after: last, to: store, in: connection) {
      if kind == nil || kind == first.kind { firsts.append(first) }
      last = first
    }
    return firsts
  }

  /// Returns the next kind of call to the same store, else the first kind of call to the next store. Two statements: one
  /// about both columns would look at all calls of the last kind.
  private static func next(
    _ state: OutboxCall.State, after last: First?, to store: String?, in connection: borrowing Connection
  ) throws -> First? {
    if let same = last?.store ?? store {
      let row = try connection.first(
        """
        SELECT store, kind FROM outbox \(SQLDialect.index("outbox_by_state"))
        WHERE state = ? AND store = ? AND kind > ? ORDER BY kind, id LIMIT 1
        """, [.choice(state), .text(same), .text(last?.kind ?? "")])
      if let row { return try first(row) }
    }
    guard store == nil else { return nil }
    let row = try connection.first(
      """
      SELECT store, kind FROM outbox \(SQLDialect.index("outbox_by_state"))
      WHERE state = ? AND store > ? ORDER BY store, kind, id LIMIT 1
      """, [.choice(state), .text(last?.store ?? "")])
    return try row.map(first)
  }

  private static func first(_ row: Row) throws -> First {
    First(store: try row.text("store"), kind: try row.text("kind"))
  }

  /// Returns the call as operators see it, in whichever state; nil without one.
  package static func call(_ id: Int64, in connection: borrowing Connection) throws -> OutboxCall? {
    try connection.first("SELECT \(callColumns) FROM outbox WHERE id = ?", [.integer(id)]).map(call)
  }

  /// The purchases named as those that hold a call, at most. The store bounds the products of an order.
  private static let maximumHolders = 100

  /// Returns the call with the purchases of its order that hold it at `now`, by the outbox's ``ScheduleClock``, and without a
  /// next attempt then; a call that none holds as it is.
  package static func withHolders(
    _ call: OutboxCall, at now: Timestamp, in connection: borrowing Connection
  ) throws -> OutboxCall {
    // Only the end of a transaction is told for an order as a whole.
    guard call.state == .waiting, OutboxEntry.Kind.ends.contains(OutboxEntry.Kind(rawValue: call.kind)) else {
      return call
    }
    let holders = try connection.query(
      """
      SELECT other.transaction_id AS transaction_id, other.acknowledgement_due AS due FROM outbox, \(order)
      WHERE outbox.id = ? AND outbox.kind IN ('acknowledge', 'consume') AND \(isOwed) LIMIT ?
      """, [.integer(call.id), heldSince(now), .integer(maximumHolders)])
    guard let last = try holders.map({ try $0.timestamp("due") }).max() else { return call }
    var held = call
    held.waitsFor = try holders.map { try $0.text("transaction_id") }.sorted()
    held.heldUntil = last + AcknowledgementTable.window
    held.nextAttempt = nil
    return held
  }

  /// Has a call made again that waits, is parked or was dropped: at once, and with its refusals forgotten. False where it is over.
  package static func retry(_ id: Int64, in connection: borrowing Connection) throws -> Bool {
    try connection.execute(
      """
      UPDATE outbox SET next_attempt = ?, refusals = 0, parked = NULL, done = NULL, dropped = NULL
      WHERE id = ? AND (done IS NULL OR dropped IS NOT NULL)
      """, [.timestamp(OutboxEntry.atOnce), .integer(id)]) == 1
  }

  /// Decides that a call is not made which was found parked, or waiting. False where it is not so any more.
  package static func drop(
    _ id: Int64, foundParked isParked: Bool, at now: Timestamp, in connection: borrowing Connection
  ) throws -> Bool {
    try connection.execute(
      """
      UPDATE outbox SET done = ?, dropped = ?, parked = NULL
      WHERE id = ? AND done IS NULL AND CASE WHEN parked IS NULL THEN 0 ELSE 1 END = ?
      """, [.timestamp(now), .timestamp(now), .integer(id), .boolean(isParked)]) == 1
  }

  /// Calls to one store, of one kind, that wait or are parked.
  package struct Count: Sendable {
    /// The store as the rows spell it, which the configuration may not name any more.
    package var store: String
    /// The kind as the rows spell it, which this version may not know.
    package var kind: String
    /// Calls whose time has come or will come by itself.
    package var waiting: Int64
    /// Calls that an operator has to ask for.
    package var parked: Int64

    package init(store: String, kind: String, waiting: Int64, parked: Int64) {
      self.store = store
      self.kind = kind
      self.waiting = waiting
      self.parked = parked
    }
  }

  /// Returns the counts by store and kind, in that order, without those that are zero. Triggers keep them, in PostgreSQL in
  /// several rows for each.
  package static func counts(in connection: borrowing Connection) throws -> [Count] {
    try connection.query(
      """
      SELECT store, kind, CAST(sum(waiting) AS BIGINT) AS waiting, CAST(sum(parked) AS BIGINT) AS parked FROM outbox_counts
      GROUP BY store, kind HAVING sum(waiting) > 0 OR sum(parked) > 0 ORDER BY store, kind
      """
    ).map { row in
      Count(
        store: try row.text("store"), kind: try row.text("kind"), waiting: try row.integer("waiting"),
        parked: try row.integer("parked"))
    }
  }

  /// When the oldest call of that state, which is not over, was added, to one store or to any; nil when there is none. A call whose
  /// payload was changed since is as old as that.
  package static func oldest(
    _ state: OutboxCall.State, to store: StoreIdentifier? = nil, in connection: borrowing Connection
  ) throws -> Timestamp? {
    let stores = try store.map { [$0.description] } ?? Array(Set(firsts(state, in: connection).map(\.store)))
    return try stores.compactMap { store in
      try connection.first(
        """
        SELECT created FROM outbox \(SQLDialect.index("outbox_by_age"))
        WHERE done IS NULL AND state = ? AND store = ? ORDER BY created LIMIT 1
        """, [.choice(state), .text(store)])?.timestamp("created")
    }.min()
  }

  /// Brings attempts forward that are further away than the longest pause, as they are after the wall clock was set
  /// back while no server ran; answers how many. The pause is another one after a refusal.
  package static func bringForward(
    to store: StoreIdentifier, at now: Timestamp, longestPause: Duration, afterRefusal: Duration,
    in connection: borrowing Connection
  ) throws -> Int {
    try connection.execute(
      """
      UPDATE outbox \(SQLDialect.index("outbox_waiting")) SET next_attempt = ?
      WHERE done IS NULL AND parked IS NULL AND store = ? AND next_attempt > ?
        AND next_attempt > CASE refusals WHEN 0 THEN CAST(? AS BIGINT) ELSE CAST(? AS BIGINT) END
      """,
      [
        .timestamp(now), .identifier(store), .timestamp(now),
        .timestamp(now + longestPause),
        .timestamp(now + afterRefusal),
      ])
  }

  /// Reads a row whatever its store and kind are called. Only a call that waits has a next attempt.
  private static func call(_ row: Row) throws -> OutboxCall {
    let state: OutboxCall.State = try row.choice("state")
    let created = try row.timestamp("created")
    return OutboxCall(
      id: try row.integer("id"), store: try row.text("store"), kind: try row.text("kind"),
      transaction: try row.text("subject"), state: state, attempts: try row.integer("attempts"),
      refusals: try row.integer("refusals"),
      nextAttempt: state == .waiting ? try nextAttempt(row, created) : nil,
      lastError: try row.optionalText("last_error"), created: created,
      parked: try row.optionalTimestamp("parked"), done: try row.optionalTimestamp("done"),
      environment: try row.text("environment"))
  }

  /// The time of the next attempt; one that is due at once counts from when the call was added.
  private static func nextAttempt(_ row: Row, _ created: Timestamp) throws -> Timestamp {
    let next = try row.timestamp("next_attempt")
    return next == OutboxEntry.atOnce ? created : next
  }

  /// Lets go of the claims of a node that is dead.
  static func release(claimedBy node: String, in connection: borrowing Connection) throws {
    try connection.execute(
      """
      UPDATE outbox SET leased_by = NULL, leased_until = NULL
      WHERE done IS NULL AND parked IS NULL AND leased_by = ?
      """, [.text(node)])
  }
}
