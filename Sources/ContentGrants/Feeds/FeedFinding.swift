import Commerce
import ContentCatalog
import CoreTypes
import Database
import DeliveryModel
import DeliveryRecords
import Entitlements

/// The facts about a feed that one read of the database finds.
struct FeedFacts: Sendable {
  /// The feed as the read found it, with the sequence that a later write compares.
  var feed: FeedTable.Feed
  /// The device's place, as its request says it; nil where it names none.
  var cursor: FeedService.Cursor?
  /// The customer's transactions at the feed's store and in its environment; empty for a feed without a
  /// customer.
  var transactions: [VerifiedTransaction] = []
  /// The issues that these transactions unlocked and that are written down; empty for a feed without a
  /// customer.
  var record = EntitlementRecord.empty
  /// The revoked transactions by which the device was granted each product.
  var granted: [ProductIdentifier: Set<TransactionIdentifier>] = [:]
  /// The latest item of each product that the feed has told.
  var told: ToldItems

  /// The page behind the cursor, without what a comparison may find to tell.
  var page: FeedService.Page { FeedService.Page(of: told, in: feed, after: cursor) }

  /// Returns the facts about the feed of each question, in that order; nil where there is no such feed. Throws ``DatabaseError``.
  ///
  /// The feeds are read, then all that their customers bought, then all that it unlocked and was granted: over a network in one round trip each, however
  /// many feeds there are, where the caller has prefetched the first (``look(at:in:)``).
  ///
  /// - Parameter pass: called before each feed.
  static func all(
    of questions: [FeedService.Question], catalog: CatalogSnapshot, in connection: borrowing Connection,
    passing pass: () -> Void
  ) throws -> [FeedFacts?] {
    var all: [FeedFacts?] = []
    for question in questions {
      pass()
      all.append(try FeedFacts(of: question, in: connection))
    }
    connection.prefetch { connection in
      for facts in all { _ = try facts?.readTransactions(in: connection) }
    }
    all = try all.map { facts in
      guard var facts else { return nil }
      facts.transactions = try facts.readTransactions(in: connection)
      return facts
    }
    connection.prefetch { connection in
      for facts in all {
        _ = try facts?.readRecord(catalog, in: connection)
        _ = try facts?.readGranted(in: connection)
      }
    }
    return try all.map { facts in
      guard var facts else { return nil }
      facts.record = try facts.readRecord(catalog, in: connection)
      facts.granted = try facts.readGranted(in: connection)
      return facts
    }
  }

  /// Makes the first reads of ``all(of:catalog:in:passing:)``, for a connection that prefetches.
  static func look(at questions: [FeedService.Question], in connection: borrowing Connection) throws {
    for question in questions {
      _ = try FeedTable.find(question.feed.number, in: connection)
      _ = try FeedTable.items(of: question.feed.number, in: connection)
    }
  }

  /// The feed and what it has told; nil where there is no such feed. Throws ``DatabaseError``.
  private init?(of question: FeedService.Question, in connection: borrowing Connection) throws {
    guard let feed = try FeedTable.find(question.feed.number, in: connection),
      FeedService.Name(feed) == question.feed
    else { return nil }
    cursor = question.cursor
    self.feed = feed
    told = try ToldItems(of: feed, in: connection)
  }

  private func readTransactions(in connection: borrowing Connection) throws -> [VerifiedTransaction] {
    guard let customer = feed.customer else { return [] }
    return try LedgerTable.transactions(of: customer, in: connection).filter {
      $0.store == feed.store && $0.environment == feed.environment
    }
  }

  private func readRecord(
    _ catalog: CatalogSnapshot, in connection: borrowing Connection
  ) throws -> EntitlementRecord {
    guard feed.customer != nil else { return .empty }
    return try EntitlementRecordTable.record(of: catalog.recorded(transactions), in: connection)
  }

  private func readGranted(
    in connection: borrowing Connection
  ) throws -> [ProductIdentifier: Set<TransactionIdentifier>] {
    let revoked = transactions.filter { $0.revokedDate != nil }.map(\.key)
    let grants = try GrantTable.states(on: feed.device, paidBy: revoked, in: connection)
    return grants.keys.reduce(into: [:]) { $0[$1.product, default: []].insert($1.transaction) }
  }
}

/// The items that a feed has told, one for each product, as of one sequence.
package struct ToldItems: Sendable {
  /// The latest item of each product.
  private(set) var items: [ProductIdentifier: FeedItem]

  /// Reads the items of the feed. Throws ``DatabaseError``.
  init(of feed: FeedTable.Feed, in connection: borrowing Connection) throws {
    items = Dictionary(
      try FeedTable.items(of: feed.number, in: connection).map { ($0.product, $0) }, uniquingKeysWith: { $1 })
  }

  /// Returns the items behind a place, in the order of their sequence.
  func items(after sequence: Int64) -> [FeedItem] {
    items.values.filter { $0.sequence > sequence }.sorted { $0.sequence < $1.sequence }
  }

  /// Takes over a change that was written to the table, so that the items need not be read again.
  ///
  /// - Parameters:
  ///   - told: the new items, each of which replaces the one of its product.
  ///   - forgotten: products that the feed tells nothing of any more.
  mutating func take(_ told: [FeedItem], forgetting forgotten: [ProductIdentifier]) {
    for product in forgotten { items[product] = nil }
    for item in told { items[item.product] = item }
  }
}

