import AgentTesting
import Commerce
import CoreTypes
import HTTPClient
import PackageTesting
import PullboxAPI
import PullboxTesting
import ServiceAPI
import Testing

@testable import AgentRecords
@testable import DownloadAgent

@Suite("A status that is asked for", .timeLimit(.minutes(2)))
struct AskedStatusTests {
  private func status(_ harness: AgentHarness) async throws -> AgentStatus {
    try await harness.get("/v1/status?ask=true", as: AgentStatus.self)
  }

  @Test("it says what was asked, and when; both services answer")
  func well() async throws {
    let harness = try AgentHarness()
    let server = FakeServer([])
    try await server.open { url in
      try await harness.run(server: url) { _ in
        let status = try await status(harness)
        #expect(status.server.reachable == true && status.server.lastRequest == "GET /healthz")
        #expect(status.store.reachable == true && status.store.lastRequest == "GET /store/v1/transactions")
        #expect(status.server.lastAsked != nil && status.store.refusal == nil)
      }
    }
  }

  @Test("a store that does not know the account's token is no store that is well")
  func wrongToken() async throws {
    let harness = try AgentHarness()
    let server = FakeServer([])
    server.change { $0.refusals["GET /store/v1/transactions"] = [Problem(.unauthorized)] }
    try await server.open { url in
      try await harness.run(server: url) { _ in
        let status = try await status(harness)
        #expect(status.store.reachable == true && status.store.refusal?.code == .unauthorized)
        #expect(status.server.refusal == nil)
      }
    }
  }

  @Test(
    "a server that does not know the proofs' store is not well until it takes one, whatever else it answers")
  func storeUnknown() async throws {
    let harness = try AgentHarness()
    let server = FakeServer([])
    server.change {
      $0.feed = []
      $0.storeName = "apple"
    }
    try await server.open { url in
      try await harness.run(server: url, configure: { $0.arrivals = .latest }) { agent in
        while !server.state.current.asked.contains("POST /v1/entitlements") { await Task.yield() }
        // One that was in time for the probe may not have come back yet.
        while try await harness.get("/v1/status", as: AgentStatus.self).server.refusal == nil {
          await Task.yield()
        }
        let refused = try await status(harness)
        #expect(refused.server.reachable == true && refused.server.refusal?.code == .storeUnknown)
        server.change { $0.storeName = nil }
        try await agent.arrivals.hasRead()
        let status = try await harness.get("/v1/status", as: AgentStatus.self)
        #expect(status.server.refusal == nil)
      }
    }
  }

  @Test("a store that wants to be left alone is not asked before its time, the server is")
  func restingStore() async throws {
    let harness = try AgentHarness()
    let server = FakeServer([])
    server.change {
      $0.refusals["GET /store/v1/transactions"] = [Problem(.unavailable, retryAfterSeconds: 3600)]
    }
    try await server.open { url in
      try await harness.run(server: url, retry: RetryPolicy()) { agent in
        while try await agent.transactions.database.storeNotBefore() == nil { await Task.yield() }
        let status = try await status(harness)
        #expect(status.server.lastRequest == "GET /healthz")
      }
    }
    let asked = server.state.current.asked
    #expect(asked.filter { $0 == "GET /store/v1/transactions" }.count == 1)
    #expect(asked.filter { $0 == "GET /healthz" }.count == 1)
  }

  @Test("a server whose Retry-After lasts is not asked; those who ask at once, or again, wait for one probe")
  func once() async throws {
    let harness = try AgentHarness()
    let server = FakeServer([])
    server.change { $0.refusals["GET /healthz"] = [Problem(.unavailable, retryAfterSeconds: 3600)] }
    try await server.open { url in
      try await harness.run(server: url) { _ in
        async let first = status(harness)
        async let second = status(harness)
        let statuses = try await [first, second, status(harness)]
        #expect(statuses.allSatisfy { $0.server.reachable == false })
      }
    }
    #expect(server.state.current.asked.filter { $0 == "GET /healthz" }.count == 1)
  }

