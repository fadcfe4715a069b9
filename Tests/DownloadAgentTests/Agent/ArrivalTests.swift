import AgentTesting
import Commerce
import ContentPackage
import CoreTypes
import Database
import HTTPClient
import PackageTesting
import PullboxAPI
import PullboxTesting
import Testing

@testable import AgentRecords
@testable import DownloadAgent

/// The whole agent, and a feed that tells it of issues.
@Suite("What arrives by itself", .serialized, .timeLimit(.minutes(5)))
struct ArrivalTests {
  private let harness: AgentHarness
  private let server: FakeServer
  private let packages: [FixturePackage]

  init() throws {
    harness = try AgentHarness()
    packages = try (1...3).map {
      try FixturePackage.file(length: 50_000, product: "com.example.heroes.\($0)", seed: UInt64($0))
    }
    server = FakeServer(packages)
    server.change { $0.feed = [] }
  }

  private func entry(
    _ package: FixturePackage, _ kind: FeedEntry.Kind = .issueAvailable, month: Int = 1,
    notBefore: Timestamp? = nil
  ) throws -> FeedEntry {
    FeedEntry(
      kind: kind, product: package.manifest.product, publication: ProductIdentifier("com.example.heroes"),
      publicationDate: Timestamp(year: 2026, month: month, day: 1), version: package.manifest.version,
      length: package.manifest.length, transaction: try #require(TransactionIdentifier("2000000000000001")),
      notBefore: notBefore)
  }

  /// Runs an agent whose policy is `policy`, once it has read its feed for the first time.
  private func run(
    _ policy: ArrivalPolicy = .latest, at url: String,
    _ body: @escaping @Sendable (AgentService) async throws -> Void
  ) async throws {
    try await harness.run(server: url, configure: { $0.arrivals = policy }) { agent in
      try await agent.arrivals.hasRead()
      try await body(agent)
    }
  }

  private func ready(_ agent: AgentService, _ package: FixturePackage) async throws {
    _ = try await agent.event { event in
      guard case .issueReady(let item) = event else { return false }
      return item.product == package.manifest.product
    }
  }

  @Test(
    "every proof bears the configured name of the store: a server that knows several serves the agent by it")
  func storeName() async throws {
    server.change { $0.storeName = "sandbox" }
    try await server.open { [harness, server, packages] url in
      try await harness.run(
        server: url,
        configure: {
          $0.arrivals = .latest
          $0.storeName = .sandbox
        }
      ) { agent in
        try await agent.arrivals.hasRead()
        server.tell(try self.entry(packages[0]))
        #expect(try await agent.ended().state == .finished)
        let status = try await harness.get("/v1/status?ask=true", as: AgentStatus.self)
        #expect(status.server.refusal == nil)
      }
    }
  }

  @Test("an issue that is told of is fetched, placed and reported, and observers hear of it")
  func issue() async throws {
    try await server.open { [server, packages] url in
      try await run(at: url) { agent in
        async let ready: Void = self.ready(agent, packages[0])
        server.tell(try entry(packages[0]))
        try await ready
        _ = try await agent.ended()
        #expect(try harness.placed(packages[0]))
        #expect(server.state.current.reports.count == 1)
        let grant = try #require(server.state.current.grants.values.first)
        #expect(grant.transaction.description == "2000000000000001")
        #expect(try await harness.transactions().isEmpty)
      }
    }
  }