/// The changes of a feed that are to be written down, found by comparison with the feed as it was read.
struct FeedFinding: Sendable {
  private let feed: FeedTable.Feed
  private let cursor: FeedService.Cursor?
  private let told: ToldItems
  private let granted: [ProductIdentifier: Set<TransactionIdentifier>]
  private let standings: FeedStandings
  /// Whether the time of this use is to be written down, which happens once a day.
  private let isUsed: Bool
  /// The bound on the products that the feed may tell of.
  private let room: FeedPlan.Room

  /// Creates the finding of one comparison.
  ///
  /// - Parameters:
  ///   - facts: the feed as one read found it.
  ///   - standings: how the customer's products stand for the device now.
  ///   - isUsed: whether the use of the feed is written down with the finding.
  ///   - room: the bound on the products that the feed may tell of.
  init(of facts: FeedFacts, standings: FeedStandings, isUsed: Bool, room: FeedPlan.Room) {
    (feed, cursor, told, granted) = (facts.feed, facts.cursor, facts.told, facts.granted)
    (self.standings, self.isUsed, self.room) = (standings, isUsed, room)
  }

  /// The lock of the write that tells the finding: the feed's.
  var lock: DatabaseLock { .feed(of: feed.device, at: feed.store) }

  /// Whether there is anything to write down: items, issues that a run unlocked, or the time of this use.
  /// Without news the page of the facts is the answer, and no write is made.
  var isNews: Bool {
    let changes = FeedPlan.changes(told: told.items, standings: standings.products, granted: granted)
    return isUsed || !standings.unlocked.isEmpty
      || !room.fit(changes, told: told.items, standings: standings.products).isEmpty
  }

  /// The outcome of an attempt to tell a feed's changes.
  enum Telling: Sendable {
    /// The items stand in the table, and this page is behind the device's cursor.
    case told(FeedService.Page)
    /// There is no such feed any more.
    case forgotten
    /// The feed has told something else since it was read: what it stands for now is to be judged with that.
    case overtaken
  }

  /// Writes down what the feed tells by now, unless another look has told something since it was read. A change of the catalog since then
  /// is no matter: it wakes the feed, which is told of it next. Runs in a write that holds ``lock``. A second
  /// run of the same body writes the same. Throws ``DatabaseError``.
  func tell(at now: Timestamp, in connection: borrowing Connection) throws -> Telling {
    guard var feed = try FeedTable.find(feed.number, in: connection) else { return .forgotten }
    // Whatever is told takes the sequence on.
    guard feed.sequence == self.feed.sequence else { return .overtaken }
    let acknowledged = cursor?.epoch == feed.epoch ? cursor?.sequence ?? .max : .max
    let fitting = room.fit(
      FeedPlan.changes(
        told: told.items, standings: standings.products, granted: granted, acknowledged: acknowledged),
      told: told.items, standings: standings.products)
    guard
      let new = try FeedTable.tell(fitting.told, forgetting: fitting.forgotten, to: feed, in: connection)
    else { return .overtaken }
    for (transaction, issues) in standings.unlocked {
      try EntitlementRecordTable.noteUnlocked(issues, by: transaction, in: connection)
    }
    var told = told
    told.take(new, forgetting: fitting.forgotten)
    feed.sequence = new.last?.sequence ?? feed.sequence
    if isUsed { try FeedTable.noteUse(of: feed.number, at: now, in: connection) }
    return .told(FeedService.Page(of: told, in: feed, after: cursor))
  }
}

extension FeedService.Page {
  /// A device that comes from before the server was restored may know more than the backup: it is told all of what stood in that, and
  /// comes again for what was told since, which is news to it as to the others.
  init(of told: ToldItems, in feed: FeedTable.Feed, after cursor: FeedService.Cursor?) {
    if let cursor, feed.hadEpoch(cursor.epoch) {
      let place = feed.sequenceAtRestore
      isWhole = true
      self.cursor = FeedService.Cursor(epoch: feed.epoch, sequence: place)
      items = told.items(after: 0).filter { $0.sequence <= place }
      return
    }
    let isKnown = cursor.map { $0.epoch == feed.epoch && $0.sequence <= feed.sequence } ?? false
    isWhole = !isKnown
    self.cursor = FeedService.Cursor(epoch: feed.epoch, sequence: feed.sequence)
    items = told.items(after: isKnown ? cursor?.sequence ?? 0 : 0)
  }
}