  @Test("a server that has died since it answered last does not answer now")
  func dead() async throws {
    let harness = try AgentHarness()
    let server = FakeServer([])
    let store = FakeServer([])
    try await store.open { storeURL in
      let url = try await server.open { url in
        try await harness.run(server: url, store: storeURL) { _ in
          let status = try await status(harness)
          #expect(status.server.reachable == true)
        }
        return url
      }
      try await harness.run(server: url, store: storeURL) { _ in
        let status = try await status(harness)
        #expect(status.server.reachable == false && status.server.lastError != nil)
        #expect(status.store.reachable == true)
      }
    }
  }
}

@Suite("What a server says while its bytes arrive", .timeLimit(.minutes(2)))
struct ArrivingBytesTests {
  @Test("a server whose bytes arrive answers, from the first of them on")
  func answers() async throws {
    let harness = try AgentHarness()
    let server = FakeServer([try FixturePackage.file(length: 4 << 20)])
    server.change { $0.contentFaults = [.stall(after: (1 << 20) + 1000), .stall(after: (1 << 20) + 1000)] }
    try await server.open { url in
      try server.queuePurchase()
      try await harness.run(server: url) { agent in
        let first = try await agent.firstDownload { $0.bytesVerified == .mebibytes(1) }
        _ = try await harness.ask("POST", "/v1/downloads/\(first.id)/pause")
        _ = try await agent.download(.paused)
        while await !agent.downloads.jobs.entries.values.allSatisfy({ $0.step == nil }) { await Task.yield() }
        server.change { $0.refusals["GET /healthz"] = [Problem(.unavailable)] }
        let refused = try await harness.get("/v1/status?ask=true", as: AgentStatus.self)
        #expect(refused.server.reachable == false)
        _ = try await harness.ask("POST", "/v1/downloads/\(first.id)/resume")
        _ = try await agent.firstDownload { $0.bytesVerified == .mebibytes(2) }
        let status = try await harness.get("/v1/status", as: AgentStatus.self)
        #expect(status.server.reachable == true && status.server.lastError == nil)
        #expect(status.server.lastRequest == "GET /v1/content")
      }
    }
  }
}

@Suite("What a restore is asked for", .timeLimit(.minutes(2)))
struct RestoreRequestTests {
  private static let products = ["com.example.a", "com.example.b"]

