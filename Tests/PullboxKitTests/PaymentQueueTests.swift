import Commerce
import HTTPServer
import PullboxAPI
import PullboxTesting
import ServiceAPI
import Synchronization
import Testing

@testable import PullboxKit

@Suite("The payment queue")
struct PaymentQueueTests {
  private final class Shelf: PaymentQueueObserver {
    let story = Mutex<[String]>([])

    private func note(_ text: String) { story.withLock { $0.append(text) } }

    func paymentQueue(_ queue: PaymentQueue, updated transactions: [PaymentTransaction]) async {
      for transaction in transactions { note("\(transaction.id.description) \(transaction.state)") }
    }

    func paymentQueue(_ queue: PaymentQueue, removed transactions: [PaymentTransaction]) async {
      for transaction in transactions {
        note("\(transaction.id.description) removed, \(queue.transactions.count) left")
      }
    }

    func paymentQueue(_ queue: PaymentQueue, updated downloads: [ContentDownload]) async {
      for download in downloads {
        note("\(download.id) \(download.state.rawValue) \(Int(download.progress * 100)) %")
      }
    }

    func paymentQueue(_ queue: PaymentQueue, isConnected: Bool) async {
      note(isConnected ? "connected" : "disconnected")
    }
  }

  @Test("observers hear every transaction from purchase to its end, with its downloads, each change once")
  func observers() async throws {
    let double = AgentDouble()
    let done = try Sample.transaction("19", step: "finished")
    double.list(transactions: [done, try Sample.transaction(step: "planning", downloads: [])])
    let finished = try Sample.download(.finished, "placed", verified: 10 << 20)
    double.script([
      [
        try AgentDouble.text(.transaction(try Sample.transaction(step: "planning", downloads: []))),
        try AgentDouble.text(.download(try Sample.download(verified: 5 << 20))),
        try AgentDouble.text(.download(finished)), try AgentDouble.text(.download(finished)),
        try AgentDouble.text(.transaction(try Sample.transaction(step: "finished"))),
      ]
    ])
    let directory = try TemporaryDirectory()
    let path = directory.path("agent.sock")
    let shelf = Shelf()
    try await withServer(double, at: .unix(path: path)) { _ in
      let queue = PaymentQueue(try AgentClient(socketPath: path))
      queue.add(observer: shelf)
      // The double has no second script: the queue ends with its refusal.
      await #expect(throws: (any Error).self) { try await queue.run() }
      #expect(queue.transactions.isEmpty)
      #expect(queue.downloads.map(\.contentPath) == ["/library/x"])
    }
    #expect(
      shelf.story.withLock { $0 } == [
        "connected", "20 purchased", "d1 active 50 %", "d1 finished 100 %", "20 finished",
        "20 removed, 0 left", "disconnected",
      ])
  }

  @Test("products are asked for by name: what is for sale, what is not, and where the prices are good")
  func products() async throws {
    let double = AgentDouble()
    let listing = """
      {"account": {"canMakePayments": false, "currency": "EUR", "environment": "Sandbox", "territory": "FRA"},
       "invalidProductIdentifiers": ["com.example.none"],
       "products": [{"owned": true, "listing": {"id": "com.example.a", "type": "non-consumable", "title": "A", "description": "",
         "locale": "en-US"}}]}
      """
    double.answer(products: try APIJSON.decode(AgentProductsResponse.self, from: Array(listing.utf8)))
    let directory = try TemporaryDirectory()
    let path = directory.path("agent.sock")
    try await withServer(double, at: .unix(path: path)) { _ in
      let agent = try AgentClient(socketPath: path)
      let found = try await ProductsRequest(["com.example.a", "com.example.none"]).response(from: agent)
      #expect(found.valid.map(\.listing.title) == ["A"] && found.invalid == ["com.example.none"])
      let queue = PaymentQueue(agent)
      #expect(found.storefront == (try await queue.storefront()))
      #expect(found.storefront.countryCode == "FRA" && found.storefront.currency == "EUR")
      #expect(try await !queue.canMakePayments())
    }
    #expect(double.queries == ["com.example.a com.example.none", "", ""])
  }

  @Test("the name that the app gives its user goes with the purchase, and none where it gives none")
  func applicationUsername() async throws {
    let double = AgentDouble()
    double.list(transactions: [try Sample.transaction(step: "planning", downloads: [])])
    let directory = try TemporaryDirectory()
    let path = directory.path("agent.sock")
    let product = try #require(ProductIdentifier("com.example.a"))
    try await withServer(double, at: .unix(path: path)) { _ in
      let queue = PaymentQueue(try AgentClient(socketPath: path))
      _ = try await queue.add(Payment(product: product, quantity: 2, applicationUsername: "reader-7"))
      _ = try await queue.add(Payment(product: product))
    }
    #expect(double.purchases.map(\.applicationUsername) == ["reader-7", nil])
    #expect(double.purchases.map(\.product) == [product, product])
  }

  /// Brings the agent back once it was missed so often.
  private final class Patience: PaymentQueueObserver {
    let double: AgentDouble
    let story = Mutex<[Bool]>([])

    init(_ double: AgentDouble) { self.double = double }

    func paymentQueue(_ queue: PaymentQueue, updated transactions: [PaymentTransaction]) async {}

    func paymentQueue(_ queue: PaymentQueue, isConnected: Bool) async {
      let count = story.withLock { story in
        story.append(isConnected)
        return story.count
      }
      guard count == 41 else { return }
      double.script([[]])
      double.refuseEvents(with: Problem(.forbidden))
    }
  }

  @Test("an agent that is away for long is waited for, and found again (R21)") func patience() async throws {
    let double = AgentDouble()
    double.script([[]])
    double.refuseEvents(with: Problem(.unavailable))
    let directory = try TemporaryDirectory()
    let path = directory.path("agent.sock")
    let observer = Patience(double)
    try await withServer(double, at: .unix(path: path)) { _ in
      let queue = PaymentQueue(try AgentClient(socketPath: path))
      queue.add(observer: observer)
      await #expect(throws: (any Error).self) { try await queue.run(clock: ImmediateClock()) }
    }
    let story = observer.story.withLock { $0 }
    #expect(story == [true] + Array(repeating: false, count: 40) + [true, false])
  }

  @Test(
    "a transaction's state is the store's until the agent has finished it",
    arguments: [
      ("purchasing", "observed", "purchasing"), ("deferred", "observed", "deferred"),
      ("purchased", "delivering", "purchased"), ("restored", "planning", "restored"),
      ("failed", "failed", "failed"), ("purchased", "waiting-for-server", "purchased"),
      ("purchased", "finished", "finished"), ("something-new", "observed", "purchasing"),
    ])
  func states(store: String, step: String, expected: String) throws {
    let transaction = PaymentTransaction(try Sample.transaction(state: store, step: step))
    #expect("\(transaction.state)" == expected)
  }
}
