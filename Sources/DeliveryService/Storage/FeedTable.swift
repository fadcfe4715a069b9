import Commerce
import CoreTypes
import Database
import PullboxAPI

/// The feeds of devices, and what each was told last of every product. A product has one row, so that a feed takes no more
/// room than what its customer owns, and no cursor is ever too old for it.
enum FeedTable {
  /// Products of one feed that are told of, at most.
  static let maximumItems = 5000

  struct Feed: Sendable {
    var number: Int64
    var store: StoreIdentifier
    var device: DeviceIdentifier
    /// Of the proof that was shown last; nil while none held a purchase.
    var environment: StoreEnvironment?
    /// As the ledger called it when that proof was shown.
    var customer: CustomerIdentifier?
    /// Says which feed a cursor is of: another one after this one was forgotten.
    var epoch: Int64
    /// Of the item that was told last; 0 before there was one.
    var sequence: Int64
    /// When it was last asked, by days.
    var used: Timestamp
  }

  static func count(in connection: borrowing Connection) throws -> Int {
    Int(try connection.first("SELECT count(*) AS count FROM feeds")?.integer("count") ?? 0)
  }

  static func find(
    of device: DeviceIdentifier, at store: StoreIdentifier, in connection: borrowing Connection
  ) throws -> Feed? {
    try connection.first(
      "SELECT * FROM feeds WHERE device = ? AND store = ?", [.identifier(device), .identifier(store)]
    ).map(feed)
  }

  /// At every store, also at those that are not configured any more.
  static func all(of device: DeviceIdentifier, in connection: borrowing Connection) throws -> [Feed] {
    try connection.query(
      "SELECT * FROM feeds WHERE device = ? ORDER BY store LIMIT 100", [.identifier(device)]
    ).map(feed)
  }

  static func find(_ number: Int64, in connection: borrowing Connection) throws -> Feed? {
    try connection.first("SELECT * FROM feeds WHERE number = ?", [.integer(number)]).map(feed)
  }

  /// The feeds of a customer's devices, as many as a customer may have.
  static func numbers(
    of customer: CustomerIdentifier, in connection: borrowing Connection
  ) throws -> [Int64] {
    try connection.query(
      "SELECT number FROM feeds WHERE customer = ? LIMIT 100", [.customer(customer)]
    ).map { try $0.integer("number") }
  }

  /// Makes the device's feed, or says whose it is from now on; answers its number. A feed of another customer is forgotten with what was
  /// told in it: a device may change hands, and its name is no secret.
  static func put(
    of device: DeviceIdentifier, at store: StoreIdentifier, environment: StoreEnvironment?,
    customer: CustomerIdentifier?, epoch: Int64, at now: Timestamp, in connection: borrowing Connection
  ) throws -> Int64? {
    if let old = try find(of: device, at: store, in: connection) {
      let earlier = try old.customer.map { try CustomerTable.current($0, in: connection) }
      let present = try customer.map { try CustomerTable.current($0, in: connection) }
      if earlier == nil || present == nil || earlier == present {
        if present != nil, old.customer != customer || old.environment != environment {
          try connection.execute(
            "UPDATE feeds SET environment = coalesce(?, environment), customer = ? WHERE number = ?",
            [
              .optional(environment, SQLValue.choice), .optional(customer, SQLValue.customer),
              .integer(old.number),
            ])
        }
        return old.number
      }
      try forget(old.number, in: connection)
    }
    return try SQLDialect.insertNumbered(
      """
      INSERT INTO feeds (device, store, environment, customer, epoch, sequence, used) VALUES (?, ?, ?, ?, ?, 0, ?)
      """,
      [
        .identifier(device), .identifier(store), .optional(environment, SQLValue.choice),
        .optional(customer, SQLValue.customer), .integer(epoch), .timestamp(now),
      ], in: connection)
  }