  @Test(
    "where the server goes back to a version, the one that is read is that, over a restart and until there is a newer one"
  )
  func rollback() async throws {
    let versions = try ["1.0", "1.1"].map {
      try FixturePackage.file(length: 50_000, product: "com.example.heroes.9", version: $0, seed: 9)
    }
    let product = versions[0].manifest.product
    let server = FakeServer([versions[0]])
    server.change { $0.feed = [] }
    try await server.open { [harness, server] url in
      @Sendable func current() async throws -> String? {
        try await harness.get("/v1/library", as: LibraryResponse.self).items.current(of: product)?.version
          .description
      }
      @Sendable func becomes(_ version: String, _ agent: AgentService) async throws {
        _ = try await agent.event { event in
          guard case .library(let event) = event else { return false }
          return event.change == .changed && event.item.version.description == version
        }
        #expect(try await current() == version)
      }
      try await run(at: url) { agent in
        async let first: Void = self.ready(agent, versions[0])
        server.tell(try entry(versions[0]))
        try await first
        server.change { $0.package = [versions[1]] }
        async let second = agent.event { event in
          guard case .correctionReady = event else { return false }
          return true
        }
        server.tell(try entry(versions[1], .correctionAvailable))
        _ = try await second
        #expect(try await current() == "1.1")
        async let back: Void = becomes("1.0", agent)
        server.tell(try entry(versions[0], .correctionAvailable))
        try await back
      }
      // So that there is something to read.
      server.tell(try entry(packages[0], .withdrawn))
      try await run(at: url) { agent in
        #expect(try await current() == "1.0")
        async let forth: Void = becomes("1.1", agent)
        server.tell(try entry(versions[1], .correctionAvailable))
        try await forth
      }
    }
  }

  @Test("what was there before the feed was read for the first time is left to the reader")
  func beginning() async throws {
    server.tell(try entry(packages[0]))
    try await server.open { [server, packages] url in
      try await run(.all, at: url) { agent in
        async let ready: Void = self.ready(agent, packages[1])
        server.tell(try entry(packages[1], month: 2))
        try await ready
        #expect(try await harness.downloads().map(\.product) == [packages[1].manifest.product])
      }
    }
  }

  @Test("what was told while the agent was away is fetched at its next start, by policy, and never again")
  func away() async throws {
    try await server.open { [server, packages] url in
      try await run(at: url) { _ in }
      for (index, package) in packages.enumerated() { server.tell(try entry(package, month: index + 1)) }
      try await run(at: url) { agent in
        // The newest of the publication alone.
        _ = try await agent.ended()
        #expect(try await harness.downloads().map(\.product) == [packages[2].manifest.product])
      }
      let asked = server.state.current.grants.count
      // So that there is something to read.
      server.tell(try entry(packages[1], .withdrawn))
      try await run(at: url) { _ in }
      #expect(server.state.current.grants.count == asked)
      #expect(try harness.placed(packages[2]) && !harness.placed(packages[1]))
    }
  }

  @Test("what a reader cancels stays away over a restart, and a later version comes")
  func cancelled() async throws {
    try await server.open { [harness, server, packages] url in
      let product = packages[0].manifest.product
      server.change { $0.unreadyManifests = [product] }
      try await run(at: url) { agent in
        server.tell(try self.entry(packages[0]))
        let begun = try await agent.firstDownload { $0.product == product }
        #expect(try await harness.ask("POST", "/v1/downloads/\(begun.id)/cancel", "{}").status == 200)
      }
      server.change { $0.unreadyManifests = [] }
      // Told again with another issue, whose end says that this was looked at.
      server.tell(try entry(packages[0]))
      server.tell(try entry(packages[1], month: 2))
      try await run(at: url) { agent in
        while try await harness.downloads().first(where: { $0.product == packages[1].manifest.product })?
          .state
          != .finished
        {
          try await Task.sleep(for: .milliseconds(10))
        }
        let downloads = try await harness.downloads().filter { $0.product == product }
        #expect(downloads.map(\.state) == [.cancelled])
      }
    }
  }

  @Test("by the policy ask nothing is fetched: it is listed, over restarts too, until it is asked for")
  func ask() async throws {
    try await server.open { [server, packages] url in
      try await run(.ask, at: url) { agent in
        server.tell(try entry(packages[0]))
        try await agent.arrivals.hasRead(2)
        let news = try await harness.get("/v1/news", as: NewsResponse.self).entries
        #expect(news.map(\.product) == [packages[0].manifest.product])
      }
      // So that there is something to read.
      server.tell(try entry(packages[1], .withdrawn))
      try await run(.ask, at: url) { agent in
        let news = try await harness.get("/v1/news", as: NewsResponse.self).entries
        #expect(news.map(\.product) == [packages[0].manifest.product])
        #expect(try await harness.downloads().isEmpty)
        try server.queuePurchase(packages[0].manifest.product.description)
        _ = try await agent.ended()
        #expect(try await harness.get("/v1/news", as: NewsResponse.self).entries.isEmpty)
      }
    }
  }

