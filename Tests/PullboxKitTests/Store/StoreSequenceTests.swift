import Commerce
import HTTPServer
import PullboxAPI
import PullboxAPIClient
import PullboxTesting
import Testing

@testable import PullboxKit

@Suite("The store's sequences") struct StoreSequenceTests {
  private func withAgent(
    _ double: AgentDouble, _ body: (AgentClient) async throws -> Void
  ) async throws {
    let directory = try TemporaryDirectory()
    let path = directory.path("agent.sock")
    try await withServer(double, at: .unix(path: path)) { _ in
      try await body(try AgentClient(socketPath: path))
    }
  }

  @Test("updates begin with what is not over, tell each change once, and end with the agent's refusal")
  func updates() async throws {
    let double = AgentDouble()
    let done = try Sample.transaction("19", step: "finished")
    double.list(transactions: [done, try Sample.transaction(step: "planning", downloads: [])])
    double.script([
      [
        try AgentDouble.text(.transaction(try Sample.transaction(step: "planning", downloads: []))),
        try AgentDouble.text(.transaction(try Sample.transaction(step: "delivering"))),
        try AgentDouble.text(.transaction(try Sample.transaction(step: "finished"))),
      ]
    ])
    try await withAgent(double) { agent in
      // What is given no agent asks this one.
      let name = try #require(SessionName("org.example.Reader"))
      AppStore.use(agent, session: name)
      #expect(try AppStore.agent.session == name)
      // Another agent without a name of its own has none, until the app names itself.
      AppStore.use(agent)
      #expect(try AppStore.agent.session == nil)
      try AppStore.use(session: name)
      #expect(try AppStore.agent.session == name && AppStore.agent.socketPath == agent.socketPath)
      var story: [String] = []
      await #expect(throws: APICallError.self) {
        for try await transaction in Transaction.updates {
          story.append("\(transaction.id) \(transaction.value.step)")
        }
      }
      #expect(story == ["20 planning", "20 delivering", "20 finished"])
      var all: [String] = []
      for try await transaction in Transaction.all { all.append(transaction.id.description) }
      #expect(all == ["19", "20"])
    }
  }

  @Test("a restore bears the name of its app, or the one that it names itself")
  func session() async throws {
    let double = AgentDouble()
    double.answer(restored: [])
    let (name, other) = (
      try #require(SessionName("org.example.Reader")), try #require(SessionName("org.example.Other"))
    )
    try await withAgent(double) { agent in
      let product = try #require(ProductIdentifier("com.example.a"))
      var named = agent
      named.session = name
      _ = try await AppStore.sync([product], from: named)
      _ = try await PaymentQueue(named).restoreCompletedTransactions()
      _ = try await named.restore(AgentRestoreRequest(session: other))
      _ = try await AppStore.sync([product], from: agent)
    }
    #expect(double.restores.map(\.session) == [name, name, other, nil])
  }

  @Test("a delivery whose download fails throws, with a sentence that says which and why")
  func failedDelivery() async throws {
    let double = AgentDouble()
    double.list(transactions: [try Sample.transaction()], downloads: [try Sample.download(verified: 1 << 20)])
    double.script([
      [
        try AgentDouble.text(.download(try Sample.download(verified: 2 << 20))),
        try AgentDouble.text(.download(try Sample.download(.failed, "integrity"))),
      ]
    ])
    try await withAgent(double) { agent in
      var progress: [Double] = []
      do {
        for try await download in Transaction(try Sample.transaction(), agent: agent).progress {
          progress.append(download.progress)
        }
        Issue.record("it did not fail")
      } catch let failure as DeliveryFailure {
        #expect(
          failure.description
            == "the download of com.example.heroes.issue42 failed: the bytes that came are not those that were promised"
        )
        #expect(failure.downloads.map(\.state) == [.failed])
      }
      #expect(progress == [0.1, 0.2])
    }
  }

  @Test("a section that fails or is dropped is no part of a purchase: its delivery ends with the content")
  func sections() async throws {
    let double = AgentDouble()
    let (failed, dropped) = (
      try Sample.download(id: "d2", .failed, "integrity", section: "hires"),
      try Sample.download(id: "d3", .cancelled, "user", section: "lang-fr")
    )
    // Both where a list tells of them and where an event does.
    double.list(
      transactions: [try Sample.transaction(reason: "download-failed", downloads: ["d1", "d2", "d3"])],
      downloads: [dropped, failed, try Sample.download(verified: 1 << 20)])
    let script = [
      try AgentDouble.text(.download(failed)), try AgentDouble.text(.download(dropped)),
      try AgentDouble.text(.download(try Sample.download(.finished, "placed", verified: 10 << 20))),
      try AgentDouble.text(
        .transaction(try Sample.transaction(step: "finished", downloads: ["d1", "d2", "d3"]))),
    ]
    double.script([script, script])
    try await withAgent(double) { agent in
      let transaction = Transaction(try Sample.transaction(), agent: agent)
      var progress: [String] = []
      for try await download in transaction.progress {
        progress.append("\(download.id) \(download.percent)")
      }
      #expect(progress == ["d1 10", "d1 100"])
      // The double's library is empty; what counts is that nothing is thrown.
      #expect(try await transaction.delivered.items.isEmpty)
    }
  }

  @Test("a payment that failed throws as well, from the first word of the agent on")
  func failedPayment() async throws {
    let double = AgentDouble()
    double.list(transactions: [
      try Sample.transaction(state: "failed", step: "failed", reason: "payment-failed", downloads: [])
    ])
    double.script([[]])
    try await withAgent(double) { agent in
      let transaction = Transaction(try Sample.transaction(step: "observed", downloads: []), agent: agent)
      do {
        _ = try await transaction.delivered
        Issue.record("it did not fail")
      } catch let failure as DeliveryFailure {
        #expect(failure.description == "the payment failed")
      }
    }
  }

  @Test("storefronts are told when they differ; without a store the first question throws")
  func storefronts() async throws {
    let double = AgentDouble()
    double.script([[], []])
    let account = StoreAccount(
      territory: "FRA", currency: "EUR", environment: "Production", canMakePayments: true)
    double.answer(
      products: AgentProductsResponse(account: account, products: [], invalidProductIdentifiers: []))
    try await withAgent(double) { agent in
      var told: [String] = []
      // Twice connected, and the same account: one storefront.
      await #expect(throws: APICallError.self) {
        for try await storefront in Storefront.updates(from: agent) { told.append(storefront.countryCode) }
      }
      #expect(told == ["FRA"])
    }
    let away = AgentDouble()
    away.script([[]])
    try await withAgent(away) { agent in
      await #expect(throws: APICallError.self) {
        for try await _ in Storefront.updates(from: agent) { Issue.record("there is no store") }
      }
    }
  }

  @Test("where the agent is not there, the first element throws, and nothing hangs")
  func noAgent() async throws {
    let agent = try AgentClient(socketPath: "/nonexistent/agent.sock")
    await #expect(throws: APICallError.self) {
      for try await _ in Message.messages(from: agent) { Issue.record("no agent, no message") }
    }
    await #expect(throws: APICallError.self) {
      for try await _ in Transaction.currentEntitlements(from: agent) { Issue.record("no agent") }
    }
    let shop = try ShopModel(agent: agent)
    await shop.load(["com.example.a"])
    #expect(shop.state.problem != nil && shop.state.rows.isEmpty)
  }
}
