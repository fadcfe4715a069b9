import Commerce
import CoreTypes
import Database
import Synchronization

/// What a feed has to tell, by comparison, and where it is written down.
extension FeedService {
  /// One look at a feed: what there is to tell is written down, and what stands behind the cursor is answered, with the time
  /// when there may be more though nothing happens. Nil where there is no such feed any more.
  func look(_ name: Name, after cursor: Cursor?) async throws -> (page: Page, next: Timestamp?)? {
    let number = name.number
    let now = clock.now()
    let devices = try await countDevices()
    return try await catalog.current { catalog -> (page: Page, next: Timestamp?)?? in
      let read = try await database.read { connection -> Facts?? in
        guard try catalog.isCurrent(in: connection) else { return .none }
        return .some(try Facts(of: name, after: cursor, catalog: catalog, in: connection))
      }
      guard let read else { return .none }
      guard let facts = read else { return .some(nil) }
      let standings = FeedStandings(
        of: facts.transactions, record: facts.record, device: facts.feed.device, catalog: catalog,
        rules: rules, pace: pace, devices: devices, now: now)
      let told = Dictionary(facts.told.map { ($0.product, $0) }, uniquingKeysWith: { $1 })
      let isUsed = now - facts.feed.used >= Self.day
      let isOfFeed = cursor?.epoch == facts.feed.epoch
      let acknowledged = isOfFeed ? cursor?.sequence ?? .max : .max
      let room = FeedPlan.Room(limit: maximumItems) { catalog.date(of: $0, on: facts.feed.device) }
      if room.fit(
        FeedPlan.changes(told: told, standings: standings.products), told: told,
        standings: standings.products
      ).isEmpty, standings.unlocked.isEmpty, !isUsed {
        return .some((page: facts.page, next: standings.next))
      }
      let locks: [DatabaseLock] =
        [.feed(of: facts.feed.device, at: facts.feed.store)]
        + standings.unlocked.keys.map { .transaction($0) }
      let page = try await database.write(locking: locks) { connection -> Page? in
        guard var feed = try FeedTable.find(number, in: connection) else { return nil }
        for (transaction, issues) in standings.unlocked {
          try EntitlementRecordTable.noteUnlocked(issues, by: transaction, in: connection)
        }
        let told = Dictionary(
          try FeedTable.items(of: number, in: connection).map { ($0.product, $0) }, uniquingKeysWith: { $1 })
        let fitting = room.fit(
          FeedPlan.changes(told: told, standings: standings.products, acknowledged: acknowledged),
          told: told, standings: standings.products)
        feed.sequence = try FeedTable.tell(
          fitting.told, forgetting: fitting.forgotten, to: feed, in: connection)
        if isUsed { try FeedTable.noteUse(of: number, at: now, in: connection) }
        return try Page(of: feed, after: cursor, in: connection)
      }
      return .some(page.map { (page: $0, next: standings.next) })
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
  private struct Facts: Sendable {
    var feed: FeedTable.Feed
    var transactions: [VerifiedTransaction] = []
    var record = EntitlementRecord.empty
    var told: [FeedItem]
    var page: Page

    /// Nil where there is no such feed.
    init?(
      of name: Name, after cursor: Cursor?, catalog: CatalogSnapshot, in connection: borrowing Connection
    ) throws {
      guard let feed = try FeedTable.find(name.number, in: connection), Name(feed) == name else { return nil }
      self.feed = feed
      told = try FeedTable.items(of: feed.number, in: connection)
      page = try Page(of: feed, after: cursor, in: connection)
      guard let customer = feed.customer else { return }
      transactions = try LedgerTable.transactions(of: customer, in: connection).filter {
        $0.store == feed.store && $0.environment == feed.environment
      }
      record = try EntitlementRecordTable.record(of: catalog.recorded(transactions), in: connection)
    }
  }
}

extension FeedService.Page {
  fileprivate init(
    of feed: FeedTable.Feed, after cursor: FeedService.Cursor?, in connection: borrowing Connection
  ) throws {
    let isKnown = cursor.map { $0.epoch == feed.epoch && $0.sequence <= feed.sequence } ?? false
    isWhole = !isKnown
    self.cursor = FeedService.Cursor(epoch: feed.epoch, sequence: feed.sequence)
    let sequence = isKnown ? cursor?.sequence ?? 0 : 0
    items =
      sequence == feed.sequence
      ? [] : try FeedTable.items(of: feed.number, after: sequence, in: connection)
  }
}
