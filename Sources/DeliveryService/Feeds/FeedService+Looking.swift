import Commerce
import CoreTypes
import Database
import Synchronization
import SystemCalls

/// What a feed has to tell, by comparison, and where it is written down.
extension FeedService {
  /// What is asked of a feed.
  struct Question: Sendable {
    var feed: Name
    var cursor: Cursor?
  }

  /// What stands behind a cursor, and when there may be more though nothing happens.
  struct Look: Sendable {
    var page: Page
    var next: Timestamp?
  }

  /// One look at a feed: what there is to tell is written down, and what stands behind the cursor is answered. Nil where there is no
  /// such feed any more.
  func look(_ feed: Name, after cursor: Cursor?) async throws -> Look? {
    try await look([Question(feed: feed, cursor: cursor)])[0]
  }

  /// The same of several feeds, by one read, and one write where any has something to tell.
  func look(_ questions: [Question]) async throws -> [Look?] {
    let now = clock.now()
    let devices = try await countDevices()
    return try await catalog.current { catalog -> [Look?]? in
      let read = try await database.read { connection -> [Facts?]? in
        guard try catalog.isCurrent(in: connection) else { return nil }
        return try questions.map { question in
          // Whatever else waits for the processor has its turn between two, here and below.
          ProcessorTurn.pass()
          return try Facts(of: question, catalog: catalog, in: connection)
        }
      }
      guard let read else { return nil }
      var products = RelatedProducts(catalog, arranged: arranged.withLock { $0.take() })
      defer { arranged.withLock { $0 = products.arranged } }
      var looks: [Look?] = []
      var news: [(place: Int, finding: Finding)] = []
      for facts in read {
        ProcessorTurn.pass()
        guard let facts else {
          looks.append(nil)
          continue
        }
        let standings = FeedStandings(
          of: facts.transactions, record: facts.record, device: facts.feed.device, among: &products,
          rules: rules, pace: pace, devices: devices, now: now)
        let finding = Finding(
          of: facts, standings: standings, isUsed: now - facts.feed.used >= Self.day,
          room: FeedPlan.Room(limit: maximumItems) { catalog.date(of: $0, on: facts.feed.device) })
        if finding.isNews { news.append((looks.count, finding)) }
        looks.append(Look(page: facts.page, next: standings.next))
      }
      guard !news.isEmpty else { return looks }
      let findings = news.map(\.finding)
      let pages = try await database.write(locking: Array(Set(findings.flatMap(\.locks)))) { connection in
        try findings.map { finding in
          ProcessorTurn.pass()
          return try finding.tell(at: now, in: connection)
        }
      }
      for (page, place) in zip(pages, news.map(\.place)) {
        let next = looks[place]?.next
        looks[place] = page.map { Look(page: $0, next: next) }
      }
      return looks
    }
  }

  /// How many devices have a feed, about; zero where it is no matter.
  private func countDevices() async throws -> Int {
    guard pace.dependsOnDevices else { return 0 }
    let now = timer.now()
    if let counted = counted.withLock({ $0 }), now - counted.at < Self.countInterval {
      return counted.devices
    }
    let devices = try await database.read { try FeedTable.count(in: $0) }
    counted.withLock { $0 = (devices, now) }
    return devices
  }

  /// What is read of a feed in one go.
  fileprivate struct Facts: Sendable {
    var feed: FeedTable.Feed
    var cursor: Cursor?
    var transactions: [VerifiedTransaction] = []
    var record = EntitlementRecord.empty
    var told: ToldItems

    var page: Page { Page(of: told, in: feed, after: cursor) }

    /// Nil where there is no such feed.
    init?(
      of question: Question, catalog: CatalogSnapshot, in connection: borrowing Connection
    ) throws {
      guard let feed = try FeedTable.find(question.feed.number, in: connection), Name(feed) == question.feed
      else { return nil }
      cursor = question.cursor
      self.feed = feed
      told = try ToldItems(of: feed, in: connection)
      guard let customer = feed.customer else { return }
      transactions = try LedgerTable.transactions(of: customer, in: connection).filter {
        $0.store == feed.store && $0.environment == feed.environment
      }
      record = try EntitlementRecordTable.record(of: catalog.recorded(transactions), in: connection)
    }
  }
}

