import AgentTesting
import Commerce
import ContentPackage
import CoreTypes
import HTTPClient
import PackageTesting
import PullboxAPI
import PullboxTesting
import ServiceRuntime
import Testing

@testable import AgentRecords
@testable import ContentLibrary
@testable import DownloadAgent

/// docs/agent.md, "Versions": leases and the way back, on the socket.
@Suite("Versions that are kept open, and the way back to them", .serialized, .timeLimit(.minutes(5)))
struct LibraryLeaseTests {
  private static let path = "/v1/library/\(FixturePackage.product)"

  /// Places the first version, and gives `body` an agent at whose server is the second, which nothing has asked for yet.
  private func corrected(
    _ harness: AgentHarness, keeping previous: Duration?,
    _ body: @escaping @Sendable (AgentService, FakeServer) async throws -> Void
  ) async throws {
    let first = FakeServer([try FixturePackage.file(length: 20_000, seed: 1)])
    try await first.open { url in
      try await harness.run(server: url) { agent in
        try first.queuePurchase(transaction: "2000000000000001")
        try await agent.finished(["2000000000000001"])
      }
    }
    let second = FakeServer([try FixturePackage.file(length: 20_000, version: "1.1", seed: 2)])
    try await second.open { url in
      try await harness.run(
        server: url, configure: { $0.keepPrevious = previous.map { ConfigurationDuration($0) } }
      ) { agent in
        try await body(agent, second)
      }
    }
  }

  private func versions(_ harness: AgentHarness) async throws -> [String] {
    try await harness.get("/v1/library", as: LibraryResponse.self).items.map { "\($0.version)" }
  }

  @Test("a lease keeps its version through a correction, and the version goes when its connection ends")
  func connection() async throws {
    let harness = try AgentHarness()
    try await corrected(harness, keeping: .zero) { agent, server in
      let reader = try RawConnection.unix(path: harness.directory.path("agent.sock"))
      try await reader.send(
        "POST \(Self.path)/leases HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n")
      let head = try await reader.receive(through: "\r\n\r\n")
      #expect(head.hasPrefix("HTTP/1.1 200 ") && head.contains("application/x-ndjson"))
      while agent.library.leases.count == 0 { await Task.yield() }
      async let gone = agent.event { event in
        guard case .library(let event) = event else { return false }
        return event.change == .removed && "\(event.item.version)" == "1.0"
      }
      try server.queuePurchase(transaction: "2000000000000002")
      try await agent.finished(["2000000000000002"])
      #expect(try await versions(harness) == ["1.0", "1.1"])
      reader.reset()
      _ = try await gone
      #expect(try await versions(harness) == ["1.1"])
    }
  }

  @Test(
    "the version before stays for keepPrevious, is read again after a way back, and is left on the way on")
  func rollback() async throws {
    let harness = try AgentHarness()
    try await corrected(harness, keeping: nil) { agent, server in
      try server.queuePurchase(transaction: "2000000000000002")
      try await agent.finished(["2000000000000002"])
      func read(_ body: String? = nil) async throws -> String? {
        let answer = try await harness.ask("POST", "\(Self.path)/rollback", body)
        #expect(answer.status == 200)
        let items = try APIJSON.decode(LibraryResponse.self, from: answer.body).items
        return items.current(of: try #require(ProductIdentifier(FixturePackage.product))).map {
          "\($0.version)"
        }
      }
      #expect(try await versions(harness) == ["1.0", "1.1"])
      #expect(try await read() == "1.0")
      #expect(try await harness.ask("POST", "\(Self.path)/rollback").status == 409)
      #expect(try await read(#"{"version":"1.1"}"#) == "1.1")
      for (path, body, status) in [
        ("\(Self.path)/rollback", #"{"version":"7"}"#, 404),
        ("/v1/library/com.example.none/rollback", "{}", 404),
        ("\(Self.path)/leases", #"{"version":"7"}"#, 404), ("/v1/library/com.example.none/leases", "{}", 404),
        ("\(Self.path)/leases", #"{"version":7}"#, 400),
      ] {
        #expect(try await harness.ask("POST", path, body).status == status, "\(path) \(body)")
      }
      #expect(agent.library.leases.count == 0)
    }
  }

  @Test("an agent that ends waits for no lease")
  func end() async throws {
    let harness = try AgentHarness()
    let readers = Locked<[RawConnection]>([])
    try await corrected(harness, keeping: nil) { agent, _ in
      let reader = try RawConnection.unix(path: harness.directory.path("agent.sock"))
      try await reader.send("POST \(Self.path)/leases HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n")
      _ = try await reader.receive(through: "\r\n\r\n")
      while agent.library.leases.count == 0 { await Task.yield() }
      readers.withLock { $0.append(reader) }
    }
    // The stream ended as one does, with its last chunk.
    let reader = try #require(readers.current.first)
    var rest: [UInt8] = []
    while case let bytes = try await reader.receive(upTo: 4096), !bytes.isEmpty { rest += bytes }
    #expect(String(decoding: rest, as: UTF8.self).hasSuffix("0\r\n\r\n"))
  }
}
