import AgentTesting
import Commerce
import ContentLibrary
import ContentPackage
import CoreTypes
import Database
import HTTPClient
import PackageTesting
import PullboxAPI
import PullboxAPIClient
import PullboxTesting
import ServiceAPI
import ServiceRuntime
import Testing

@testable import AgentRecords
@testable import DownloadAgent

/// The transactions of a whole agent, with stores and servers as they are.
@Suite(.serialized, .timeLimit(.minutes(10))) struct TransactionQueueTests {
  private func identifiers(_ count: Int) -> [String] { (0..<count).map { "\(2_000_000_000_000_000 + $0)" } }

  /// Two pages of a queue of which a page has a hundred, as 1,300 are of a store's.
  @Test("of 130 unfinished transactions none is called finished before it is delivered, and all are (K5)")
  func longQueue() async throws {
    let package = try FixturePackage.file(length: 1000)
    let server = FakeServer([package])
    let identifiers = identifiers(130)
    for identifier in identifiers { try server.queuePurchase(transaction: identifier) }
    let harness = try AgentHarness()
    try await server.open { url in
      // Each answer has the whole queue: asked for as often as by other tests, it would be most of the work.
      let interval = ConfigurationDuration(.milliseconds(500))
      try await harness.run(
        server: url, maximumDownloads: 8, queuePage: 100, configure: { $0.pollInterval = interval }
      ) { agent in
        try await agent.finished(identifiers)
        let first = try await agent.transactions.statuses(.over, limit: 100)
        let rest = try await agent.transactions.statuses(.over, after: first.last?.id)
        #expect((first + rest).map(\.id.description) == identifiers)
        #expect((first + rest).allSatisfy { $0.reason == nil && $0.downloads.count == 1 })
        #expect(try await agent.transactions.statuses(.unfinished).isEmpty)
      }
    }
    #expect(server.state.current.transactions.allSatisfy { $0.finishedDate != nil })
    #expect(server.state.current.reports.count == 130)
  }

  @Test("a queue of which a page is missing lets no transaction disappear (K5)") func incompleteAnswers()
    async throws
  {
    let server = FakeServer()
    for identifier in identifiers(1001) { try server.queuePurchase(transaction: identifier) }
    try await server.open { url in
      let store = try self.store(url)
      let whole = try await store.unfinishedTransactions()
      #expect(whole.isComplete && whole.transactions.count == 1001)
      // A store that gives less than its contract says, or the same page for ever.
      server.change { $0.refusals["GET /store/v1/transactions"] = [Problem(.unavailable)] }
      await #expect(throws: APICallError.self) { _ = try await store.unfinishedTransactions() }
    }
  }

  @Test("the queue is asked for what this device bought and what belongs to none") func ownQueue()
    async throws
  {
    let server = FakeServer()
    try await server.open { url in
      let store = try self.store(url)
      _ = try await store.unfinishedTransactions()
      #expect(server.state.current.queueDevice == "device")
      server.change { $0.queueDevice = nil }
      try await store.probe(timeout: .seconds(10))
      #expect(server.state.current.queueDevice == "device")
    }
  }

  @Test(
    "what another device of the account bought is neither delivered nor finished; what this one bought and what belongs to none is"
  )
  func otherDevices() async throws {
    let package = try FixturePackage.file(length: 1000)
    let server = FakeServer([package])
    let harness = try AgentHarness()
    try await server.open { url in
      try await harness.run(server: url) { agent in
        let own = try await harness.get("/v1/status", as: AgentStatus.self).device
        try server.queuePurchase(transaction: "2000000000000001", device: DeviceIdentifier("another-device"))
        try server.queuePurchase(transaction: "2000000000000002", device: own)
        try server.queuePurchase(transaction: "2000000000000003")
        try await agent.finished(["2000000000000002", "2000000000000003"])
        // The answers that told of these two told of all that is in the queue.
        #expect(
          try await agent.transactions.statuses(.over).map(\.id.description).sorted() == [
            "2000000000000002", "2000000000000003",
          ])
        #expect(try await agent.transactions.statuses(.unfinished).isEmpty)
      }
    }
    let left = server.state.current.transactions.filter { $0.finishedDate == nil }
    #expect(left.map(\.id.description) == ["2000000000000001"])
    #expect(server.state.current.reports.count == 2)
  }

  /// Runs an agent that asks by the clock once in an hour at a store with such tags, and returns how the store stands then.
  private func withTags(
    _ tags: FakeServer.QueueTags, _ body: @escaping @Sendable (AgentService, FakeServer) async throws -> Void
  ) async throws -> FakeServer.State {
    let server = FakeServer([try FixturePackage.file(length: 1000)])
    server.change { $0.queueTags = tags }
    let harness = try AgentHarness()
    try await server.open { url in
      try await harness.run(
        server: url, configure: { $0.pollInterval = ConfigurationDuration(.seconds(3600)) }
      ) { agent in try await body(agent, server) }
    }
    return server.state.current
  }

  @Test("a store that tells of changes is asked at a change and not by the clock") func changes() async throws
  {
    _ = try await withTags(.awaited) { agent, server in
      while server.state.current.queueWaits.isEmpty { await Task.yield() }
      try server.queuePurchase(transaction: "2000000000000001")
      try await agent.finished(["2000000000000001"])
    }
  }

  @Test("a store that gives tags and does not wait is asked by the clock, and as often for a change")
  func hastyStore() async throws {
    let package = try FixturePackage.file(length: 1000)
    let server = FakeServer([package])
    server.change { $0.queueTags = .told }
    let harness = try AgentHarness()
    try await server.open { url in
      try await harness.run(server: url) { agent in
        while server.state.current.queueWaits.count < 5 { await Task.yield() }
        try server.queuePurchase(transaction: "2000000000000001")
        try await agent.finished(["2000000000000001"])
      }
    }
    let state = server.state.current
    let asked = state.asked.count { $0 == "GET /store/v1/transactions" }
    #expect(state.queueWaits.count * 2 <= asked + 1)
  }

  @Test("a store whose every answer has a new tag is asked once a second at most, and delivers")
  func restlessStore() async throws {
    let state = try await withTags(.everNew) { agent, server in
      while server.state.current.queueWaits.count < 3 { await Task.yield() }
      try server.queuePurchase(transaction: "2000000000000001")
      try await agent.finished(["2000000000000001"])
    }
    // The first wait has a tag of the first answer, and so was sent after that was asked for: however long
    // each is on its way, there are two whole intervals between.
    let first = try #require(state.arrivals["GET /store/v1/transactions"]?.first)
    #expect(state.queueWaits[2] - first >= .seconds(2))
  }

  @Test("a question that waits at the store is asked anew over another way")
  func otherWay() async throws {
    _ = try await withTags(.awaited) { agent, server in
      while server.state.current.queueWaits.isEmpty { await Task.yield() }
      await agent.transactions.store.network.tryAgain()
      while server.state.current.queueWaits.count < 2 { await Task.yield() }
    }
  }

  private func store(_ url: String) throws -> StoreQueueClient {
    StoreQueueClient(
      api: APIClient(baseURL: url, client: try HTTPClient()),
      monitor: EndpointHealth(url: url, clock: SystemWallClock()),
      device: try #require(DeviceIdentifier("device")))
  }

  @Test("the questions of one turn share a receipt; a new purchase, or a refusal, brings another (R12)")
  func receipts() async throws {
    let server = FakeServer()
    try await server.open { url in
      let store = try self.store(url)
      try await withThrowingTaskGroup(of: Void.self) { group in
        for _ in 0..<20 { group.addTask { _ = try await store.receipt() } }
        try await group.waitForAll()
      }
      #expect(server.state.current.receiptsGiven == 1)
      let calls = Locked(0)
      let value = try await store.withReceipt { _ async throws(APICallError) -> Int in
        let call = calls.withLock { count in
          count += 1
          return count
        }
        guard call == 2 else { throw .problem(Problem(.purchaseRequired)) }
        return call
      }
      #expect(value == 2 && server.state.current.receiptsGiven == 2)
      await store.noteNewPurchase()
      _ = try await store.receipt()
      #expect(server.state.current.receiptsGiven == 3)
    }
  }

  @Test("one hundred purchases that wait at the start need one receipt for a turn, not one each (R12)")
  func oneReceipt() async throws {
    let package = try FixturePackage.file(length: 1000)
    let server = FakeServer([package])
    let identifiers = identifiers(100)
    for identifier in identifiers { try server.queuePurchase(transaction: identifier) }
    let harness = try AgentHarness()
    try await server.open { url in
      try await harness.run(server: url) { agent in try await agent.finished(identifiers) }
    }
    #expect(server.state.current.receiptsGiven <= 5)
  }

  @Test("a queue's answer from before a transaction ended brings no further receipt (R12)")
  func endedMeanwhile() async throws {
    let package = try FixturePackage.file(length: 1000)
    let server = FakeServer([package])
    server.change { $0.isReleased = false }
    let harness = try AgentHarness()
    let quick = Backoff(initial: .milliseconds(20), factor: 1, cap: .milliseconds(20), jitter: 0)
    try await server.open { url in
      try server.queuePurchase()
      try await harness.run(server: url, retry: RetryPolicy(backoff: quick)) { agent in
        _ = try await agent.transaction("planning", "content-not-released")
        let queue = "GET /store/v1/transactions"
        func nextQuestion() async {
          let before = server.state.current.arrivals[queue]?.count ?? 0
          await agent.transactions.pollSoon()
          while server.state.current.arrivals[queue]?.count ?? 0 == before { await Task.yield() }
        }
        server.change { $0.isQueueHeld = true }
        await nextQuestion()
        server.change { $0.isReleased = true }
        try await agent.finished(["2000000000000001"])
        _ = try await agent.transactions.entitlements()
        let receipts = server.state.current.receiptsGiven
        server.change { $0.isQueueHeld = false }
        // The answer that was held has been read before the queue is asked again.
        await nextQuestion()
        _ = try await agent.transactions.entitlements()
        #expect(server.state.current.receiptsGiven == receipts)
      }
    }
  }

  @Test("a wish to have the queue asked that comes while it is asked is granted after its answer")
  func wishMeanwhile() async throws {
    let server = FakeServer()
    server.change { $0.isQueueHeld = true }
    let harness = try AgentHarness()
    try await server.open { url in
      try await harness.run(
        server: url, configure: { $0.pollInterval = ConfigurationDuration(.seconds(3600)) }
      ) { agent in
        let queue = "GET /store/v1/transactions"
        while server.state.current.arrivals[queue] == nil { await Task.yield() }
        await agent.transactions.pollSoon()
        server.change { $0.isQueueHeld = false }
        while server.state.current.arrivals[queue]?.count == 1 { await Task.yield() }
      }
    }
  }

  @Test("a renewal that opens nothing is finished when the server says so, and is over here then")
  func emptyRenewal() async throws {
    let package = try FixturePackage.file(length: 1000)
    let server = FakeServer([package])
    server.change { $0.settlesEmpty = true }
    let harness = try AgentHarness()
    try await server.open { url in
      try server.queuePurchase()
      try server.queuePurchase("com.example.renewal", transaction: "2000000000000002")
      try await harness.run(server: url) { agent in
        try await agent.finished(["2000000000000001", "2000000000000002"])
        #expect(await agent.transactions.unfinishedCount == 0)
      }
    }
    #expect(server.state.current.reports.count == 1, "nothing was delivered for the renewal")
  }

  @Test("a store that takes a request and never answers holds up neither server nor downloads (R13)")
  func deafStore() async throws {
    let package = try FixturePackage.file(length: 1000)
    let server = FakeServer([package])
    server.change { $0.isReleased = false }
    let harness = try AgentHarness()
    try await server.open { url in
      try server.queuePurchase()
      try await harness.run(server: url) { agent in
        _ = try await agent.transaction("planning", "content-not-released")
        server.change { $0.isStoreDeaf = true }
        let queue = "GET /store/v1/transactions"
        let before = server.state.current.arrivals[queue]?.count ?? 0
        while server.state.current.arrivals[queue]?.count ?? 0 == before { await Task.yield() }
        server.change { $0.isReleased = true }
        try await agent.finished(["2000000000000001"])
      }
    }
  }

  @Test("what leaves the store's queue gets the server asked, and not before its Retry-After (K2)")
  func retryAfter() async throws {
    let package = try FixturePackage.file(length: 1000)
    let server = FakeServer([package])
    server.change { $0.isStoreUp = false }
    let harness = try AgentHarness()
    let quick = Backoff(initial: .milliseconds(20), factor: 1, cap: .milliseconds(20), jitter: 0)
    try await server.open { url in
      try await harness.run(server: url, retry: RetryPolicy(backoff: quick)) { agent in
        try server.queuePurchase()
        _ = try await agent.transaction("waiting-for-server", "store-not-answered")
        server.change { $0.pages["GET /v1/grants"] = [FakeServer.Page(status: 503, retryAfter: 1)] }
        // It leaves the store's queue: a reason to ask the server, though not before its time.
        _ = try await agent.transaction("waiting-for-server", "network-not-open")
        server.change { $0.transactions = [] }
        let before = server.state.current.arrivals["GET /v1/grants"]?.count ?? 0
        _ = try await agent.transaction("waiting-for-server", "store-not-answered")
        let arrivals = try #require(server.state.current.arrivals["GET /v1/grants"])
        #expect(arrivals.count >= before + 1)
        #expect(arrivals[before] - arrivals[before - 1] >= .seconds(1))
      }
    }
  }

  @Test(
    "a purchase through the agent is delivered, and gets the store's queue not read before its Retry-After (D11)"
  )
  func purchaseDuringRetryAfter() async throws {
    let package = try FixturePackage.file(length: 1000)
    let server = FakeServer([package])
    server.change {
      $0.refusals["GET /store/v1/transactions"] = [Problem(.unavailable, retryAfterSeconds: 3600)]
    }
    let harness = try AgentHarness()
    try await server.open { url in
      try await harness.run(server: url, retry: RetryPolicy()) { agent in
        while try await agent.transactions.database.storeNotBefore() == nil { await Task.yield() }
        server.change { $0.refusals = [:] }
        let answer = try await harness.ask(
          "POST", "/v1/purchases", #"{"product":"\#(FixturePackage.product)"}"#)
        #expect(answer.status == 201)
        try await agent.finished(["2000000000000001"])
        let rest = await agent.transactions.pollNotBefore - SystemMonotonicClock().now()
        #expect(rest > .seconds(3500))
      }
    }
    #expect(server.state.current.asked.count { $0 == "GET /store/v1/transactions" } == 1)
  }

  @Test("what the store asks for outlives the agent: a restart polls no earlier (K2)") func keptRetryAfter()
    async throws
  {
    let server = FakeServer()
    server.change {
      $0.refusals["GET /store/v1/transactions"] = [Problem(.unavailable, retryAfterSeconds: 3600)]
    }
    let harness = try AgentHarness()
    let patient = RetryPolicy()
    try await server.open { url in
      try await harness.run(server: url, retry: patient) { agent in
        while try await agent.transactions.database.storeNotBefore() == nil { await Task.yield() }
      }
      #expect(server.state.current.asked == ["GET /store/v1/transactions"])
      server.change { $0.refusals = [:] }
      try await harness.run(server: url, retry: patient) { agent in
        let rest = await agent.transactions.pollNotBefore - SystemMonotonicClock().now()
        #expect(rest > .seconds(3500) && rest <= .seconds(4600))
      }
      #expect(server.state.current.asked == ["GET /store/v1/transactions"])
    }
  }

  @Test("transactions that are over are not read at the start, and a reopened one is planned again")
  func reopened()
    async throws
  {
    let package = try FixturePackage.file(length: 1000)
    let server = FakeServer([package])
    let harness = try AgentHarness()
    try await server.open { url in
      try server.queuePurchase()
      try await harness.run(server: url) { agent in
        try await agent.finished(["2000000000000001"])
        #expect(await agent.transactions.unfinishedCount == 0)
      }
      try await harness.run(server: url) { agent in
        #expect(await agent.transactions.unfinishedCount == 0)
        #expect(try await agent.transactions.statuses(.over).count == 1)
        let observer = try #require(agent.hub.subscribe())
        defer { agent.hub.unsubscribe(observer) }
        server.change { state in
          // What is told is how it stands by then: without an answer it goes no further.
          state.refusals["POST /v1/entitlements"] = [Problem(.unavailable)]
          state.transactions[0].finishedDate = nil
          for name in state.grants.keys { state.grants[name]?.name = .granted }
        }
        _ = try await observer.first { event in
          guard case .transaction(let status) = event else { return false }
          return status.step == "planning"
        }
      }
    }
  }

  /// Hides the table of downloads, so that each read of it fails.
  private func hideDownloads(_ isHidden: Bool, in agent: AgentService) async throws {
    let names = isHidden ? ("downloads", "hidden") : ("hidden", "downloads")
    try await agent.transactions.database.database.write(locking: [.everything]) { connection in
      _ = try connection.execute("ALTER TABLE \(names.0) RENAME TO \(names.1)")
    }
  }

  @Test("a transaction whose downloads cannot be read is asked about again, and keeps its step")
  func unreadableDownloads() async throws {
    let server = FakeServer([try FixturePackage.file(length: 1000)])
    server.change { $0.isStoreUp = false }
    let harness = try AgentHarness()
    let identifier = try #require(TransactionIdentifier("2000000000000001"))
    try await server.open { url in
      try server.queuePurchase()
      try await harness.run(server: url) { agent in
        _ = try await agent.transaction("waiting-for-server", "store-not-answered")
      }
      try await harness.run(server: url, runs: false) { agent in
        let transactions = agent.transactions
        func reason() async -> StatusReason? { await transactions.runner[identifier]?.record.machine.reason }
        try await hideDownloads(true, in: agent)
        await transactions.process(.retryDue, of: identifier)
        await transactions.askServer()
        #expect(await reason() == .storageFailure)
        #expect(await transactions.runner.timeToNextRetry != nil)
        await transactions.processDownloads(of: identifier)
        #expect(await transactions.runner[identifier]?.record.machine.step == .waitingForServer)
        try await hideDownloads(false, in: agent)
        await transactions.process(.retryDue, of: identifier)
        await transactions.askServer()
        #expect(await reason() == .storeNotAnswered)
      }
      server.change { $0.isStoreUp = true }
      try await harness.run(server: url) { agent in try await agent.finished(["2000000000000001"]) }
    }
  }

  @Test("downloads whose change could not be read are read again, without another change")
  func unreadChange() async throws {
    let server = FakeServer([try FixturePackage.file(length: 1000)])
    let harness = try AgentHarness()
    let identifier = try #require(TransactionIdentifier("2000000000000001"))
    try await server.open { url in
      server.change { $0.refusals["POST /v1/grants"] = [Problem(.deviceLimit)] }
      try server.queuePurchase()
      try await harness.run(server: url) { agent in
        _ = try await agent.transaction("delivering", "download-failed")
      }
      try await harness.run(server: url, runs: false) { agent in
        let transactions = agent.transactions
        try await hideDownloads(true, in: agent)
        await transactions.processDownloads(of: identifier)
        #expect(await transactions.runner[identifier]?.record.machine.step == .delivering)
        #expect(await transactions.runner.timeToNextRetry != nil)
        try await hideDownloads(false, in: agent)
      }
    }
  }

  @Test(
    "a product that was released between plan and grants is delivered too, and the transaction ends")
  func releasedMeanwhile() async throws {
    let packages = try [1, 2].map {
      try FixturePackage.file(length: 50_000, product: "com.example.heroes.\($0)", seed: UInt64($0))
    }
    let server = FakeServer(packages)
    server.change { $0.unplanned = [packages[1].manifest.product] }
    let harness = try AgentHarness()
    try await server.open { url in
      try server.queuePurchase("com.example.heroes")
      try await harness.run(server: url) { agent in try await agent.finished(["2000000000000001"]) }
    }
    for package in packages { #expect(try harness.placed(package)) }
    #expect(server.state.current.asked.count { $0 == "POST /v1/grants" } == 2)
  }

  @Test(
    "a product that was delivered here and is owed by a server that lost its report, or all grants, is reported once more, not fetched, and the transaction ends",
    arguments: [false, true])
  func lostReport(losesGrants: Bool) async throws {
    let packages = try [1, 2].map {
      try FixturePackage.file(length: 50_000, product: "com.example.heroes.\($0)", seed: UInt64($0))
    }
    let server = FakeServer(packages)
    let harness = try AgentHarness()
    try await server.open { url in
      try server.queuePurchase("com.example.heroes")
      server.change { $0.isStoreUp = false }
      try await harness.run(server: url) { agent in
        _ = try await agent.transaction("waiting-for-server", "store-not-answered")
      }
      func fetches() -> Int { server.state.current.asked.count { $0.contains("/v1/content/") } }
      let fetched = fetches()
      // An earlier state of the server was put back: that of the second one was not there yet.
      server.change { state in
        if losesGrants { state.grants = [:] }
        for name in state.grants.keys where state.grants[name]?.product == packages[1].manifest.product {
          state.grants[name]?.name = .granted
        }
        state.isStoreUp = true
      }
      try await harness.run(server: url) { agent in try await agent.finished(["2000000000000001"]) }
      #expect(fetches() == fetched && fetched > 0)
      #expect(server.state.current.grants.values.allSatisfy { $0.name != .granted })
    }
  }
}
