import Commerce
import CoreTypes
import Entitlements
import Files
import PullboxAPI
import PullboxTesting
import ServiceAPI
import SystemCalls
import Testing

/// A magazine, a reader with two devices, and nobody who types a command.
@Suite("What arrives without a command", .serialized, .timeLimit(.minutes(10)))
struct ArrivalTests {
  private static let magazine = ProductIdentifier("com.example.heroes")
  private static let subscription = "com.example.heroes.monthly"

  private func issue(_ number: Int) -> String { "com.example.heroes.issue\(number)" }

  /// Releases a version of an issue that appears now.
  private func release(
    _ product: String, version: String = "1.0", seed: Int, dated date: Timestamp? = nil, at stack: Stack
  ) async throws {
    let file = try await Material.file(
      "\(product)-\(version).cbz", length: 200_000, seed: seed, in: stack.directory)
    if version == "1.0" {
      try await stack.describe(
        product,
        ProductDescription(publication: Self.magazine, publicationDate: date ?? SystemWallClock().now()))
    }
    try await stack.release(file, as: product, version: version)
  }

  private func library(of agent: AgentClient) async throws -> [String: String] {
    let items = try await agent.web.get("/v1/library").decoded(LibraryResponse.self).items
    return Dictionary(
      items.filter { $0.state != .damaged }.map { ($0.product.description, $0.version.description) },
      uniquingKeysWith: { max($0, $1) })
  }

  private func arrives(
    _ product: String, version: String = "1.0", on agents: [AgentClient], within bound: Duration? = nil
  ) async throws {
    let begin = SystemMonotonicClock().now()
    for agent in agents {
      try await eventually { try await library(of: agent)[product] == version }
    }
    guard let bound else { return }
    let taken = SystemMonotonicClock().now() - begin
    #expect(taken <= bound, "\(product) \(version) took \(taken)")
  }

  private func explain(
    _ product: String, by transaction: TransactionIdentifier, at stack: Stack
  ) async throws -> ExplanationResponse {
    try await stack.operatorWeb.get(
      "/v1/operator/explain?product=\(product)&transaction=\(transaction)"
    ).decoded()
  }

