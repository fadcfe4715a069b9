import AgentTesting
import Commerce
import CoreTypes
import Database
import Files
import HTTPClient
import PackageTesting
import PullboxAPI
import PullboxTesting
import ServiceAPI
import ServiceRuntime
import SystemCalls
import Testing

@testable import AgentRecords
@testable import DownloadAgent

/// The agent of a reader who has bought for years.
@Suite(.serialized, .timeLimit(.minutes(10))) struct HistoryTests {
  /// A few more than are kept.
  private static let ended = AgentDatabase.keptTransactions + 5
  private static let waiting = 1_000

  /// Transactions and downloads that an earlier process left, all waiting ones for an hour yet.
  private func fill(_ database: AgentDatabase) throws {
    let now = SystemWallClock().now()
    let rows = """
      WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < ?)
      """
    try database.database.writeBlocking(locking: [.everything]) { connection in
      try connection.execute(
        """
        INSERT INTO transactions (id, product, store_state, step, tries, ended_at)
        \(rows) SELECT printf('2%015d', n), printf('com.example.p%d', n), 'purchased',
          iif(n <= ?, 'finished', 'delivering'), 0, iif(n <= ?, ?, NULL) FROM numbers
        """,
        [
          .integer(Self.ended + Self.waiting), .integer(Self.ended), .integer(Self.ended), .timestamp(now),
        ])
      try connection.execute(
        """
        INSERT INTO downloads (id, transaction_id, product, phase, state, reason, failures, priority,
          bytes_verified, bytes_received, created_at, ended_at, not_before)
        \(rows) SELECT printf('%016x', n), printf('2%015d', n), printf('com.example.p%d', n),
          iif(n <= ?, 'report', 'grant'), iif(n <= ?, 'finished', 'waiting'),
          iif(n <= ?, 'placed', 'server-unavailable'), 0, 0, 0, 0, ?, iif(n <= ?, ?, NULL), ?
        FROM numbers
        """,
        [
          .integer(Self.ended + Self.waiting), .integer(Self.ended), .integer(Self.ended),
          .integer(Self.ended), .timestamp(now), .integer(Self.ended), .timestamp(now),
          .timestamp(now + .seconds(3600)),
        ])
    }
  }

  @Test("a long history is neither read nor written at the start, and no page of it takes long (D4)")
  func long() async throws {
    let harness = try AgentHarness()
    try FileSystem.createDirectories(harness.directory.path("state"), permissions: 0o700)
    do {
      let database = try AgentDatabase(path: harness.directory.path("state/agent.sqlite"))
      try fill(database)
      database.close()
    }
    // The identity that belongs to these records.
    _ = try DeviceIdentity.load(from: harness.directory.path("state"))
    let server = FakeServer()
    server.change { state in
      // The store lists what is not over, or it would be taken as gone.
      state.transactions = (Self.ended + 1...Self.ended + Self.waiting).compactMap { number in
        let text = "2" + String(repeating: "0", count: 15 - "\(number)".count) + "\(number)"
        guard let id = TransactionIdentifier(text), let product = ProductIdentifier("com.example.p\(number)")
        else {
          return nil
        }
        return StoreTransaction(
          id: id, originalId: id, product: product, quantity: 1, state: .purchased,
          purchaseDate: Timestamp(millisecondsSinceEpoch: 1_795_249_800_000))
      }
    }
    let clock = ContinuousClock()
    let begin = clock.now
    try await server.open { url in
      try await harness.run(server: url, retry: RetryPolicy()) { agent in
        // In release it is half a second; docs/benchmarks.md has the figures.
        #expect(clock.now - begin < .seconds(30))
        #expect(await agent.downloads.runner.entries.count == Self.waiting)
        #expect(await agent.transactions.unfinishedCount == Self.waiting)
        // 1,000 that are over are kept (docs/agent.md), and pages go through all of them.
        var pages = 0
        var seen: Set<DownloadIdentifier> = []
        var next: String? = ""
        while let after = next {
          let paged = clock.now
          let page = try await harness.get(
            "/v1/downloads?limit=200" + (after.isEmpty ? "" : "&after=\(after)"), as: DownloadsResponse.self)
          #expect(clock.now - paged < .seconds(10))
          seen.formUnion(page.downloads.map(\.id))
          next = page.next?.description
          pages += 1
        }
        #expect(seen.count == Self.waiting + AgentDatabase.keptDownloads && pages >= 10)
        let transactions = try await harness.get(
          "/v1/transactions?limit=1000", as: AgentTransactionsResponse.self)
        #expect(transactions.transactions.count == 1000 && transactions.next != nil)
      }
    }
    // The latest 10,000 of the transactions that are over are kept (docs/agent.md), and all that are not.
    let database = try AgentDatabase(path: harness.directory.path("state/agent.sqlite"))
    let before = try database.database.readBlocking {
      try $0.first("SELECT count(*) AS n FROM transactions")?.integer("n")
    }
    #expect(AgentDatabase.keptTransactions == 10_000)
    #expect(before == Int64(AgentDatabase.keptTransactions + Self.waiting))
    database.close()
  }

  @Test(
    "DELETE /v1/downloads forgets what is over, but not what an unfinished transaction needs; content stays")
  func clearing() async throws {
    let harness = try AgentHarness()
    let packages = try (1...2).map {
      try FixturePackage.file(length: 1000, product: "com.example.p\($0)", seed: UInt64($0))
    }
    let server = FakeServer(packages)
    @Sendable func clear() async throws -> Int {
      let answer = try await harness.ask("DELETE", "/v1/downloads")
      #expect(answer.status == 200)
      return try APIJSON.decode(DownloadsClearResponse.self, from: answer.body).removed
    }
    try await server.open { url in
      try await harness.run(server: url) { agent in
        try server.queuePurchase("com.example.p1", transaction: "2000000000000001")
        try await agent.finished(["2000000000000001"])
        server.change { $0.isStoreUp = false }
        try server.queuePurchase("com.example.p2", transaction: "2000000000000002")
        _ = try await agent.transaction("2000000000000002", isAt: "waiting-for-server")
        #expect(try await clear() == 1)
        #expect(try await harness.downloads().map(\.product.description) == ["com.example.p2"])
        #expect(try await harness.transactions().map(\.id.description) == ["2000000000000002"])
        #expect(try await clear() == 0)
        server.change { $0.isStoreUp = true }
        try await agent.finished(["2000000000000002"])
        #expect(try await clear() == 1)
        let (downloads, transactions) = (try await harness.downloads(), try await harness.transactions())
        #expect(downloads.isEmpty && transactions.isEmpty)
        let items = try await harness.get("/v1/library", as: LibraryResponse.self).items
        #expect(items.map(\.state) == [.present, .present])
      }
      // A transaction that is forgotten is not begun anew.
      try await harness.run(server: url) { agent in
        server.change { $0.asked = [] }
        while !server.state.current.asked.contains("GET /store/v1/transactions") { await Task.yield() }
        let (downloads, transactions) = (try await harness.downloads(), try await harness.transactions())
        #expect(downloads.isEmpty && transactions.isEmpty)
      }
    }
    for package in packages { #expect(try harness.placed(package) && server.timesSent(package) == [2]) }
  }
}
