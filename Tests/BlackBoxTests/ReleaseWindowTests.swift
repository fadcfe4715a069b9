import Commerce
import CoreTypes
import Crypto
import PullboxAPI
import PullboxTesting
import ServiceAPI
import Testing

/// No herd: a release hands each device a slot of its own.
@Suite("A release with a window, and ten devices", .serialized, .timeLimit(.minutes(5)))
struct ReleaseWindowTests {
  private static let window: Duration = .seconds(30)
  private static let serverOptions = ["--release-window", "30s"]
  private static let magazine = ProductIdentifier("com.example.heroes")
  private static let subscription = "com.example.heroes.monthly"
  private static let names = (1..<10).map { "device\($0)" }

  private func issue(_ number: Int) -> String { "com.example.heroes.issue\(number)" }

  private func release(_ number: Int, dated date: Timestamp, at stack: Stack) async throws {
    let file = try await Material.file(
      "issue\(number).cbz", length: 50_000, seed: number, in: stack.directory)
    try await stack.describe(
      issue(number), ProductDescription(publication: Self.magazine, publicationDate: date))
    try await stack.release(file, as: issue(number))
  }

  /// docs/publishing.md: when a device may fetch the release.
  private func slot(
    of device: DeviceIdentifier, for product: String, released: Timestamp
  ) -> Timestamp {
    let text = "pullbox-release/1\0\(product)\0\(device)"
    let number = SHA256Digest.of(Array(text.utf8)).array.prefix(8).reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
    return released + Self.window * (Double(number % 10_000) / 10_000)
  }

  private func agents(of stack: Stack) -> [AgentClient] {
    [stack.agent] + Self.names.map { stack.agent(named: $0) }
  }

  private func holds(_ product: String, _ agent: AgentClient) async throws -> Bool {
    try await agent.web.get("/v1/library").decoded(LibraryResponse.self).items
      .contains { $0.product.description == product && $0.state != .damaged }
  }

  /// When the server granted it to each device.
  private func granted(_ product: String, by stack: Stack) async throws -> [DeviceIdentifier: Timestamp] {
    Dictionary(
      try await stack.deliveries(of: product).compactMap { grant in
        grant.history.first.map { (grant.device, $0.at) }
      }, uniquingKeysWith: min)
  }

  @Test(
    "each device asks at its own slot or soon after, and all have the issue soon after the window, through SIGKILL of the server and of an agent"
  )
  func slots() async throws {
    try await Stack.with { stack in
      try await stack.terminate(.server)
      try await stack.start(.server, arguments: Self.serverOptions)
      try await release(0, dated: SystemWallClock().now() - .seconds(86_400), at: stack)
      try await stack.describe(
        Self.subscription,
        ProductDescription(
          type: .autoRenewableSubscription, publication: Self.magazine, period: BillingPeriod("P1M"),
          onSale: true))
      let bought = try await stack.agent.buy(Self.subscription)
      #expect(bought.status == 201, "\(bought.text)")
      for name in Self.names { try await stack.startAgent(named: name) }
      let agents = agents(of: stack)
      // Each follows its feed: it has been answered once, and waits.
      try await eventually {
        String(decoding: try await stack.server.get("/metrics").body, as: UTF8.self)
          .contains("\npullbox_feed_waiting 10\n")
      }

      try await release(1, dated: SystemWallClock().now(), at: stack)
      let version = try await stack.operatorWeb.get("/v1/operator/products/\(issue(1))/versions/1.0")
        .decoded(VersionRecord.self)
      let released = try #require(version.released)
      var slots: [(at: Timestamp, name: String?, device: DeviceIdentifier)] = []
      for (index, agent) in agents.enumerated() {
        let device = try await agent.web.get("/v1/status").decoded(AgentStatus.self).device
        slots.append(
          (
            slot(of: device, for: issue(1), released: released),
            index == 0 ? nil : Self.names[index - 1], device
          ))
      }
      slots.sort { $0.at < $1.at }
      #expect(Set(slots.map(\.device)).count == 10)

      // In the longest pause between two slots the server goes and comes back, and so does the agent of the last slot.
      let pauses = zip([released] + slots.map(\.at), slots.map(\.at)).map { (from: $0, length: $1 - $0) }
      let pause = try #require(pauses.max { $0.length < $1.length })
      let moment = pause.from + min(pause.length / 4, .seconds(1))
      try await eventually { SystemWallClock().now() >= moment }
      await stack.kill(.server)
      let last = slots.last?.name ?? slots.dropLast().last?.name
      if let last { await stack.killAgent(named: last) }
      try await stack.start(.server, arguments: Self.serverOptions)
      if let last { try await stack.startAgent(named: last) }
      let back = SystemWallClock().now()

      for agent in agents { try await eventually { try await holds(issue(1), agent) } }
      #expect(SystemWallClock().now() < released + .seconds(60))
      let asked = try await granted(issue(1), by: stack)
      #expect(asked.count == 10)
      for slot in slots {
        let at = try #require(asked[slot.device])
        #expect(at >= slot.at, "\(slot.at - at) before its slot")
        // Where the server went before the device had its answer, from when it was back; the agent has to find that out.
        let isDisturbed = slot.at >= moment - .seconds(10) && slot.at <= back + .milliseconds(500)
        let latest = (isDisturbed ? max(back, slot.at) : slot.at) + .seconds(10)
        #expect(at <= latest, "\(at - slot.at) after its slot")
      }
    }
  }
}
