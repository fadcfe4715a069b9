import AgentTesting
import Commerce
import ContentPackage
import CoreTypes
import Files
import HTTPClient
import PackageTesting
import PullboxAPI
import PullboxTesting
import ServiceRuntime
import Synchronization
import SystemCalls
import Testing

@testable import DownloadAgent

/// The control interface as an app on the device uses it: over its socket.
@Suite(.serialized, .timeLimit(.minutes(10))) struct ControlTests {
  private static let mebibyte = 1 << 20

  @Test("a purchase through the agent is under way at once") func purchase() async throws {
    let package = try FixturePackage.file(length: 1000)
    let server = FakeServer([package])
    let harness = try AgentHarness()
    try await server.open { url in
      try await harness.run(server: url) { agent in
        let answer = try await harness.ask(
          "POST", "/v1/purchases", #"{"product":"\#(FixturePackage.product)"}"#)
        #expect(answer.status == 201)
        let bought = try APIJSON.decode(AgentTransaction.self, from: answer.body)
        #expect(bought.state == "purchased" && bought.product.description == FixturePackage.product)
        _ = try await agent.transaction("finished")
        let known = try #require(try await harness.transactions().first)
        #expect(known.id == bought.id && known.step == "finished" && known.downloads.count == 1)
      }
    }
  }

  @Test(
    "a purchase that is asked for twice with one Idempotency-Key is bought once, with another key once more")
  func idempotencyKey() async throws {
    let package = try FixturePackage.file(length: 1000)
    let server = FakeServer([package])
    let harness = try AgentHarness()
    try await server.open { url in
      try await harness.run(server: url) { agent in
        var bought: [AgentTransaction] = []
        for key in ["one", "\"one\"", "two"] {
          let answer = try await harness.ask(
            "POST", "/v1/purchases", #"{"product":"\#(FixturePackage.product)"}"#,
            headers: [("Idempotency-Key", key)])
          #expect(answer.status == 201)
          bought.append(try APIJSON.decode(AgentTransaction.self, from: answer.body))
        }
        #expect(bought[0].id == bought[1].id && bought[0].id != bought[2].id)
        try await agent.finished([bought[0], bought[2]].map(\.id.description))
        #expect(try await harness.transactions().count == 2)
      }
    }
    #expect(server.state.current.purchaseKeys == ["one", "one", "two"])
    #expect(server.state.current.purchases.count == 2)
  }

  @Test("purchases without an Idempotency-Key are two purchases: the agent makes up a key for each")
  func madeUpKeys() async throws {
    let server = FakeServer()
    let harness = try AgentHarness()
    try await server.open { url in
      try await harness.run(server: url) { _ in
        for _ in 0..<2 {
          let answer = try await harness.ask(
            "POST", "/v1/purchases", #"{"product":"\#(FixturePackage.product)"}"#)
          #expect(answer.status == 201)
        }
      }
    }
    let keys = server.state.current.purchaseKeys.compactMap { $0 }
    #expect(Set(keys).count == 2 && server.state.current.purchases.count == 2)
  }

  @Test("a relative path of the socket is told as an absolute one (D15)") func relativeSocket() async throws {
    let harness = try AgentHarness()
    let here = try FileSystem.realPath(".")
    let up = here.split(separator: "/").map { _ in ".." }.joined(separator: "/")
    let path = up + harness.directory.path("r.sock")
    let server = FakeServer()
    try await server.open { url in
      try await harness.run(server: url, configure: { $0.socket = path }) { agent in
        #expect(agent.boundAddresses.allSatisfy { $0.hasSuffix("\(here)/\(path)") })
        let status = try FileSystem.status(of: harness.directory.path("r.sock"))
        #expect(status != nil)
      }
    }
  }

  @Test("the page of metrics has the downloads, the library and whether the services answer") func metrics()
    async throws
  {
    let package = try FixturePackage.file(length: 1000)
    let server = FakeServer([package])
    let harness = try AgentHarness()
    try await server.open { url in
      try await harness.run(server: url) { agent in
        try server.queuePurchase()
        _ = try await agent.transaction("finished")
        let answer = try await harness.ask("GET", "/metrics")
        #expect(answer.headers["Content-Type"] == "text/plain; version=0.0.4; charset=utf-8")
        let samples = try PrometheusPage(String(decoding: answer.body, as: UTF8.self)).samples
        #expect(samples["pullbox_agent_downloads{state=\"finished\"}"] == 1)
        #expect(samples["pullbox_agent_downloads{state=\"failed\"}"] == 0)
        #expect(samples["pullbox_agent_library_items{state=\"present\"}"] == 1)
        #expect((samples["pullbox_agent_library_bytes"] ?? 0) >= 1000)
        #expect(samples["pullbox_agent_library_online"] == 1)
        #expect(samples["pullbox_agent_unfinished_transactions"] == 0)
        #expect(samples["pullbox_agent_peer_up{peer=\"server\"}"] == 1)
        #expect((samples["pullbox_filesystem_free_bytes{directory=\"library\"}"] ?? 0) > 0)
        #expect((samples["process_resident_memory_bytes"] ?? 0) > 1_000_000)
        #expect(samples["pullbox_metrics_unreadable"] == 0)
      }
    }
  }

  @Test("an address for monitoring has metrics and health, and none of the control interface")
  func monitoring()
    async throws
  {
    let harness = try AgentHarness()
    try await harness.run(server: "http://127.0.0.1:9", configure: { $0.metricsListen = "127.0.0.1:0" }) {
      agent in
      let address = try #require(agent.monitoringAddresses.first)
      let client = try HTTPClient()
      defer { client.shutDown() }
      for (path, status) in [("/metrics", 200), ("/healthz", 200), ("/v1/status", 404), ("/v1/events", 404)] {
        let answer = try await client.send(ClientRequest(method: "GET", url: "http://\(address)\(path)"))
        #expect(answer.status == status, "\(path)")
      }
    }
  }

  @Test("what the store refuses to sell comes through") func refusedPurchase() async throws {
    let server = FakeServer()
    server.change { $0.refusals["POST /store/v1/purchases"] = [Problem(.productUnknown)] }
    let harness = try AgentHarness()
    try await server.open { url in
      try await harness.run(server: url) { _ in
        let answer = try await harness.ask("POST", "/v1/purchases", #"{"product":"nothing"}"#)
        #expect(answer.status == 404)
        #expect(try APIJSON.decode(Problem.self, from: answer.body).code == .productUnknown)
        #expect(try await harness.ask("POST", "/v1/purchases", "{").status == 400)
      }
    }
  }

  @Test("pausing keeps what is verified, resuming fetches the rest") func pausing() async throws {
    let package = try FixturePackage.file(length: 4 * Self.mebibyte)
    let server = FakeServer([package])
    server.change { $0.contentFaults = [.stall(after: 2 * Self.mebibyte + 100)] }
    let harness = try AgentHarness()
    try await server.open { url in
      try await harness.run(server: url) { agent in
        try server.queuePurchase()
        let active = try await agent.download(.active, "transferring")
        _ = try await agent.event { event in
          guard case .download(let status) = event else { return false }
          return status.bytesVerified == .mebibytes(2)
        }
        let answer = try await harness.ask("POST", "/v1/downloads/\(active.id)/pause")
        let paused = try APIJSON.decode(DownloadStatus.self, from: answer.body)
        #expect(paused.state == .paused && paused.reason == "user" && paused.bytesVerified == .mebibytes(2))
        #expect(paused.timeRemaining == nil && paused.speed == 0)
        #expect(try await harness.ask("POST", "/v1/downloads/\(active.id)/resume").status == 200)
        _ = try await agent.transaction("finished")
      }
    }
    // The piece in the middle of which it was paused is gone on with.
    let sent = server.state.current.sent.reduce(0) { $0 + $1.count }
    #expect((0...100).contains(sent - package.bytes.count))
    #expect(try harness.placed(package))
  }

  @Test("a paused download stays paused over a restart") func pausedRestart() async throws {
    let package = try FixturePackage.file(length: 1000)
    let server = FakeServer([package])
    server.change { $0.refusals["POST /v1/grants"] = [Problem(.unavailable)] }
    let harness = try AgentHarness()
    try await server.open { url in
      try server.queuePurchase()
      let identifier = try await harness.run(server: url) { agent in
        let waiting = try await agent.download(.waiting, "server-unavailable")
        #expect(try await harness.ask("POST", "/v1/downloads/\(waiting.id)/pause").status == 200)
        return waiting.id
      }
      server.change { $0.refusals = [:] }
      try await harness.run(server: url) { agent in
        #expect(try await agent.download(.paused).id == identifier)
        #expect(try await harness.ask("POST", "/v1/downloads/\(identifier)/resume").status == 200)
        _ = try await agent.transaction("finished")
      }
    }
  }

  @Test("cancelling gives the staged bytes up and leaves the transaction unfinished") func cancelling()
    async throws
  {
    let package = try FixturePackage.file(length: 4 * Self.mebibyte)
    let server = FakeServer([package])
    server.change { $0.contentFaults = [.stall(after: 2 * Self.mebibyte)] }
    let harness = try AgentHarness()
    try await server.open { url in
      try await harness.run(server: url) { agent in
        try server.queuePurchase()
        let active = try await agent.download(.active, "transferring")
        _ = try await agent.event { event in
          guard case .download(let status) = event else { return false }
          return status.bytesVerified == .mebibytes(2)
        }
        let answer = try await harness.ask("POST", "/v1/downloads/\(active.id)/cancel")
        #expect(try APIJSON.decode(DownloadStatus.self, from: answer.body).state == .cancelled)
        _ = try await agent.transaction("delivering", "download-cancelled")
        #expect(try await harness.ask("POST", "/v1/downloads/\(active.id)/pause").status == 409)
        #expect(try await harness.ask("POST", "/v1/downloads/\(active.id)/resume").status == 200)
        _ = try await agent.transaction("finished")
        #expect(try await harness.ask("POST", "/v1/downloads/\(active.id)/cancel").status == 409)
      }
    }
  }

  @Test("the library gives a product up, and a restore brings it back") func removing() async throws {
    let package = try FixturePackage.folder()
    let server = FakeServer([package])
    let harness = try AgentHarness()
    try await server.open { url in
      try await harness.run(server: url) { agent in
        try server.queuePurchase()
        _ = try await agent.transaction("finished")
        #expect(try await harness.ask("DELETE", "/v1/library/\(FixturePackage.product)").status == 204)
        #expect(try await harness.ask("DELETE", "/v1/library/\(FixturePackage.product)").status == 404)
        #expect(try await harness.get("/v1/library", as: LibraryResponse.self).items.isEmpty)
        #expect(try !harness.placed(package))
        let plan = try await harness.get("/v1/restore", as: EntitlementsResponse.self).products
        #expect(plan.map(\.product.description) == [FixturePackage.product])
        #expect(try await harness.ask("POST", "/v1/restore").status == 202)
        _ = try await agent.event { event in
          guard case .library(let event) = event else { return false }
          return event.change == .placed
        }
        #expect(try harness.placed(package))
      }
    }
  }

  @Test("unknown things are told by name") func unknown() async throws {
    let harness = try AgentHarness()
    let server = FakeServer()
    try await server.open { url in
      try await harness.run(server: url) { _ in
        for (method, path) in [
          ("POST", "/v1/downloads/0011223344556677/pause"), ("POST", "/v1/downloads/x/cancel"),
          ("PATCH", "/v1/downloads/0011223344556677"),
        ] {
          let answer = try await harness.ask(method, path, #"{"priority":1}"#)
          #expect(try APIJSON.decode(Problem.self, from: answer.body).code == .downloadUnknown)
        }
        #expect(try await harness.ask("GET", "/v1/nothing").status == 404)
        #expect(try await harness.ask("DELETE", "/v1/status").status == 405)
      }
    }
  }

  @Test("a priority is taken within its bounds") func priority() async throws {
    let package = try FixturePackage.file(length: 1000)
    let server = FakeServer([package])
    server.change { $0.refusals["POST /v1/grants"] = [Problem(.unavailable)] }
    let harness = try AgentHarness()
    try await server.open { url in
      try await harness.run(server: url) { agent in
        try server.queuePurchase()
        let identifier = try await agent.download(.waiting, "server-unavailable").id
        let path = "/v1/downloads/\(identifier)"
        #expect(try await harness.ask("PATCH", path, #"{"priority":5}"#).status == 200)
        #expect(try await harness.ask("PATCH", path, #"{"priority":5000}"#).status == 400)
      }
    }
  }

  @Test("an observer gets the live downloads first, then changes, and a sign of life") func events()
    async throws
  {
    let package = try FixturePackage.file(length: 3000)
    let server = FakeServer([package])
    server.change { $0.refusals["POST /v1/grants"] = [Problem(.unavailable)] }
    let harness = try AgentHarness()
    try await server.open { url in
      try await harness.run(server: url) { agent in
        try server.queuePurchase()
        _ = try await agent.download(.waiting, "server-unavailable")
        let reader = StreamReader(until: "\"step\":\"finished\"")
        var request = ClientRequest(method: "GET", url: "http://agent/v1/events")
        request.unixSocketPath = harness.directory.path("agent.sock")
        let sent = request
        async let reading: Void = reader.run(sent, harness.client)
        await reader.hasSeen("\n:\n\n")
        #expect(reader.text.contains("event: transaction\ndata: {"))
        #expect(reader.text.contains("event: download\ndata: {"))
        server.change { $0.refusals = [:] }
        await reading
        #expect(reader.text.contains("event: library\ndata: {\"change\":\"placed\""))
        #expect(reader.text.contains("\"timeRemaining\":null"))
      }
    }
  }

  @Test("an agent at rest shows its pulse (R2)") func pulse() async throws {
    let harness = try AgentHarness()
    try await FakeServer().open { url in
      try await harness.run(server: url) { agent in
        for _ in 0..<3 { await agent.pulse() }
      }
    }
  }

  /// The loop that the watchdog is to find standing still.
  enum AgentLoop: String, CaseIterable, Sendable {
    case downloads, storeQueue, serverQuestions, reports

    func run(in agent: AgentService) async {
      switch self {
      case .downloads: await agent.downloads.run()
      case .storeQueue: await agent.transactions.watchQueue()
      case .serverQuestions: await agent.transactions.watchServer()
      case .reports: await agent.transactions.watchDownloads()
      }
    }
  }

  @Test(
    "an agent of which one loop stands still shows no pulse until that one turns (R2)",
    arguments: AgentLoop.allCases)
  func stillLoop(_ still: AgentLoop) async throws {
    let harness = try AgentHarness()
    try await FakeServer().open { url in
      try await harness.run(server: url, runs: false) { agent in
        await withTaskGroup(of: Void.self) { group in
          for loop in AgentLoop.allCases where loop != still {
            group.addTask { await loop.run(in: agent) }
          }
          await #expect(throws: TimeoutError.self) {
            try await withTimeout(.milliseconds(500)) {
              await agent.pulse()
            } expired: {
              TimeoutError()
            }
          }
          group.addTask { await still.run(in: agent) }
          await agent.pulse()
          group.cancelAll()
        }
      }
    }
  }

  @Test("a second agent cannot use the same state") func locked() async throws {
    let harness = try AgentHarness()
    try await FakeServer().open { url in
      _ = try await harness.run(server: url) { _ in
        await #expect(throws: (any Error).self) { try await harness.run(server: url) { _ in } }
      }
    }
  }
}

private struct TimeoutError: Error {}

/// Collects an event stream until a text has come.
private final class StreamReader: TransferReceiver {
  private struct State {
    var text = ""
    var waiting: [(String, CheckedContinuation<Void, Never>)] = []
  }

  private let end: String
  private let state = Mutex(State())

  init(until end: String) {
    self.end = end
  }

  var text: String { state.withLock { $0.text } }

  func run(_ request: ClientRequest, _ client: HTTPClient) async {
    // Ends by refusing more, which the client reports as an error.
    _ = try? await client.stream(request, to: self)
  }

  func hasSeen(_ part: String) async {
    await withCheckedContinuation { continuation in
      let isThere = state.withLock { state in
        if state.text.contains(part) { return true }
        state.waiting.append((part, continuation))
        return false
      }
      if isThere { continuation.resume() }
    }
  }

  func receive(head: ResponseHead) -> HeadDecision { head.status == 200 ? .accept : .refuse }

  func receive(_ bytes: Span<UInt8>) -> BodyDecision {
    let piece = (0..<bytes.count).map { bytes[$0] }
    let (due, isOver) = state.withLock { state in
      if state.text.contains(end) { return ([CheckedContinuation<Void, Never>](), true) }
      state.text += String(decoding: piece, as: UTF8.self)
      let text = state.text
      let due = state.waiting.filter { text.contains($0.0) }.map(\.1)
      state.waiting.removeAll { text.contains($0.0) }
      return (due, false)
    }
    for continuation in due { continuation.resume() }
    return isOver ? .stop : .consumed
  }
}