  @Test(
    "a refund of what lies on the device moves it away, also over a restart and without services, and its reversal brings it back"
  )
  func refund() async throws {
    var options = Stack.Options(parts: [.store, .server])
    options.signsData = true
    // The store's notifications are of the store that signs.
    let name = ["PULLBOX_STORE_NAME": "apple"]
    try await Stack.with(options) { stack in
      try await stack.start(.agent, environment: name)
      let product = issue(1)
      let file = try await Material.file("issue.cbz", length: 200_000, seed: 21, in: stack.directory)
      let price = try #require(Price(amount: "2.99", currency: "USD"))
      try await stack.describe(product, ProductDescription(prices: ["USA": price]))
      try await stack.release(file, as: product, version: "1.0")
      #expect(try await stack.agent.buy(product).status == 201)
      let bought = try await stack.agent.finishedTransaction(of: product)
      @Sendable func item() async throws -> LibraryItem? {
        try await stack.agent.web.get("/v1/library").decoded(LibraryResponse.self).items.first {
          $0.product.description == product
        }
      }
      try await eventually { try await item()?.owned == true }

      try await stack.control("transactions/\(bought.id)/refund")
      try await eventually { try await item()?.owned == false }
      try await eventually { try await item()?.withdrawn == true }
      let refunded = try #require(try await item())
      #expect(refunded.because == "revoked" && refunded.state == .offline)
      // Its record says so first.
      try await eventually { try FileSystem.status(of: refunded.path) == nil }
      let news = try await stack.pullbox("news")
      #expect(news.succeeded && news.output.contains("\(product) is owned no more"), "\(news.output)")
      let path = try await stack.pullbox("path", product)
      #expect(path.ending == .exited(3) && path.errors.contains("is owned no more"), "\(path.errors)")
      try await eventually { try await stack.pullbox("ownership", product).output.contains("revoked") }
      let objects = try await stack.pullbox("news", "--json")
      let line = try #require(objects.output.split(separator: "\n").last, "\(objects.errors)")
      let told = try APIJSON.decode(LibraryItem.self, from: Array(line.utf8))
      #expect(told.product.description == product && told.owned == false && told.because == "revoked")
      let library = try await stack.pullbox("library")
      #expect(library.succeeded && library.output.contains("moved away, not owned"), "\(library.output)")
      let transactions = try await stack.pullbox("transactions", "--all")
      #expect(transactions.output.contains("revoked"), "\(transactions.output)")

      await stack.kill(.server)
      await stack.kill(.store)
      await stack.kill(.agent)
      try await stack.start(.agent, environment: name)
      try await eventually { try await item()?.owned == false }
      // Without a network.
      let refused = try await stack.pullbox("ownership", product)
      #expect(refused.ending == .exited(3) && refused.output.contains("not owned"), "\(refused.output)")
      #expect(try await item()?.withdrawn == true)
      try await stack.start(.store)
      try await stack.start(.server)
      try await stack.control("transactions/\(bought.id)/reverse")
      try await eventually { try await item()?.state == .present }
      #expect(try await item()?.owned == true)
      #expect(try FileSystem.status(of: refunded.path) != nil)
      try await eventually { try await stack.pullbox("ownership", product).ending == .exited(0) }
      let owned = try await stack.pullbox("ownership", product)
      #expect(
        owned.output.contains("because  purchased") && owned.output.contains("license"), "\(owned.output)")
      #expect(!(try await stack.pullbox("news")).output.contains("owned no more"))
      #expect(!(try await stack.pullbox("news", "--json")).output.contains(#""owned":false"#))
    }
  }

  @Test(
    "three issues of a subscription reach both devices by themselves, a fourth after its end does not; a correction does"
  )
  func magazine() async throws {
    try await Stack.with { stack in
      let web = await stack.store()
      let time = try await web.send(
        "PUT", "/sandbox/v1/time", headers: [("Content-Type", "application/json")],
        body: Array(#"{"month":"30s","renewals":1}"#.utf8))
      #expect((200..<300).contains(time.status), "\(time.text)")
      try await release(
        issue(0), seed: 10, dated: SystemWallClock().now() - .seconds(86_400), at: stack)
      try await stack.describe(
        Self.subscription,
        ProductDescription(
          type: .autoRenewableSubscription, publication: Self.magazine, period: BillingPeriod("P1M"),
          onSale: true))
      try await stack.startAgent(named: "tablet")
      let agents = [stack.agent, stack.agent(named: "tablet")]

      let bought = try await stack.agent.buy(Self.subscription)
      #expect(bought.status == 201, "\(bought.text)")
      // The second device was there before its account had bought anything.
      try await arrives(issue(0), on: agents, within: .seconds(15))

      for number in 1...2 {
        try await release(issue(number), seed: 10 + number, at: stack)
        try await arrives(issue(number), on: agents, within: .seconds(15))
      }
      func subscriptions() async throws -> [StoreSubscription] {
        try await stack.store().get("/store/v1/subscriptions").decoded(SubscriptionsResponse.self)
          .subscriptions
      }
      func payments() async throws -> Int {
        try await stack.store().get("/store/v1/transactions").decoded(TransactionsResponse.self)
          .transactions.count
      }
      try await eventually { try await payments() == 2 }
      // In the second period: both devices hear of the renewal by themselves as well.
      try await release(issue(3), seed: 13, at: stack)
      try await arrives(issue(3), on: agents, within: .seconds(15))

      try await eventually { try await subscriptions().allSatisfy { $0.state == .expired } }
      try await release(issue(4), seed: 14, at: stack)
      let last = try #require(
        try await stack.store().get("/store/v1/transactions").decoded(TransactionsResponse.self)
          .transactions.max { $0.purchaseDate < $1.purchaseDate })
      let refused = try await explain(issue(4), by: last.id, at: stack)
      #expect(!refused.allowed && refused.because.isEmpty)
      let objection = try #require(refused.against.first)
      #expect(objection.rule.rawValue == "published-outside-periods" && objection.transaction == last.id)
      #expect(objection.period?.end == last.expiresDate)
      let told = try await stack.pullbox("explain", issue(4), "--transaction", "\(last.id)")
      let end = try #require(last.expiresDate)
      #expect(told.succeeded && told.output.contains("not allowed") && told.output.contains("\(end)"))
      // An issue that was owned is read and restored as before.
      #expect(try await explain(issue(3), by: last.id, at: stack).allowed)
      for name in [issue(0), issue(3)] {
        let path = try await stack.pullbox("path", name)
        #expect(path.succeeded && !path.output.isEmpty, "\(path.errors)")
        #expect(try await stack.pullbox("remove", name).succeeded)
        let restored = try await stack.pullbox("restore", name, "--wait")
        #expect(restored.succeeded, "\(restored.errors)")
        #expect(try await library(of: agents[0])[name] == "1.0")
      }
      // Told behind it: what is here then shows that the fourth was not told.
      await stack.killAgent(named: "tablet")
      try await release(issue(2), version: "1.1", seed: 22, at: stack)
      try await release(issue(1), version: "1.1", seed: 21, at: stack)
      try await arrives(issue(1), version: "1.1", on: [agents[0]])
      try await arrives(issue(2), version: "1.1", on: [agents[0]])
      let withdrawn = try await stack.pullbox(
        "withdraw", issue(1), "1.1", "--reason", "the cover is upside down")
      #expect(withdrawn.succeeded, "\(withdrawn.errors)")
      try await stack.startAgent(named: "tablet")
      try await arrives(issue(2), version: "1.1", on: [agents[1]])

      for agent in agents { #expect(try await library(of: agent)[issue(4)] == nil) }
      #expect(try await library(of: agents[1])[issue(1)] == "1.0")
      try await eventually { try await stack.unfinishedTransactions().isEmpty }
      // Each issue was granted once to each device, and for the payment of its time.
      for number in 1...2 {
        let grants = try await stack.deliveries(of: issue(number)).filter { $0.version.description == "1.0" }
        #expect(Set(grants.map(\.device)).count == 2 && grants.count == 2)
        #expect(Set(grants.map(\.transaction)).count == 1)
      }
      #expect(try await stack.deliveries(of: issue(4)).isEmpty)
    }
  }

  @Test("of a correction that comes by itself only the changed pieces are fetched")
  func changedPieces() async throws {
    try await Stack.with { stack in
      let file = try await Material.file("first.cbz", length: 5_000_000, seed: 31, in: stack.directory)
      let corrected = stack.directory.path("corrected.cbz")
      let added = try await Executables.run(
        "/usr/bin/python3",
        [
          "-c",
          "import shutil, sys, zipfile; shutil.copy(sys.argv[1], sys.argv[2]); zipfile.ZipFile(sys.argv[2], 'a').writestr('note.txt', 'corrected')",
          file, corrected,
        ], in: stack.directory)
      #expect(added.succeeded, "\(added.errors)")
      try await stack.publish(file, as: issue(1))
      #expect(try await stack.agent.buy(issue(1)).status == 201)
      try await arrives(issue(1), on: [stack.agent])
      try await stack.release(corrected, as: issue(1), version: "1.1")
      try await arrives(issue(1), version: "1.1", on: [stack.agent])
      let grants = try await stack.deliveries(of: issue(1))
      let whole = try #require(grants.first { $0.version.description == "1.0" })
      let second = try #require(grants.first { $0.version.description == "1.1" })
      #expect(second.length > whole.length)
      try await eventually {
        try await stack.deliveries(of: issue(1)).first { $0.version.description == "1.0" }?.bytesDelivered
          == whole.length
      }
      // The pieces are of 1 MiB, and what was added lies in the last one.
      let fetched = try await stack.agent.downloads().first { $0.version?.description == "1.1" }
      let reused = try #require(fetched?.bytesReused)
      #expect(reused == .mebibytes(4))
      let delivered = try await stack.deliveries(of: issue(1))
        .first { $0.version.description == "1.1" }?.bytesDelivered
      #expect(try #require(delivered) <= second.length - reused)
    }
  }
}
