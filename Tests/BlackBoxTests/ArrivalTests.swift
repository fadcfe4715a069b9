import Commerce
import CoreTypes
import PullboxAPI
import PullboxTesting
import Testing

/// A magazine, a reader with two devices, and nobody who types a command.
@Suite("What arrives without a command", .serialized, .timeLimit(.minutes(5)))
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
    _ product: String, version: String = "1.0", on agents: [AgentClient]
  ) async throws {
    for agent in agents {
      try await eventually { try await library(of: agent)[product] == version }
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
        body: Array(#"{"month":"20s","renewals":1}"#.utf8))
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
      try await arrives(issue(0), on: [agents[0]])
      // The only command: the second device gets what was bought on the first.
      #expect(try await agents[1].web.post("/v1/restore").status == 202)
      try await arrives(issue(0), on: agents)

      for number in 1...2 {
        try await release(issue(number), seed: 10 + number, at: stack)
        try await arrives(issue(number), on: agents)
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
      try await arrives(issue(3), on: agents)

      try await eventually { try await subscriptions().allSatisfy { $0.state == .expired } }
      try await release(issue(4), seed: 14, at: stack)
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
      for number in 0...3 {
        let grants = try await stack.deliveries(of: issue(number)).filter { $0.version.description == "1.0" }
        #expect(Set(grants.map(\.device)).count == 2 && grants.count == 2)
        #expect(Set(grants.map(\.transaction)).count == 1)
      }
      #expect(try await stack.deliveries(of: issue(4)).isEmpty)
    }
  }
}
