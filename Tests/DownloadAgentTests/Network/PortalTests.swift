import AgentTesting
import Commerce
import ContentLibrary
import ContentPackage
import CoreTypes
import Crypto
import HTTPClient
import HTTPServer
import PackageTesting
import PullboxAPI
import PullboxAPIClient
import PullboxTesting
import ServiceAPI
import ServiceRuntime
import SystemCalls
import Testing

@testable import AgentRecords
@testable import DownloadAgent

/// The whole agent on networks as they are.
@Suite(.serialized, .timeLimit(.minutes(10))) struct PortalTests {
  /// Pauses of a real network, a thousand times shorter.
  private static let probes = Backoff(
    initial: .milliseconds(1), factor: 2, cap: .milliseconds(120), jitter: 0.2)

  @Test(
    "behind a log-in page for an hour every download waits, few requests go out, and then all end (D5)",
    arguments: [200, 302, 403, 407, 503])
  func anHour(status: Int) async throws {
    let packages = try (1...6).map {
      try FixturePackage.file(length: 1000 * $0, product: "mag.issue\($0)", seed: UInt64($0))
    }
    let server = FakeServer(packages)
    let harness = try AgentHarness()
    try await server.open { url in
      try await harness.run(server: url, probes: Self.probes) { agent in
        for package in packages.indices {
          try server.queuePurchase("mag.issue\(package + 1)", transaction: "200000000000000\(package)")
        }
        // The first is stopped at its grant, after the queue was read.
        _ = try await agent.download(.active)
        server.change { $0.portal = FakeServer.Page(status: status) }
        // An hour, a thousand times shorter.
        try await Task.sleep(for: .milliseconds(3600))
        let waiting = try await harness.downloads()
        #expect(waiting.allSatisfy { $0.state != .failed })
        let transactions = try await harness.transactions()
        #expect(transactions.allSatisfy { $0.step != "finished" || $0.downloads.count == 1 })
        let reasons = waiting.map(\.reason) + transactions.compactMap(\.reason)
        #expect(reasons.contains("network-not-open"))
        #expect(server.state.current.portalRequests <= 120)
        server.change { $0.portal = nil }
        try await agent.finished(packages.indices.map { "200000000000000\($0)" })
      }
    }
    for package in packages { #expect(try harness.placed(package)) }
  }

  static let stations = [
    "POST /v1/entitlements", "POST /v1/grants", "GET /v1/content/manifest", "GET /v1/content",
    "POST /v1/grants/completion", "GET /store/v1/receipt", "GET /store/v1/transactions",
  ]

  @Test(
    "a page in place of any answer, ten times in a row, never fails a purchase (D5, K2)", arguments: stations)
  func pages(_ station: String) async throws {
    let package = try FixturePackage.file(length: 1000)
    let server = FakeServer([package])
    server.change { state in
      state.pages[station] = [200, 302, 403, 404, 407, 200, 302, 500, 502, 407].map {
        FakeServer.Page(status: $0)
      }
    }
    let harness = try AgentHarness()
    try await server.open { url in
      try await harness.run(server: url, probes: Self.probes) { agent in
        try server.queuePurchase()
        _ = try await agent.transaction("finished")
      }
    }
    #expect(try harness.placed(package))
    #expect(server.state.current.pages[station] == [])
  }

  @Test("a question to the feed that is the probe of a closed way waits for no news: all else waits for it")
  func feedAsProbe() async throws {
    let server = FakeServer([])
    server.change { state in
      state.feed = []
      state.portal = FakeServer.Page(status: 200)
    }
    let directory = try TemporaryDirectory()
    try await server.open { url in
      let network = NetworkGate(backoff: Self.probes)
      let client = DeliveryClient(
        api: APIClient(baseURL: url, client: try HTTPClient()),
        monitor: EndpointHealth(url: url, clock: SystemWallClock(), network: network),
        identity: try DeviceIdentity.load(from: directory.path), time: ServerTime(clock: SystemWallClock()))
      let feed = FeedReference(
        url: "/v1/feed", token: "feed", expires: SystemWallClock().now() + .seconds(3600))
      await #expect(throws: APICallError.self) {
        _ = try await client.feed(feed, after: "0", wait: .seconds(300))
      }
      server.change { $0.portal = nil }
      while (try? await client.feed(feed, after: "0", wait: .seconds(300))) == nil { await Task.yield() }
      // The way is open; the first answer of a feed comes at once.
      _ = try await client.feed(feed, after: nil, wait: .seconds(300))
    }
    #expect(server.state.current.feedWaits == [0, 300])
  }

  @Test("a manifest may take longer than a call may (R5)") func slowManifest() async throws {
    let package = try FixturePackage.file(length: 1000)
    let server = FakeServer([package])
    server.change { $0.manifestPause = .milliseconds(400) }
    let directory = try TemporaryDirectory()
    try await server.open { url in
      var api = APIClient(baseURL: url, client: try HTTPClient())
      api.timeout = .milliseconds(200)
      let client = DeliveryClient(
        api: api, monitor: EndpointHealth(url: url, clock: SystemWallClock()),
        identity: try DeviceIdentity.load(from: directory.path),
        time: ServerTime(clock: SystemWallClock()))
      let digest = package.manifest.digest
      let terms = DownloadTerms(
        product: package.manifest.product, version: package.manifest.version, length: package.manifest.length,
        digest: digest, manifestDigest: package.manifest.manifestDigest, contentURL: "/v1/content/\(digest)",
        manifestURL: "/v1/content/\(digest)/manifest", ticket: "ticket-1",
        ticketExpires: Timestamp(millisecondsSinceEpoch: 0))
      #expect(try await client.manifest(terms).bytes == package.manifest.canonicalBytes())
      var others = terms
      others.manifestDigest = .of([1])
      let failure = try await #require(throws: StepFailure.self) { _ = try await client.manifest(others) }
      #expect(failure.reason == .integrity && failure.recovery == .retry(notBefore: nil))
    }
  }

  @Test(
    "what the customer agreed to goes with each request for a grant, and nothing where it is not known",
    arguments: [nil, true, false])
  func consent(isGiven: Bool?) async throws {
    let package = try FixturePackage.file(length: 10)
    let server = FakeServer([package])
    let directory = try TemporaryDirectory()
    let consent = isGiven.map { Consent(consumption: $0) }
    try await server.open { url in
      let client = DeliveryClient(
        api: APIClient(baseURL: url, client: try HTTPClient()), consent: consent,
        monitor: EndpointHealth(url: url, clock: SystemWallClock()),
        identity: try DeviceIdentity.load(from: directory.path), time: ServerTime(clock: SystemWallClock()))
      _ = try await client.grant(
        package.manifest.product, for: TransactionIdentifier("1"), proof: Proof(receipt: "MIIB"))
    }
    #expect(server.state.current.consents == [consent])
  }

  @Test("an https server's manifest is never fetched without TLS (R19)") func scheme() async throws {
    let api = APIClient(baseURL: "https://127.0.0.1:1", client: try HTTPClient())
    let error = try await #require(throws: APICallError.self) {
      _ = try await api.exchange("GET", "http://127.0.0.1:1/v1/content/x/manifest")
    }
    guard case .unexpectedResponse(0, let detail, _, _) = error else {
      Issue.record("\(error)")
      return
    }
    #expect(detail.contains("https"))
  }
}
