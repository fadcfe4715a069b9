package import Commerce
package import CoreTypes
package import Database
package import DeliveryModel
import PullboxAPI

/// The feeds of devices, and what each was told last of every product. A product has one row, so that a feed takes no more
/// room than what its customer owns, and no cursor is ever too old for it. Its functions run in the caller's
/// transaction, and those that write in one that locks the device's feeds at the store, but for
/// ``forget(unusedSince:limit:in:)``. They throw ``DatabaseError`` and ``ColumnTypeMismatch``.
package enum FeedTable {
  /// Products of one feed that are told of, at most.
  package static let maximumItems = 5000
  /// Feeds of one customer, and names of that customer, that are looked at for one page.
  package static let pageLength = 100

  /// A feed, as its row has it.
  package struct Feed: Sendable {
    /// The row, which tokens name and which is never given to another feed.
    package var number: Int64
    /// The store of the proof that the feed was made by.
    package var store: StoreIdentifier
    /// The device that reads the feed, and no other one.
    package var device: DeviceIdentifier
    /// The environment of the proof that the customer showed last; nil where there is no customer.
    package var environment: StoreEnvironment?
    /// The customer by the name that the ledger used when the feed was made; nil for the feed of proofs without a purchase.
    package var customer: CustomerIdentifier?
    /// Says which feed a cursor is of: another one after this one was forgotten.
    package var epoch: Int64
    /// The sequence number of the item that was told last; 0 before there was one.
    package var sequence: Int64
    /// When it was last asked, by days.
    package var used: Timestamp

    /// The last sequence of before the server was restored; 0 where it was not.
    package var sequenceAtRestore: Int64 { sequence / lifeLength * lifeLength }

    /// Whether it is an epoch of this feed from before a restore, or from a life of it that the restore has undone.
    package func hadEpoch(_ other: Int64) -> Bool {
      sequenceAtRestore > 0 && other != epoch && other & ~lifeBits == epoch & ~lifeBits
    }
  }

  /// The key of the table, whose next number may be asked for ahead of a feed.
  package static let key = NumberedKey(of: "feeds", column: "number")
  private static let columns = "number, device, store, environment, customer, epoch, sequence, used"
  private static let itemColumns =
    "product, kind, version, length, transaction_id, not_before, until, sequence"
  // Texts that are put together once.
  private static let selection = """
    SELECT \(columns) FROM feeds WHERE device = ? AND store = ? AND customer IN (
      SELECT ? UNION ALL SELECT alias FROM customer_aliases WHERE customer = ?)
    ORDER BY number LIMIT 1
    """
  private static let selectionWithoutCustomer =
    "SELECT \(columns) FROM feeds WHERE device = ? AND store = ? AND customer IS NULL"
  private static let selectionByNumber = "SELECT \(columns) FROM feeds WHERE number = ?"
  private static let itemSelection =
    "SELECT \(itemColumns) FROM feed_items WHERE feed = ? ORDER BY product LIMIT ?"

  /// Returns the number of feeds of all devices.
  package static func count(in connection: borrowing Connection) throws -> Int {
    Int(try connection.first("SELECT count(*) AS count FROM feeds")?.integer("count") ?? 0)
  }

  /// The customer's feed on the device; without a customer that of proofs without a purchase. Of customers who have become one
  /// the feed that was made first is that one's.
  package static func find(
    of device: DeviceIdentifier, at store: StoreIdentifier, customer: CustomerIdentifier?,
    in connection: borrowing Connection
  ) throws -> Feed? {
    guard let customer else {
      return try connection.first(
        selectionWithoutCustomer, [.identifier(device), .identifier(store)]
      ).map(feed)
    }
    return try connection.first(
      selection, [.identifier(device), .identifier(store), .customer(customer), .customer(customer)]
    ).map(feed)
  }

  /// Returns the feeds of every customer on the device at every store, also at stores that are not configured any more; 100
  /// at most.
  package static func all(of device: DeviceIdentifier, in connection: borrowing Connection) throws -> [Feed] {
    try connection.query(
      "SELECT \(columns) FROM feeds WHERE device = ? ORDER BY store, number LIMIT 100", [.identifier(device)]
    ).map(feed)
  }

  /// Returns the feed of that number; nil where it was forgotten.
  package static func find(_ number: Int64, in connection: borrowing Connection) throws -> Feed? {
    try connection.first(selectionByNumber, [.integer(number)]).map(feed)
  }

  /// Where the feeds of a customer are to be read on: behind that feed of the name.
  package struct CustomerPlace: Hashable, Sendable {
    var name: CustomerIdentifier
    var feed: Int64
  }

  /// Some of the feeds of a customer's devices.
  package struct CustomerPage: Hashable, Sendable {
    /// Numbers of feeds, at most ``FeedTable/pageLength``.
    package var feeds: [Int64]
    /// Where the next page begins; nil behind the last feed.
    package var next: CustomerPlace?
  }

  /// The feeds of a customer's devices, of all names of the customer, a page of them: a store's `deviceLimit` may allow any
  /// number. A page may be short, or empty, and not the last one.
  ///
  /// - Parameters:
  ///   - place: where the page before ended; nil for the first.
  ///   - limit: feeds and names that are looked at.
  package static func feeds(
    of customer: CustomerIdentifier, after place: CustomerPlace? = nil, limit: Int = pageLength,
    in connection: borrowing Connection
  ) throws -> CustomerPage {
    var place = place ?? CustomerPlace(name: customer, feed: 0)
    var page = CustomerPage(feeds: [])
    var room = limit
    while room > 0 {
      let found = try connection.query(
        """
        SELECT number FROM feeds \(SQLDialect.index("feeds_by_customer"))
        WHERE customer = ? AND number > ? ORDER BY number LIMIT ?
        """, [.customer(place.name), .integer(place.feed), .integer(room)]
      ).map { try $0.integer("number") }
      page.feeds += found
      if found.count == room, let last = found.last {
        page.next = CustomerPlace(name: place.name, feed: last)
        return page
      }
      guard let alias = try alias(of: customer, after: place.name, in: connection) else { return page }
      place = CustomerPlace(name: alias, feed: 0)
      room -= found.count + 1
    }
    page.next = place
    return page
  }

  /// The next of the names that the customer had before, in their order; `name` is one of these, or the customer's own.
  private static func alias(
    of customer: CustomerIdentifier, after name: CustomerIdentifier, in connection: borrowing Connection
  ) throws -> CustomerIdentifier? {
    try connection.first(
      "SELECT alias FROM customer_aliases WHERE customer = ? AND alias > ? ORDER BY alias LIMIT 1",
      [.customer(customer), name == customer ? .blob([]) : .customer(name)]
    )?.customer("alias")
  }

  /// The feed of a proof.
  package struct Placed: Sendable {
    /// The feed, as it is after the write.
    package var feed: Feed
    /// The feed of proofs without a purchase, where it ended by this.
    package var ended: Int64?

    package init(feed: Feed, ended: Int64? = nil) {
      self.feed = feed
      self.ended = ended
    }
  }

  /// The customer's feed on the device, made where there is none. Whose a feed is never changes: a device's name is no secret, so a feed
  /// must not be had, nor ended, with another customer's proof. The feed of proofs without a purchase tells nothing, and ends
  /// where a customer is known: who reads it shows the proof again, and goes on at the same place. The epoch
  /// counts for a feed that is made, unless it goes on in the place of one without a customer.
  ///
  /// - Parameters:
  ///   - environment: the environment of the latest purchase; nil without one.
  ///   - customer: by any of its names; nil for a proof without a purchase.
  package static func put(
    of device: DeviceIdentifier, at store: StoreIdentifier, environment: StoreEnvironment?,
    customer: CustomerIdentifier?, epoch: Int64, at now: Timestamp, in connection: borrowing Connection
  ) throws -> Placed? {
    let customer = try customer.map { try CustomerTable.current($0, in: connection) }
    let empty = try find(of: device, at: store, customer: nil, in: connection)
    guard customer != nil || empty == nil else { return empty.map { Placed(feed: $0) } }
    if let empty { _ = try forget(empty.number, in: connection) }
    if let customer, var feed = try find(of: device, at: store, customer: customer, in: connection) {
      if let environment, feed.environment != environment {
        try connection.execute(
          "UPDATE feeds SET environment = ? WHERE number = ?",
          [.choice(environment), .integer(feed.number)])
        feed.environment = environment
      }
      return Placed(feed: feed, ended: empty?.number)
    }
    let epoch = empty?.epoch ?? epoch
    let number = try connection.insert(
      """
      INSERT INTO feeds (number, device, store, environment, customer, epoch, sequence, used)
      VALUES (?, ?, ?, ?, ?, ?, 0, ?)
      """,
      [
        .identifier(device), .identifier(store), .optional(environment, SQLValue.choice),
        .optional(customer, SQLValue.customer), .integer(epoch), .timestamp(now),
      ], numberedBy: key)
    return Placed(
      feed: Feed(
        number: number, store: store, device: device, environment: environment, customer: customer,
        epoch: epoch, sequence: 0, used: now), ended: empty?.number)
  }

  /// Returns the items that a feed has told, in the order of the products' names.
  package static func items(of feed: Int64, in connection: borrowing Connection) throws -> [FeedItem] {
    try connection.query(
      itemSelection, [.integer(feed), .integer(maximumItems)]
    ).map(item)
  }

  /// Puts each in the place of what was told of its product before, and forgets what was told of `forgotten`; answers them with their
  /// places in the feed, which are behind all that it has. Nil where the feed is gone, or has told something since it
  /// was read: then nothing is told.
  package static func tell(
    _ items: [FeedItem], forgetting forgotten: [ProductIdentifier] = [], to feed: Feed,
    in connection: borrowing Connection
  ) throws -> [FeedItem]? {
    // First: the row is this write's from then on, so that no other one removes the feed beside it.
    let isCurrent = try connection.execute(
      "UPDATE feeds SET sequence = ? WHERE number = ? AND sequence = ?",
      [
        .integer(feed.sequence + Int64(items.count)), .integer(feed.number), .integer(feed.sequence),
      ])
    guard isCurrent == 1 else { return nil }
    for product in forgotten {
      try connection.execute(
        "DELETE FROM feed_items WHERE feed = ? AND product = ?",
        [.integer(feed.number), .identifier(product)])
    }
    var (told, sequence) = (items, feed.sequence)
    for place in told.indices {
      sequence += 1
      told[place].sequence = sequence
      let item = told[place]
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
    return told
  }

  /// Writes down that the feed was asked, which keeps it from being forgotten.
  package static func noteUse(of feed: Int64, at now: Timestamp, in connection: borrowing Connection) throws {
    try connection.execute(
      "UPDATE feeds SET used = ? WHERE number = ?", [.timestamp(now), .integer(feed)])
  }

  /// Bits of an epoch that are others after each restore of the server.
  private static let lifeBits: Int64 = 1 << 20 - 1
  /// Sequences between the beginnings of two lives, more than are ever told in one.
  private static let lifeLength: Int64 = 1 << 32

  /// Returns a random number that tells the feeds of a restored server from the feeds before the restore, for
  /// ``noteRestore(_:in:)``.
  package static func newLife() -> Int64 { Int64.random(in: 1...lifeBits) }

  /// The server was restored: devices may have been told what the backup does not know. Each feed begins a new life, whose cursors
  /// none of before is taken for, though the sequences of before are given to other items.
  package static func noteRestore(_ life: Int64, in connection: borrowing Connection) throws {
    try connection.execute(
      """
      UPDATE feeds SET epoch = (epoch | ?) - (epoch & ?), sequence = (sequence / ? + 1) * ?
      """, [.integer(life), .integer(life), .integer(lifeLength), .integer(lifeLength)])
  }

  /// Forgets feeds that were not asked since `cutoff`, `limit` at most; answers how many it found. Needs no lock: one that is
  /// asked at that moment stays.
  package static func forget(
    unusedSince cutoff: Timestamp, limit: Int, in connection: borrowing Connection
  ) throws -> Int {
    let feeds = try connection.query(
      "SELECT number FROM feeds WHERE used < ? ORDER BY used LIMIT ?", [.timestamp(cutoff), .integer(limit)]
    ).map { try $0.integer("number") }
    for feed in feeds {
      _ = try forget(feed, unusedSince: cutoff, in: connection)
    }
    return feeds.count
  }

  /// Reads the columns of ``columns``.
  private static func feed(_ row: Row) throws -> Feed {
    Feed(
      number: try row.integer("number"), store: try row.identifier("store"),
      device: try row.identifier("device"),
      environment: try row.optionalText("environment").flatMap { StoreEnvironment(rawValue: $0) },
      customer: try row.optionalCustomer("customer"), epoch: try row.integer("epoch"),
      sequence: try row.integer("sequence"), used: try row.timestamp("used"))
  }

  /// Reads the columns of ``itemColumns``.
  private static func item(_ row: Row) throws -> FeedItem {
    FeedItem(
      product: try row.identifier("product"), kind: try row.choice("kind"),
      version: try row.optionalText("version").flatMap { ContentVersion($0) },
      length: try row.optionalByteCount("length"), transaction: try row.identifier("transaction_id"),
      sequence: try row.integer("sequence"),
      notBefore: try row.optionalTimestamp("not_before"), until: try row.optionalTimestamp("until"))
  }

  /// Removes a feed with its items, unless it was asked since `cutoff`; whether it did. The feed's row goes first: a write
  /// that tells it something has that row, and is waited for.
  private static func forget(
    _ feed: Int64, unusedSince cutoff: Timestamp = Timestamp(millisecondsSinceEpoch: .max),
    in connection: borrowing Connection
  ) throws -> Bool {
    let isRemoved = try connection.execute(
      "DELETE FROM feeds WHERE number = ? AND used < ?", [.integer(feed), .timestamp(cutoff)])
    guard isRemoved == 1 else { return false }
    try connection.execute("DELETE FROM feed_items WHERE feed = ?", [.integer(feed)])
    return true
  }
}
