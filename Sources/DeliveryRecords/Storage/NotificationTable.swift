package import Commerce
package import CoreTypes
package import Database

/// The notifications that stores sent by themselves, each once. Its functions run in the caller's transaction
/// and throw ``DatabaseError``.
package enum NotificationTable {
  /// A notification as it was written down.
  package struct Record: Hashable, Sendable {
    /// The store that sent it.
    package var store: StoreIdentifier
    /// The name that the store gave it, which is unique for the store.
    package var uuid: String
    /// The type in the store's words.
    package var type: String
    /// The subtype in the store's words; nil where the store has none.
    package var subtype: String?
    /// When the store signed it.
    package var signed: Timestamp
    /// The store's environment that its transactions are of.
    package var environment: StoreEnvironment
    /// The transaction that it is about; nil for none.
    package var transaction: TransactionIdentifier?
    /// The effect that it had when it was taken in.
    package var effect: Effect
    /// When it was taken in, by this server's clock.
    package var received: Timestamp

    /// Creates a record. `signed` is by the store's clock, `received` by this server's.
    package init(
      store: StoreIdentifier, uuid: String, type: String, subtype: String? = nil, signed: Timestamp,
      environment: StoreEnvironment, transaction: TransactionIdentifier? = nil, effect: Effect,
      received: Timestamp
    ) {
      self.store = store
      self.uuid = uuid
      self.type = type
      self.subtype = subtype
      self.signed = signed
      self.environment = environment
      self.transaction = transaction
      self.effect = effect
      self.received = received
    }
  }

  /// The effect of a notification.
  package enum Effect: String, Hashable, Sendable {
    /// The store's word on a transaction was taken in, with the date at which it was signed.
    case statement
    /// There was nothing to take in.
    case none
  }

  /// How long after it was signed a notification is known by its name: longer than any store tells of it, by 180 days of
  /// history, or by sending it again.
  package static let memory: Duration = .seconds(200 * 86_400)
  /// The largest number of notifications that are kept of each store: the newest.
  package static let capacity = 1_000_000

  /// Whether a notification of that name was taken in and is not forgotten.
  package static func contains(
    _ uuid: String, of store: StoreIdentifier, in connection: borrowing Connection
  ) throws -> Bool {
    try connection.first(
      "SELECT 1 FROM notifications WHERE store = ? AND uuid = ?", [.identifier(store), .text(uuid)]) != nil
  }

  /// Whether it was not there yet.
  package static func insert(_ record: Record, in connection: borrowing Connection) throws -> Bool {
    try connection.execute(
      """
      INSERT INTO notifications (store, uuid, type, subtype, signed, environment, transaction_id, effect, received)
      VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (store, uuid) DO NOTHING
      """,
      [
        .identifier(record.store), .text(record.uuid), .text(record.type), .optional(record.subtype),
        .timestamp(record.signed), .text(record.environment.rawValue),
        .optional(record.transaction?.description), .text(record.effect.rawValue),
        .timestamp(record.received),
      ]) > 0
  }

  /// Forgets, at most `limit` of them, what was signed before `cutoff`, and what is older than the newest `capacity` of its
  /// store. A repetition of what is forgotten changes nothing: the store's later word counts. Whether there may be more.
  package static func forget(
    before cutoff: Timestamp, capacity: Int = capacity, limit: Int, in connection: borrowing Connection
  ) throws -> Bool {
    var removed = 0
    // Each store by one step in the index.
    let stores = try connection.query(
      """
      WITH RECURSIVE stores (store) AS (
        SELECT min(store) FROM notifications
        UNION ALL
        SELECT (SELECT min(store) FROM notifications WHERE store > stores.store) FROM stores
        WHERE stores.store IS NOT NULL)
      SELECT store FROM stores WHERE store IS NOT NULL
      """)
    for row in stores {
      let store = SQLValue.text(try row.text("store"))
      let oldest = try connection.first(
        "SELECT signed FROM notifications WHERE store = ? ORDER BY signed DESC LIMIT 1 OFFSET ?",
        [store, .integer(capacity)]
      )?.timestamp("signed")
      // The date at that place is of the first that is too many.
      let bound = max(cutoff, oldest.map { $0 + .milliseconds(1) } ?? cutoff)
      removed += try connection.execute(
        """
        DELETE FROM notifications WHERE store = ? AND uuid IN (
          SELECT uuid FROM notifications WHERE store = ? AND signed < ? ORDER BY signed LIMIT ?)
        """, [store, store, .timestamp(bound), .integer(limit - removed)])
    }
    return removed >= limit
  }

  /// The one that the store signed last.
  package static func latest(
    of store: StoreIdentifier, in connection: borrowing Connection
  ) throws -> (type: String, subtype: String?, signed: Timestamp, received: Timestamp)? {
    try connection.first(
      """
      SELECT type, subtype, signed, received FROM notifications WHERE store = ?
      ORDER BY signed DESC LIMIT 1
      """, [.identifier(store)]
    ).map {
      (
        try $0.text("type"), try $0.optionalText("subtype"), try $0.timestamp("signed"),
        try $0.timestamp("received")
      )
    }
  }
}

/// Up to when a store's history of notifications was read, for each of its environments.
package enum NotificationHistoryTable {
  /// Returns up to when the history was read, and how many notifications were found there in all; nil before
  /// the first reading.
  package static func position(
    of store: StoreIdentifier, _ environment: StoreEnvironment, in connection: borrowing Connection
  ) throws -> (until: Timestamp, recovered: Int64)? {
    try connection.first(
      "SELECT until, recovered FROM notification_history WHERE store = ? AND environment = ?",
      [.identifier(store), .text(environment.rawValue)]
    ).map { (try $0.timestamp("until"), try $0.integer("recovered")) }
  }

  /// - Parameter recovered: notifications that were found there and had not arrived.
  package static func setPosition(
    _ store: StoreIdentifier, _ environment: StoreEnvironment, until: Timestamp, recovered: Int,
    in connection: borrowing Connection
  ) throws {
    try connection.execute(
      """
      INSERT INTO notification_history (store, environment, until, recovered) VALUES (?, ?, ?, ?)
      ON CONFLICT (store, environment)
      DO UPDATE SET until = excluded.until, recovered = notification_history.recovered + excluded.recovered
      """,
      [
        .identifier(store), .text(environment.rawValue), .timestamp(until), .integer(recovered),
      ])
  }
}