  @Test("what was removed here stays away over a restart, whatever is listed beside it")
  func removed() async throws {
    let villains = try #require(ProductIdentifier("com.example.villains"))
    try await server.open { [harness, server, packages] url in
      @Sendable func run(_ body: @escaping @Sendable (AgentService) async throws -> Void) async throws {
        try await harness.run(
          server: url,
          configure: {
            $0.arrivals = .all
            $0.arrivalsOf = ["\(villains)=ask"]
          }
        ) { agent in
          try await agent.arrivals.hasRead()
          try await body(agent)
        }
      }
      var listed = try self.entry(packages[2])
      listed.publication = villains
      let asked = listed
      try await run { agent in
        server.tell(asked)
        async let ready: Void = self.ready(agent, packages[0])
        server.tell(try self.entry(packages[0]))
        try await ready
        // Content that is removed before its download has ended is fetched again.
        #expect(try await agent.ended().state == .finished)
        #expect(try await harness.ask("DELETE", "/v1/library/\(packages[0].manifest.product)").status == 204)
      }
      let grants = server.state.current.grants.count
      // So that there is something to read.
      server.tell(FeedEntry(kind: .withdrawn, product: villains, transaction: asked.transaction))
      try await run { agent in
        async let ready: Void = self.ready(agent, packages[1])
        server.tell(try self.entry(packages[1], month: 2))
        try await ready
        let news = try await harness.get("/v1/news", as: NewsResponse.self).entries
        #expect(news.map(\.product) == [packages[2].manifest.product])
        #expect(try !harness.placed(packages[0]))
      }
      #expect(server.state.current.grants.count == grants + 1)
    }
  }

  @Test("a receipt that brings another feed leads the agent to it")
  func anotherFeed() async throws {
    try await server.open { [server, packages] url in
      try await run(at: url) { agent in
        try await server.asked("GET /v1/feed", times: 2)
        server.change { $0.feedToken = "another" }
        _ = try await agent.transactions.entitlements()
        // The question that is open is answered.
        server.tell(try entry(packages[0], .withdrawn))
        // A question is counted before its token is looked at.
        while server.state.current.feedTokens.count < 3 { try await Task.sleep(for: .milliseconds(5)) }
        #expect(server.state.current.feedTokens[2] == "another")
      }
    }
  }

  @Test(
    "what another device of the account buys is shown to the server, also while that does not answer at once")
  func boughtElsewhere() async throws {
    try await server.open { [server] url in
      try await run(at: url) { agent in
        func shown() -> Int { server.state.current.asked.count { $0 == "POST /v1/entitlements" } }
        let (before, receipts) = (shown(), server.state.current.receiptsGiven)
        server.change { $0.accountRevision = 7 }
        try await server.asked("POST /v1/entitlements", times: before + 1)
        #expect(server.state.current.receiptsGiven == receipts + 1)
        server.change {
          $0.refusals["POST /v1/entitlements"] = [Problem(.unavailable)]
          $0.accountRevision = 8
        }
        try await server.asked("POST /v1/entitlements", times: before + 2)
        server.change { $0.refusals["POST /v1/entitlements"] = nil }
        try await server.asked("POST /v1/entitlements", times: before + 3)
      }
    }
  }

  @Test("an agent that starts shows its receipt once, and again when the account buys something else")
  func shownOnce() async throws {
    server.change { $0.accountRevision = 7 }
    try await server.open { [server, packages] url in
      try await run(at: url) { agent in
        func shown() -> Int { server.state.current.asked.count { $0 == "POST /v1/entitlements" } }
        try await server.asked("GET /store/v1/transactions", times: 4)
        server.tell(try entry(packages[0], .withdrawn))
        try await agent.arrivals.hasRead(2)
        #expect(shown() == 1)
        server.change { $0.accountRevision = 8 }
        try await server.asked("POST /v1/entitlements", times: 2)
      }
    }
  }

