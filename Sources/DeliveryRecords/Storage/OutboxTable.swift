package import Commerce
package import CoreTypes
package import Database
package import DeliveryModel

/// The outbox's rows: written in the same transaction as what they follow from, and kept. A row is waiting,
/// parked (until an operator asks for another try), done, or done without the store because an operator dropped
/// it. There is one row for each store, environment, transaction and kind. The functions run in the caller's
/// transaction and throw ``DatabaseError`` and ``ColumnTypeMismatch``.
package enum OutboxTable {
  /// Unicode scalars of a store's error that are kept.
  static let maximumErrorLength = 1000

  /// The columns that ``entry(_:)`` reads.
  private static let columns =
    "id, store, environment, subject, kind, payload, attempts, refusals, next_attempt"
  // Texts that are put together once.
  private static let selection = "SELECT \(columns) FROM outbox WHERE id = ?"
  private static let selectionBySubject = """
    SELECT \(columns), dropped, done, parked FROM outbox
    WHERE store = ? AND environment = ? AND subject = ? AND kind = ?
    """
  private static let insertion = """
    INSERT \(SQLDialect.failing) INTO outbox (
      store, environment, subject, kind, payload, next_attempt, created, leased_by, leased_until)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (store, kind, subject, environment) DO NOTHING
    """
  private static let acceptance = """
    UPDATE \(SQLDialect.failing) outbox
    SET done = ?, attempts = attempts + 1, last_error = NULL, parked = NULL, dropped = NULL,
      leased_by = NULL, leased_until = NULL
    WHERE id = ? AND \(isUnchanged)
    """

  /// A store that sold several products by one order is told of all of them at once: each call waits until there is one for
  /// every other product of the order that the store would take back. Its one parameter is ``heldSince(_:)``:
  /// a purchase that the store has taken back meanwhile holds nothing up.
  static let isHeld = """
    (outbox.kind IN ('acknowledge', 'consume') AND EXISTS (SELECT 1 FROM \(order) WHERE \(isOwed)))
    """

  /// The purchase of a call beside the others of its order, which have the number of the order in common.
  static let order = """
    transactions AS own JOIN transactions AS other
      ON other.store = own.store AND other.environment = own.environment
        AND other.original_id = own.original_id AND other.original_id <> other.transaction_id
    """

  /// The condition that the other purchase is still to be delivered. Its one parameter is ``heldSince(_:)``.
  static let isOwed = """
    own.store = outbox.store AND own.environment = outbox.environment
      AND own.transaction_id = outbox.subject
      AND own.original_id <> own.transaction_id AND other.transaction_id <> own.transaction_id
      AND other.purchased = own.purchased
      AND other.acknowledgement_due > ? AND other.revoked IS NULL
      AND NOT EXISTS (
        SELECT 1 FROM outbox AS call
        WHERE call.store = other.store AND call.kind IN ('acknowledge', 'consume')
          AND call.subject = other.transaction_id AND call.environment = other.environment)
    """

  /// The deadline before which a purchase is the store's to tell of, as in ``AcknowledgementTable``. `now` is by the outbox's
  /// ``ScheduleClock``.
  static func heldSince(_ now: Timestamp) -> SQLValue {
    .timestamp(now - AcknowledgementTable.window)
  }

  /// How a call stands once it was added.
  package enum Standing: Sendable {
    /// It is to be made; `taken` where the lease claimed it for the caller.
    case waiting(taken: OutboxEntry?)
    /// It waits for an operator.
    case parked
    /// The store has accepted it before.
    case done
    /// It is not made: an operator's decision, or the store takes it no more.
    case dropped
  }

  /// Adds the call unless it is there already. The column refuses a payload of more than 64 KiB. A lease that names its store
  /// claims it, where no other node has and where no other product of the order is still to be delivered. A row
  /// that is there keeps its payload.
  ///
  /// - Parameters:
  ///   - subject: the transaction that the call is about.
  ///   - payload: the data for the store; nil for none.
  ///   - lease: a claim of the caller's, who then makes the call; nil leaves it to the worker.
  package static func add(
    _ kind: OutboxEntry.Kind, of subject: TransactionKey, payload: String? = nil, lease: OutboxLease? = nil,
    at now: Timestamp, in connection: borrowing Connection
  ) throws -> Standing {
    let lease = lease.flatMap { $0.stores.contains(subject.store) ? $0 : nil }
    // A call that may have to wait is claimed once it is there.
    let claims = kind == .acknowledge || kind == .consume ? nil : lease
    let number = try connection.insertNumbered(
      insertion,
      subject.values + [
        .choice(kind), .optional(payload), .timestamp(OutboxEntry.atOnce), .timestamp(now),
        .optional(claims?.holder),
        .optional(claims?.until, SQLValue.timestamp),
      ], answering: "id")
    if let number {
      if claims == nil, let lease, try !take(number, lease, in: connection) { return .waiting(taken: nil) }
      let entry = OutboxEntry(
        id: number, kind: kind, subject: subject, payload: payload, attempts: 0, refusals: 0,
        nextAttempt: OutboxEntry.atOnce)
      return .waiting(taken: lease == nil ? nil : entry)
    }
    guard let row = try connection.first(selectionBySubject, subject.values + [.choice(kind)]) else {
      // SQLite has the row still. In PostgreSQL another transaction may have removed it since the insertion.
      return try add(kind, of: subject, payload: payload, lease: lease, at: now, in: connection)
    }
    if try row.optionalTimestamp("dropped") != nil { return .dropped }
    if try row.optionalTimestamp("done") != nil { return .done }
    if try row.optionalTimestamp("parked") != nil { return .parked }
    guard let lease, try take(try row.integer("id"), lease, in: connection) else {
      return .waiting(taken: nil)
    }
    return .waiting(taken: try entry(row))
  }

  /// Has the call made, with that payload, whatever became of an earlier one about the same. Answers its
  /// number. The refusals of the earlier call are forgotten, and so is an operator's decision about it.
  package static func renew(
    _ kind: OutboxEntry.Kind, of subject: TransactionKey, payload: String, at now: Timestamp,
    in connection: borrowing Connection
  ) throws -> Int64 {
    try connection.execute(
      """
      INSERT INTO outbox (store, environment, subject, kind, payload, next_attempt, created)
      VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (store, kind, subject, environment) DO UPDATE SET
        payload = excluded.payload, next_attempt = excluded.next_attempt, created = excluded.created,
        attempts = 0, refusals = 0, last_error = NULL, parked = NULL, dropped = NULL, done = NULL
      """,
      subject.values + [
        .choice(kind), .text(payload), .timestamp(OutboxEntry.atOnce), .timestamp(now),
      ])
    let row = try connection.first(
      "SELECT id FROM outbox WHERE store = ? AND environment = ? AND subject = ? AND kind = ?",
      subject.values + [.choice(kind)])
    guard let row else { preconditionFailure("the row is there, in this transaction") }
    return try row.integer("id")
  }

  /// Claims a call that waits; false where it waits no longer, where another node has claimed it, and while another product of
  /// its order is still to be delivered. A claim that
  /// would last longer than this one was made by a clock that is wrong, and does not count.
  package static func take(_ id: Int64, _ lease: OutboxLease, in connection: borrowing Connection) throws
    -> Bool
  {
    try connection.execute(
      """
      UPDATE outbox SET leased_by = ?, leased_until = ?
      WHERE id = ? AND done IS NULL AND parked IS NULL
        AND (leased_by IS NULL OR leased_by = ? OR leased_until <= ? OR leased_until > ?) AND NOT \(isHeld)
      """,
      [.text(lease.holder), .timestamp(lease.until), .integer(id)] + values(lease) + [heldSince(lease.now)])
      == 1
  }

  /// The same, with the call; nil also for a row that cannot be read and for a kind that this version does not know.
  package static func claim(
    _ id: Int64, _ lease: OutboxLease, in connection: borrowing Connection
  ) throws -> OutboxEntry? {
    guard let row = try connection.first(selection, [.integer(id)]),
      case .entry(let entry) = try found(row), OutboxEntry.Kind.known.contains(entry.kind),
      try take(id, lease, in: connection)
    else { return nil }
    return entry
  }

  /// For the condition that no other node's claim holds.
  private static func values(_ lease: OutboxLease) -> [SQLValue] {
    [.text(lease.holder), .timestamp(lease.now), .timestamp(lease.until)]
  }

  /// A row that waits. One that is damaged is parked, so that it holds up no other.
  package enum Found: Sendable {
    /// A call, perhaps of a kind that this version does not know.
    case entry(OutboxEntry)
    /// It holds what this program never writes there.
    case damaged(id: Int64, fault: String)

    /// The row, of either.
    package var id: Int64 {
      switch self {
      case .entry(let entry): entry.id
      case .damaged(let id, _): id
      }
    }
  }

  /// Where a row stands in the order in which calls are made.
  package struct Place: Hashable, Sendable {
    /// The time of its next attempt.
    package var nextAttempt: Timestamp
    /// The row, which orders calls of one time.
    package var id: Int64

    package init(nextAttempt: Timestamp, id: Int64) {
      self.nextAttempt = nextAttempt
      self.id = id
    }
  }

  /// At most `limit` calls to the store whose time has come and that no other node has claimed, those that have
  /// waited longest first.
  package static func due(
    to store: StoreIdentifier, for lease: OutboxLease, limit: Int, in connection: borrowing Connection
  ) throws -> [Found] {
    try connection.query(
      """
      SELECT \(columns) FROM outbox \(SQLDialect.index("outbox_waiting"))
      WHERE done IS NULL AND parked IS NULL AND store = ? AND next_attempt <= ?
        AND (leased_by IS NULL OR leased_by = ? OR leased_until <= ? OR leased_until > ?) AND NOT \(isHeld)
      ORDER BY next_attempt, id LIMIT ?
      """,
      [.identifier(store), .timestamp(lease.now)] + values(lease) + [heldSince(lease.now), .integer(limit)]
    ).map(found)
  }

  /// At most `limit` calls to the store that stand behind `place` and that no other node has claimed, whether their
  /// time has come or not. A nil `place` begins with the first.
  package static func waiting(
    for store: StoreIdentifier, after place: Place?, for lease: OutboxLease, limit: Int,
    in connection: borrowing Connection
  ) throws -> [Found] {
    let place = place ?? Place(nextAttempt: Timestamp(millisecondsSinceEpoch: .min), id: 0)
    return try connection.query(
      """
      SELECT \(columns) FROM outbox \(SQLDialect.index("outbox_waiting"))
      WHERE done IS NULL AND parked IS NULL AND store = ? AND (next_attempt, id) > (?, ?)
        AND (leased_by IS NULL OR leased_by = ? OR leased_until <= ? OR leased_until > ?) AND NOT \(isHeld)
      ORDER BY next_attempt, id LIMIT ?
      """,
      [.identifier(store), .timestamp(place.nextAttempt), .integer(place.id)] + values(lease)
        + [heldSince(lease.now), .integer(limit)]
    ).map(found)
  }

  /// When the next claim of another node to a call whose time has come ends; nil without any.
  package static func nextLeaseEnd(
    of store: StoreIdentifier, for lease: OutboxLease, in connection: borrowing Connection
  ) throws -> Timestamp? {
    try connection.first(
      """
      SELECT min(leased_until) AS next FROM outbox \(SQLDialect.index("outbox_waiting"))
      WHERE done IS NULL AND parked IS NULL AND store = ? AND next_attempt <= ? AND leased_by <> ?
        AND leased_until > ? AND leased_until <= ?
      """, [.identifier(store), .timestamp(lease.now)] + values(lease)
    )?.optionalTimestamp("next")
  }

  /// Whether a call to the store whose time has come is held by others of its order.
  package static func hasHeld(
    to store: StoreIdentifier, at now: Timestamp, in connection: borrowing Connection
  ) throws -> Bool {
    try connection.first(
      """
      SELECT 1 FROM outbox \(SQLDialect.index("outbox_waiting"))
      WHERE done IS NULL AND parked IS NULL AND store = ? AND next_attempt <= ? AND \(isHeld) LIMIT 1
      """, [.identifier(store), .timestamp(now), heldSince(now)]) != nil
  }

  /// When the next call to the store is due of those that are not due yet; nil without any.
  package static func nextAttempt(
    to store: StoreIdentifier, after now: Timestamp, in connection: borrowing Connection
  ) throws -> Timestamp? {
    try connection.first(
      """
      SELECT next_attempt FROM outbox \(SQLDialect.index("outbox_waiting"))
      WHERE done IS NULL AND parked IS NULL AND store = ? AND next_attempt > ?
      ORDER BY next_attempt LIMIT 1
      """, [.identifier(store), .timestamp(now)])?.timestamp("next_attempt")
  }

  /// The condition that a call still has the payload that the store was sent: the store's answer is about that payload
  /// alone.
  private static let isUnchanged = "payload IS NOT DISTINCT FROM ?"

  /// False where another payload has taken the place of the one that was sent: the call is still to be made with that.
  package static func markDone(
    _ call: OutboxEntry, at now: Timestamp, in connection: borrowing Connection
  ) throws -> Bool {
    try connection.execute(
      acceptance, [.timestamp(now), .integer(call.id), .optional(call.payload)]) > 0
  }

  /// After an attempt that failed, or that the store refused. False where the call is over, or has another payload by now: it is
  /// due when it was. The lease ends with it, so that any node may make the next attempt.
  package static func postpone(
    _ call: OutboxEntry, until next: Timestamp, isRefused: Bool, because error: String,
    in connection: borrowing Connection
  ) throws -> Bool {
    try connection.execute(
      """
      UPDATE outbox SET next_attempt = ?, attempts = attempts + 1, refusals = refusals + ?, last_error = ?,
        leased_by = NULL, leased_until = NULL
      WHERE id = ? AND done IS NULL AND \(isUnchanged)
      """,
      [
        .timestamp(next), .integer(isRefused ? 1 : 0), .text(kept(error)), .integer(call.id),
        .optional(call.payload),
      ]) > 0
  }

  /// After an attempt that says nothing of the call: it stays due, behind those that wait since before. Nothing changes where
  /// another node has claimed it since.
  package static func putBehind(_ id: Int64, _ lease: OutboxLease, in connection: borrowing Connection) throws
  {
    try connection.execute(
      """
      UPDATE outbox SET next_attempt = CASE WHEN next_attempt < ? THEN ? ELSE next_attempt END,
        leased_by = NULL, leased_until = NULL
      WHERE id = ? AND done IS NULL AND parked IS NULL AND (leased_by IS NULL OR leased_by = ?)
      """, [.timestamp(lease.now), .timestamp(lease.now), .integer(id), .text(lease.holder)])
  }

  /// After a refusal that was the last one, or because no store can be told of it. False where it does not wait, or has another
  /// payload by now.
  package static func park(
    _ call: OutboxEntry, at now: Timestamp, isRefused: Bool, because error: String,
    in connection: borrowing Connection
  ) throws -> Bool {
    let refusals = isRefused ? 1 : 0
    return try connection.execute(
      """
      UPDATE outbox SET parked = ?, attempts = attempts + ?, refusals = refusals + ?, last_error = ?,
        leased_by = NULL, leased_until = NULL
      WHERE id = ? AND done IS NULL AND parked IS NULL AND \(isUnchanged)
      """,
      [
        .timestamp(now), .integer(refusals), .integer(refusals), .text(kept(error)), .integer(call.id),
        .optional(call.payload),
      ]) == 1
  }

  /// The store would not take the call any more: it is not made. False where it is over, or has another payload by now.
  package static func expire(
    _ call: OutboxEntry, at now: Timestamp, because reason: String, in connection: borrowing Connection
  ) throws -> Bool {
    try connection.execute(
      """
      UPDATE outbox SET done = ?, dropped = ?, parked = NULL, last_error = ?, leased_by = NULL,
        leased_until = NULL
      WHERE id = ? AND done IS NULL AND \(isUnchanged)
      """,
      [
        .timestamp(now), .timestamp(now), .text(reason), .integer(call.id), .optional(call.payload),
      ]) == 1
  }

  /// The same for a row that cannot be read.
  package static func parkDamaged(
    _ id: Int64, at now: Timestamp, because fault: String, in connection: borrowing Connection
  ) throws -> Bool {
    try connection.execute(
      """
      UPDATE outbox SET parked = ?, last_error = ?, leased_by = NULL, leased_until = NULL
      WHERE id = ? AND done IS NULL AND parked IS NULL
      """, [.timestamp(now), .text(kept(fault)), .integer(id)]) == 1
  }

  /// One line, without what a terminal would obey.
  private static func kept(_ error: String) -> String {
    var kept = String.UnicodeScalarView()
    for scalar in error.unicodeScalars.prefix(maximumErrorLength) {
      let isShown =
        scalar.properties.generalCategory != .control && scalar.properties.generalCategory != .format
      kept.append(isShown ? scalar : " ")
    }
    return String(kept)
  }

  /// Reads a row; one that does not hold a call is damaged.
  private static func found(_ row: Row) throws -> Found {
    do {
      return .entry(try entry(row))
    } catch let error as ColumnTypeMismatch {
      return .damaged(id: try row.integer("id"), fault: "\(error)")
    }
  }

  /// Reads the columns of ``columns``. Throws ``ColumnTypeMismatch``.
  private static func entry(_ row: Row) throws -> OutboxEntry {
    OutboxEntry(
      id: try row.integer("id"), kind: try row.choice("kind"),
      subject: TransactionKey(
        store: try row.identifier("store"), environment: try row.choice("environment"),
        id: try row.identifier("subject")),
      payload: try row.optionalText("payload"),
      attempts: Int(try row.integer("attempts")), refusals: Int(try row.integer("refusals")),
      nextAttempt: try row.timestamp("next_attempt"))
  }
}