  /// What was told of every product, by their names.
  static func items(of feed: Int64, in connection: borrowing Connection) throws -> [FeedItem] {
    try connection.query(
      "SELECT * FROM feed_items WHERE feed = ? ORDER BY product LIMIT ?",
      [.integer(feed), .integer(maximumItems)]
    ).map(item)
  }

  /// What was told behind a place, in that order.
  static func items(
    of feed: Int64, after sequence: Int64, in connection: borrowing Connection
  ) throws -> [FeedItem] {
    try connection.query(
      """
      SELECT * FROM feed_items \(SQLDialect.index("feed_items_in_order")) WHERE feed = ? AND sequence > ?
      ORDER BY sequence LIMIT ?
      """, [.integer(feed), .integer(sequence), .integer(maximumItems)]
    ).map(item)
  }

  /// Puts each in the place of what was told of its product before; answers the sequence of the last.
  static func tell(
    _ items: [FeedItem], to feed: Feed, in connection: borrowing Connection
  ) throws -> Int64 {
    var sequence = feed.sequence
    for item in items {
      sequence += 1
      try connection.execute(
        """
        INSERT INTO feed_items
          (feed, product, kind, version, length, transaction_id, not_before, until, sequence)
        VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
        ON CONFLICT (feed, product) DO UPDATE SET kind = excluded.kind, version = excluded.version,
          length = excluded.length, transaction_id = excluded.transaction_id, not_before = excluded.not_before,
          until = excluded.until, sequence = excluded.sequence
        """,
        [
          .integer(feed.number), .identifier(item.product), .choice(item.kind),
          .optional(item.version, SQLValue.identifier), .optional(item.length) { .integer($0.rawValue) },
          .identifier(item.transaction), .optional(item.notBefore), .optional(item.until), .integer(sequence),
        ])
    }
    try connection.execute(
      "UPDATE feeds SET sequence = ? WHERE number = ?", [.integer(sequence), .integer(feed.number)])
    return sequence
  }

  static func noteUse(of feed: Int64, at now: Timestamp, in connection: borrowing Connection) throws {
    try connection.execute(
      "UPDATE feeds SET used = ? WHERE number = ?", [.timestamp(now), .integer(feed)])
  }

  /// Forgets feeds that were not asked since `cutoff`, `limit` at most; answers how many.
  static func forget(
    unusedSince cutoff: Timestamp, limit: Int, in connection: borrowing Connection
  ) throws -> Int {
    let feeds = try connection.query(
      "SELECT number FROM feeds WHERE used < ? ORDER BY used LIMIT ?", [.timestamp(cutoff), .integer(limit)]
    ).map { try $0.integer("number") }
    for feed in feeds {
      try forget(feed, in: connection)
    }
    return feeds.count
  }

  private static func feed(_ row: Row) throws -> Feed {
    Feed(
      number: try row.integer("number"), store: try row.identifier("store"),
      device: try row.identifier("device"),
      environment: try row.optionalText("environment").flatMap { StoreEnvironment(rawValue: $0) },
      customer: try row.optionalCustomer("customer"), epoch: try row.integer("epoch"),
      sequence: try row.integer("sequence"), used: try row.timestamp("used"))
  }

  private static func item(_ row: Row) throws -> FeedItem {
    FeedItem(
      product: try row.identifier("product"), kind: try row.choice("kind"),
      version: try row.optionalText("version").flatMap { ContentVersion($0) },
      length: try row.optionalByteCount("length"), transaction: try row.identifier("transaction_id"),
      sequence: try row.integer("sequence"),
      notBefore: try row.optionalTimestamp("not_before"), until: try row.optionalTimestamp("until"))
  }

  private static func forget(_ feed: Int64, in connection: borrowing Connection) throws {
    try connection.execute("DELETE FROM feed_items WHERE feed = ?", [.integer(feed)])
    try connection.execute("DELETE FROM feeds WHERE number = ?", [.integer(feed)])
  }
}