  @Test("what the feed tells of the account's ownership is told to observers, whatever is fetched of it")
  func owned() async throws {
    try await server.open { [server, packages] url in
      try await run(.ask, at: url) { agent in
        async let told = agent.event { event in
          guard case .owned(let entry) = event else { return false }
          return entry.kind == FeedEntry.Kind.revoked.rawValue
        }
        server.tell(try entry(packages[0]))
        server.tell(try entry(packages[0], .revoked))
        guard case .owned(let entry) = try await told else { return }
        #expect(entry.product == packages[0].manifest.product)
        #expect(try await harness.downloads().isEmpty)
      }
    }
  }

  @Test("what the library holds says that it was refunded, also after a restart, and that it is owned again")
  func refunded() async throws {
    let product = packages[0].manifest.product
    try await server.open { [harness, server, packages] url in
      @Sendable func item() async throws -> LibraryItem? {
        try await harness.get("/v1/library", as: LibraryResponse.self).items.current(of: product)
      }
      @Sendable func changed(_ agent: AgentService, isOwned: Bool) async throws {
        _ = try await agent.event { event in
          guard case .library(let event) = event else { return false }
          return event.change == .changed && event.item.product == product && event.item.owned == isOwned
        }
      }
      try await run(at: url) { agent in
        async let ready: Void = self.ready(agent, packages[0])
        server.tell(try entry(packages[0]))
        try await ready
        #expect(try await item()?.owned == true)
        // What is not reported yet is asked for again, and this server grants whatever it is asked for.
        _ = try await agent.ended()
        async let lost: Void = changed(agent, isOwned: false)
        server.change { $0.isReleased = false }
        server.tell(try entry(packages[0], .revoked))
        try await lost
        let refunded = try #require(try await item())
        #expect(refunded.owned == false && refunded.because == "revoked")
        #expect(refunded.ownedAsOf != nil)
      }
      // So that there is something to read.
      server.tell(try entry(packages[1], .withdrawn))
      try await run(at: url) { agent in
        #expect(try await item()?.owned == false)
        async let back: Void = changed(agent, isOwned: true)
        server.tell(try entry(packages[0], .reinstated))
        try await back
        #expect(try await item()?.owned == true)
      }
    }
  }

  /// In place of once a day.
  private static let quickly = ArrivalFollower.Rhythm(
    wait: .zero, pace: .milliseconds(20), pauseAfterFailure: .milliseconds(20))

  @Test("an agent that fetches nothing by itself hears of a refund all the same, and of nothing to fetch")
  func refundedWithoutArrivals() async throws {
    let product = packages[0].manifest.product
    try await server.open { [harness, server, packages] url in
      try await run(at: url) { agent in
        async let ready: Void = self.ready(agent, packages[0])
        server.tell(try entry(packages[0]))
        try await ready
        _ = try await agent.ended()
      }
      let grants = server.state.current.grants.count
      server.change { $0.isReleased = false }
      server.tell(try entry(packages[0], .revoked))
      server.tell(try entry(packages[1], month: 2))
      try await harness.run(server: url, ownershipRhythm: Self.quickly) { _ in
        func item() async throws -> LibraryItem? {
          try await harness.get("/v1/library", as: LibraryResponse.self).items.current(of: product)
        }
        while try await item()?.owned != false { try await Task.sleep(for: .milliseconds(10)) }
        let refunded = try #require(try await item())
        #expect(refunded.because == "revoked")
        server.tell(try self.entry(packages[0], .reinstated))
        while try await item()?.owned != true { try await Task.sleep(for: .milliseconds(10)) }
        #expect(try await harness.downloads().map(\.product) == [product])
        #expect(try await harness.get("/v1/news", as: NewsResponse.self).entries.isEmpty)
      }
      #expect(server.state.current.grants.count == grants)
    }
  }

  @Test("an agent that fetches nothing by itself asks nothing of the feed while its library is empty")
  func emptyWithoutArrivals() async throws {
    try await server.open { [harness, server] url in
      try await harness.run(server: url, ownershipRhythm: Self.quickly) { _ in
        try await server.asked("GET /store/v1/transactions", times: 5)
        #expect(!server.state.current.asked.contains("GET /v1/feed"))
        #expect(!server.state.current.asked.contains("POST /v1/entitlements"))
      }
    }
  }

