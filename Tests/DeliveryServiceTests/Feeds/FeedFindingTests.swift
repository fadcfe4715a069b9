import Commerce
import CoreTypes
import Database
import DeliveryModel
import PullboxAPI
import PullboxTesting
import ServiceAPI
import Testing

@testable import ContentCatalog
@testable import ContentGrants
@testable import DeliveryRecords
@testable import DeliveryService

@Suite("What one look has found beside what another tells")
struct FeedFindingTests {
  private let shop = FeedTests()

  /// The finding that a look would write down of the only feed, as things stand now.
  private func find(after cursor: FeedService.Cursor?, on server: ServerHarness) async throws -> FeedFinding {
    let service = server.server.components.feeds
    let catalog = try await service.catalog.current()
    let facts = try await service.database.read { connection -> FeedFacts? in
      guard let feed = try FeedTable.find(1, in: connection) else { return nil }
      let question = FeedService.Question(feed: FeedService.Name(feed), cursor: cursor)
      return try FeedFacts.all(of: [question], catalog: catalog, in: connection) {}[0]
    }
    let found = try #require(facts)
    var products = RelatedProducts(catalog, arranged: nil)
    let standings = FeedStandings(
      of: found.transactions, record: found.record, device: found.feed.device, among: &products,
      rules: service.rules, pace: service.pace, devices: 0, now: server.clock.now())
    return FeedFinding(
      of: found, standings: standings, isUsed: false, room: FeedPlan.Room(limit: 100) { _ in nil })
  }

  private func tell(_ finding: FeedFinding, on server: ServerHarness) async throws -> FeedFinding.Telling {
    let now = server.clock.now()
    return try await server.server.components.feeds.database.write(locking: [finding.lock]) {
      try finding.tell(at: now, in: $0)
    }
  }

  @Test("what was found before another look told more is not told over it")
  func overtaken() async throws {
    try await ServerHarness.run { server in
      let feed = try await shop.show([try await shop.subscribe(on: server)], to: server)
      let earlier = try await find(after: nil, on: server)
      #expect(earlier.isNews)
      try await shop.publish(0, version: "1.1", dated: server.clock.now() - .seconds(86_400), on: server)
      let answer = try await shop.read(feed, of: server)
      #expect(shop.kinds(answer) == ["issue-available 0"])
      #expect(answer.entries.first?.version?.description == "1.1")
      guard case .overtaken = try await tell(earlier, on: server) else {
        Issue.record("an earlier version was told over a later one")
        return
      }
      let next = try await shop.read(feed, after: answer.cursor, of: server)
      #expect(next.entries.isEmpty && next.cursor == answer.cursor)
    }
  }

  @Test("what was found and nothing came between is told once, and the page is what stands behind the cursor")
  func told() async throws {
    try await ServerHarness.run { server in
      let feed = try await shop.show([try await shop.subscribe(on: server)], to: server)
      let first = try await find(after: nil, on: server)
      guard case .told(let page) = try await tell(first, on: server) else {
        Issue.record("nothing was told")
        return
      }
      #expect(page.isWhole && page.items.map(\.kind) == [.issueAvailable])
      #expect(page.items.map(\.sequence) == [page.cursor.sequence])
      // The same finding, by a look that was as early.
      guard case .overtaken = try await tell(first, on: server) else {
        Issue.record("it was told twice")
        return
      }
      let again = try await find(after: page.cursor, on: server)
      #expect(!again.isNews)
      let answer = try await shop.read(feed, of: server)
      #expect(answer.cursor == page.cursor.description && shop.kinds(answer) == ["issue-available 0"])
    }
  }

  @Test("a catalog that changes all the time puts nothing off: the change is told behind what was found")
  func catalogChanges() async throws {
    try await ServerHarness.run { server in
      let feed = try await shop.show([try await shop.subscribe(on: server)], to: server)
      let first = try await find(after: nil, on: server)
      try await shop.publish(1, dated: server.clock.now(), on: server)
      guard case .told(let page) = try await tell(first, on: server) else {
        Issue.record("nothing was told")
        return
      }
      #expect(page.items.map(\.product.description) == [shop.issue(0)])
      let answer = try await shop.read(feed, after: page.cursor.description, of: server)
      #expect(!answer.isWhole && shop.kinds(answer) == ["issue-available 1"])
    }
  }
}