  @Test("only the products that it names are fetched, and downloads bear their titles")
  func named() async throws {
    let harness = try AgentHarness()
    let packages = try Self.products.map { try FixturePackage.file(length: 1 << 20, product: $0) }
    let server = FakeServer(packages)
    try await server.open { url in
      try await harness.run(server: url) { agent in
        try server.queuePurchase("com.example", transaction: "2000000000000001")
        try await agent.finished(["2000000000000001"])
        for product in Self.products { _ = try await harness.ask("DELETE", "/v1/library/\(product)") }
        let answer = try await harness.ask("POST", "/v1/restore", #"{"products":["com.example.b"]}"#)
        let started = try APIJSON.decode(AgentRestoreResponse.self, from: answer.body).products
        #expect(started.map(\.description) == ["com.example.b"])
        let one = try await harness.ask("POST", "/v1/restore", #"{"limit":1}"#)
        #expect(
          try APIJSON.decode(AgentRestoreResponse.self, from: one.body).products.map(\.description)
            == ["com.example.a"])
      }
    }
  }

  @Test("a product that is not owned is refused, and nothing is fetched; so is a limit of none")
  func refused() async throws {
    let harness = try AgentHarness()
    let server = FakeServer([])
    try await server.open { url in
      try await harness.run(server: url) { _ in
        let answer = try await harness.ask("POST", "/v1/restore", #"{"products":["com.example.x"]}"#)
        #expect(answer.status == 402)
        // The server knows more of what was owned before.
        let told = Problem(.entitlementExpired, "com.example.x: it ended on 2026-06-01T00:00:00.000Z")
        server.change { $0.refusals["POST /v1/grants"] = [told] }
        let closed = try await harness.ask("POST", "/v1/restore", #"{"products":["com.example.x"]}"#)
        #expect(try APIJSON.decode(Problem.self, from: closed.body).detail == told.detail)
        #expect(try await harness.ask("POST", "/v1/restore", #"{"limit":0}"#).status == 400)
        #expect(try await harness.ask("POST", "/v1/restore", #"{"order":"best"}"#).status == 400)
        #expect(try await harness.downloads().isEmpty)
      }
    }
  }

  /// Both products are for sale, and the first is owned by a transaction that is over.
  private func twoProducts() throws -> FakeServer {
    let server = FakeServer(
      try Self.products.enumerated().map { number, name in
        try FixturePackage.file(length: 1 << 20, product: name, seed: UInt64(number) + 1)
      })
    try server.queuePurchase(Self.products[0])
    server.change { $0.transactions[0].finishedDate = Timestamp(millisecondsSinceEpoch: 1_795_249_900_000) }
    return server
  }

  private func pay(for name: String, at server: FakeServer) throws {
    let product = try #require(ProductIdentifier(name))
    let transaction = try #require(TransactionIdentifier("2000000000000007"))
    server.change { $0.payments[product] = transaction }
  }

  @Test("a request of which one product is not owned begins none of the others")
  func allOrNothing() async throws {
    let harness = try AgentHarness()
    let server = try twoProducts()
    try pay(for: Self.products[1], at: server)
    try await server.open { url in
      try await harness.run(server: url) { _ in
        let wanted = #"{"products":["com.example.b","com.example.x","com.example.a"]}"#
        let answer = try await harness.ask("POST", "/v1/restore", wanted)
        #expect(answer.status == 402)
        #expect(try APIJSON.decode(Problem.self, from: answer.body).code == .purchaseRequired)
        #expect(try await harness.downloads().isEmpty)
      }
    }
  }

  @Test("what was bought a moment ago counts towards the limit, and has its place in the order")
  func boughtMeanwhile() async throws {
    let harness = try AgentHarness()
    let server = try twoProducts()
    try pay(for: Self.products[1], at: server)
    try await server.open { url in
      try await harness.run(server: url) { _ in
        func begun(_ body: String) async throws -> [String] {
          let answer = try await harness.ask("POST", "/v1/restore", body)
          return try APIJSON.decode(AgentRestoreResponse.self, from: answer.body).products
            .map(\.description)
        }
        let both = #""products":["com.example.b","com.example.a"]"#
        let first = try await begun("{\(both),\"limit\":1}")
        #expect(first == ["com.example.a"])
        let second = try await begun("{\(both)}")
        #expect(second == ["com.example.b"])
      }
    }
  }

  @Test(
    "a refusal that is not about the purchase is told as it is",
    arguments: [
      Problem(.deviceLimit, "the account is in use on 5 devices"),
      Problem(.unavailable, "later", retryAfterSeconds: 5), Problem(.storeUnavailable, "later"),
    ])
  func passedOn(_ problem: Problem) async throws {
    let harness = try AgentHarness()
    let server = try twoProducts()
    server.change { $0.refusals["POST /v1/grants"] = [problem] }
    try await server.open { url in
      try await harness.run(server: url) { _ in
        let answer = try await harness.ask("POST", "/v1/restore", #"{"products":["com.example.b"]}"#)
        #expect(answer.status == problem.status)
        #expect(try APIJSON.decode(Problem.self, from: answer.body).code == problem.code)
        #expect(try await harness.downloads().isEmpty)
      }
    }
  }

  @Test("newest first by the date of the issue, what has none last; smallest first by its bytes")
  func order() throws {
    func owned(_ name: String, _ length: Int64, _ date: String?) throws -> EntitledProduct {
      EntitledProduct(
        product: try #require(ProductIdentifier(name)), version: try #require(ContentVersion("1")),
        length: ByteCount(length), because: "purchased",
        transaction: try #require(TransactionIdentifier("1")),
        state: "finished", publicationDate: date.flatMap { Timestamp(rfc3339: $0) })
    }
    let all = [
      try owned("a", 5, nil), try owned("b", 3, "2026-01-01T00:00:00Z"),
      try owned("c", 9, "2026-05-01T00:00:00Z"), try owned("d", 3, "2026-01-01T00:00:00Z"),
    ]
    func names(_ order: AgentRestoreRequest.Order?) -> String {
      all.ordered(by: order).map(\.product.description).joined()
    }
    #expect(names(nil) == "abcd")
    #expect(names(.newest) == "cbda")
    #expect(names(.smallest) == "bdac")
  }
}
