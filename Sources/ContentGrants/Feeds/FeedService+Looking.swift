import Commerce
import ContentCatalog
import CoreTypes
import Database
import DeliveryModel
import DeliveryRecords
import Synchronization
import SystemCalls

/// The looks at feeds: each finds by comparison what a feed has to tell, and writes it down.
extension FeedService {
  /// A question to a feed: what it has behind a cursor.
  struct Question: Sendable {
    /// The feed with the customer's tag: a feed that has another customer by now counts as forgotten.
    var feed: Name
    /// The place behind which the page begins; nil asks for everything.
    var cursor: Cursor?
  }

  /// The page behind a cursor, and the time from which there may be more though nothing happens.
  struct Look: Sendable {
    /// The page with everything that this look has told.
    var page: Page
    /// When a period ends or an issue's date comes; nil where only an event can change what the feed tells.
    var next: Timestamp?
  }

  /// One look at a feed: what there is to tell is written down, and what stands behind the cursor is answered. Nil where there is no
  /// such feed any more. Throws ``DatabaseError``.
  func look(_ feed: Name, after cursor: Cursor?) async throws -> Look? {
    try await look([Question(feed: feed, cursor: cursor)])[0]
  }

  /// The same of several feeds, by one read, and one write where any has something to tell.
  ///
  /// The answers are in the order of the questions, with nil for a feed that is gone. The read and the
  /// comparison rest on one revision of the catalog, and are repeated where it changed meanwhile. A feed that
  /// another look has told something since the read is looked at again by itself. Throws ``DatabaseError``.
  func look(_ questions: [Question]) async throws -> [Look?] {
    let now = clock.now()
    let devices = try await countDevices()
    // Of many, whatever else waits for the processor has its turn between two; not while they are written, which others wait for.
    let passes = questions.count > 1
    return try await catalog.current { catalog -> [Look?]? in
      let read = try await database.read { connection -> [FeedFacts?]? in
        connection.prefetch { connection in
          _ = try catalog.isCurrent(in: connection)
          try FeedFacts.look(at: questions, in: connection)
        }
        guard try catalog.isCurrent(in: connection) else { return nil }
        return try FeedFacts.all(of: questions, catalog: catalog, in: connection) {
          if passes { ProcessorTurn.pass() }
        }
      }
      guard let read else { return nil }
      var products = RelatedProducts(catalog, arranged: arranged.locked(\.self))
      var looks: [Look?] = []
      var news: [(place: Int, finding: FeedFinding)] = []
      for facts in read {
        if passes { ProcessorTurn.pass() }
        guard let facts else {
          looks.append(nil)
          continue
        }
        let standings = FeedStandings(
          of: facts.transactions, record: facts.record, device: facts.feed.device, among: &products,
          rules: rules, pace: pace, devices: devices, now: now)
        let finding = FeedFinding(
          of: facts, standings: standings, isUsed: now - facts.feed.used >= Self.day,
          room: FeedPlan.Room(limit: maximumItems) { catalog.date(of: $0, on: facts.feed.device) })
        if finding.isNews { news.append((looks.count, finding)) }
        looks.append(Look(page: facts.page, next: standings.next))
      }
      let gained = products.arranged
      arranged.locked { $0 = gained.kept(beside: $0) }
      guard !news.isEmpty else { return looks }
      let findings = news.map(\.finding)
      let tellings = try await database.write(locking: findings.map(\.lock)) { connection in
        try findings.map { try $0.tell(at: now, in: connection) }
      }
      for (telling, place) in zip(tellings, news.map(\.place)) {
        switch telling {
        case .told(let page): looks[place]?.page = page
        case .forgotten: looks[place] = nil
        // Another look knew more, or less: this one begins anew.
        case .overtaken: looks[place] = try await look([questions[place]])[0]
        }
      }
      return looks
    }
  }

  /// How many devices have a feed, about; zero where it is no matter. The count may be ``countInterval`` old.
  private func countDevices() async throws -> Int {
    guard pace.dependsOnDevices else { return 0 }
    let now = timer.now()
    if let counted = counted.locked({ $0 }), now - counted.at < Self.countInterval {
      return counted.devices
    }
    let devices = try await database.read { try FeedTable.count(in: $0) }
    counted.locked { $0 = (devices, now) }
    return devices
  }
}