/// What a feed told of each product, as of one sequence.
private struct ToldItems: Sendable {
  private(set) var items: [ProductIdentifier: FeedItem]

  init(of feed: FeedTable.Feed, in connection: borrowing Connection) throws {
    items = Dictionary(
      try FeedTable.items(of: feed.number, in: connection).map { ($0.product, $0) }, uniquingKeysWith: { $1 })
  }

  /// What stands behind a place, in that order.
  func items(after sequence: Int64) -> [FeedItem] {
    items.values.filter { $0.sequence > sequence }.sorted { $0.sequence < $1.sequence }
  }

  mutating func take(_ told: [FeedItem], forgetting forgotten: [ProductIdentifier]) {
    for product in forgotten { items[product] = nil }
    for item in told { items[item.product] = item }
  }
}

/// What is to be written down of a feed as it was read.
private struct Finding: Sendable {
  private let feed: FeedTable.Feed
  private let cursor: FeedService.Cursor?
  private let told: ToldItems
  private let standings: FeedStandings
  private let isUsed: Bool
  private let room: FeedPlan.Room

  init(of facts: FeedService.Facts, standings: FeedStandings, isUsed: Bool, room: FeedPlan.Room) {
    (feed, cursor, told) = (facts.feed, facts.cursor, facts.told)
    (self.standings, self.isUsed, self.room) = (standings, isUsed, room)
  }

  var locks: [DatabaseLock] {
    [.feed(of: feed.device, at: feed.store)] + standings.unlocked.keys.map { .transaction($0) }
  }

  var isNews: Bool {
    let changes = FeedPlan.changes(told: told.items, standings: standings.products)
    return isUsed || !standings.unlocked.isEmpty
      || !room.fit(changes, told: told.items, standings: standings.products).isEmpty
  }

  /// Writes down what the feed tells by now, whatever another look has told meanwhile. Nil where there is no such feed any more.
  func tell(at now: Timestamp, in connection: borrowing Connection) throws -> FeedService.Page? {
    guard var feed = try FeedTable.find(feed.number, in: connection) else { return nil }
    for (transaction, issues) in standings.unlocked {
      try EntitlementRecordTable.noteUnlocked(issues, by: transaction, in: connection)
    }
    // Whatever is told takes the sequence on.
    var told = feed.sequence == self.feed.sequence ? told : try ToldItems(of: feed, in: connection)
    let acknowledged = cursor?.epoch == feed.epoch ? cursor?.sequence ?? .max : .max
    let fitting = room.fit(
      FeedPlan.changes(told: told.items, standings: standings.products, acknowledged: acknowledged),
      told: told.items, standings: standings.products)
    let new = try FeedTable.tell(fitting.told, forgetting: fitting.forgotten, to: feed, in: connection)
    told.take(new, forgetting: fitting.forgotten)
    feed.sequence = new.last?.sequence ?? feed.sequence
    if isUsed { try FeedTable.noteUse(of: feed.number, at: now, in: connection) }
    return FeedService.Page(of: told, in: feed, after: cursor)
  }
}

extension FeedService.Page {
  fileprivate init(of told: ToldItems, in feed: FeedTable.Feed, after cursor: FeedService.Cursor?) {
    let isKnown = cursor.map { $0.epoch == feed.epoch && $0.sequence <= feed.sequence } ?? false
    isWhole = !isKnown
    self.cursor = FeedService.Cursor(epoch: feed.epoch, sequence: feed.sequence)
    items = told.items(after: isKnown ? cursor?.sequence ?? 0 : 0)
  }
}