  @Test(
    "while nothing happens the feed is asked once a minute at most, and once a day where nothing is fetched")
  func pace() {
    #expect(ArrivalFollower.wait + ArrivalFollower.pace >= .seconds(60))
    #expect(ArrivalFollower.Rhythm.ofOwnership.pace == .seconds(86_400))
  }

  @Test("what has a slot is fetched no sooner than that")
  func slot() async throws {
    try await server.open { [server, packages] url in
      try await run(at: url) { agent in
        let slot = SystemWallClock().now() + .milliseconds(700)
        async let ready: Void = self.ready(agent, packages[0])
        server.tell(try entry(packages[0], notBefore: slot))
        try await ready
        let placed = try #require(try await harness.downloads().first)
        #expect(placed.state == .finished || placed.state == .active)
        #expect(SystemWallClock().now() >= slot)
      }
    }
  }

  @Test("a token that is refused is replaced by showing the receipt again")
  func token() async throws {
    server.change { $0.refusals["GET /v1/feed"] = [Problem(.unauthorized), Problem(.forbidden)] }
    try await server.open { [server, packages] url in
      server.change { $0.refusals["GET /v1/feed"] = [Problem(.unauthorized)] }
      try await harness.run(server: url, configure: { $0.arrivals = .latest }) { agent in
        try await server.asked("GET /v1/feed", times: 2)
        server.change { $0.refusals = [:] }
        try await agent.arrivals.hasRead()
        async let ready: Void = self.ready(agent, packages[0])
        server.tell(try entry(packages[0]))
        try await ready
      }
      #expect(server.state.current.asked.count { $0 == "POST /v1/entitlements" } >= 2)
    }
  }

  @Test("after a subscription's end a fresh receipt is shown, since the store may have renewed it")
  func end() async throws {
    try await server.open { [server] url in
      try await run(at: url) { _ in
        let given = server.state.current.receiptsGiven
        server.tell(
          FeedEntry(
            kind: .subscriptionEnded, product: try #require(ProductIdentifier("com.example.heroes.monthly")),
            transaction: try #require(TransactionIdentifier("1"))))
        try await server.asked("GET /store/v1/receipt", times: given + 1)
      }
    }
  }

  @Test("of a whole feed what is here is brought up to date, and what is not here is left to a restore")
  func whole() async throws {
    try await server.open { [server, packages] url in
      try await run(.all, at: url) { agent in
        server.tell(try entry(packages[0]))
        try await ready(agent, packages[0])
      }
      let asked = server.state.current.grants.count
      let gone = try entry(packages[1], month: 2)
      server.change {
        $0.isFeedNew = true
        $0.feed?.append(gone)
      }
      try await run(.all, at: url) { agent in
        async let ready: Void = self.ready(agent, packages[2])
        server.tell(try entry(packages[2], month: 3))
        try await ready
        let fetched = try await harness.downloads().map(\.product)
        #expect(!fetched.contains(packages[1].manifest.product))
      }
      #expect(server.state.current.grants.count == asked + 1)
    }
  }

  @Test("what could not be created as a download is tried again")
  func failingCreation() async throws {
    try await server.open { [server, packages] url in
      try await run(at: url) { agent in
        let database = await agent.arrivals.database.database
        try await database.write(locking: [.everything]) {
          try $0.execute(
            "CREATE TRIGGER full BEFORE INSERT ON downloads BEGIN SELECT RAISE(ABORT, 'no room'); END")
        }
        let answers = await agent.arrivals.answers
        server.tell(try entry(packages[0]))
        try await agent.arrivals.hasRead(answers + 1)
        #expect(try await harness.downloads().isEmpty)
        async let ready: Void = self.ready(agent, packages[0])
        try await database.write(locking: [.everything]) { try $0.execute("DROP TRIGGER full") }
        try await ready
      }
    }
  }
}

extension ArrivalFollower {
  /// Until so many answers of the feed have been taken.
  func hasRead(_ count: Int = 1) async throws {
    while answers < count { try await Task.sleep(for: .milliseconds(10)) }
  }
}

extension FakeServer {
  /// Until it was asked that so often.
  func asked(_ name: String, times: Int) async throws {
    while state.current.asked.count(where: { $0 == name }) < times {
      try await Task.sleep(for: .milliseconds(10))
    }
  }
}
