import AgentTesting
import Commerce
import CoreTypes
import HTTPClient
import PackageTesting
import PullboxAPI
import PullboxTesting
import ServiceRuntime
import Testing

@testable import AgentRecords
@testable import DownloadAgent

/// docs/agent.md, "Reading": places of reading on the customer's other devices.
@Suite("Reading on the customer's other devices", .serialized, .timeLimit(.minutes(5)))
struct ReadingExchangeTests {
  private static let product = FixturePackage.product
  private static let path = "/v1/library/\(product)/progress"

  private static func comic(_ names: [String], version: String = "1.0") throws -> FixturePackage {
    let files = Dictionary(
      uniqueKeysWithValues: names.enumerated().map { ($1, jpeg($0 + 1, length: 3000 + $0)) })
    return try FixturePackage.folder(of: files, product: product, version: version)
  }

  /// An agent that has delivered a comic of four pages.
  private func run(
    _ harness: AgentHarness? = nil, _ server: FakeServer? = nil,
    _ body: @escaping @Sendable (AgentHarness, FakeServer) async throws -> Void
  ) async throws {
    let harness = try harness ?? AgentHarness()
    let server = try server ?? FakeServer([Self.comic(["1.jpg", "2.jpg", "3.jpg", "4.jpg"])])
    try await server.open { url in
      try await harness.run(server: url) { agent in
        try server.queuePurchase(Self.product, transaction: "2000000000000001")
        try await agent.finished(["2000000000000001"])
        try await body(harness, server)
      }
    }
  }

  @Test("a page that is turned is told to the server, with its name") func told() async throws {
    try await run { harness, server in
      _ = try await harness.ask("PUT", Self.path, #"{"page":2}"#)
      while !(server.state.current.readingTold.last?.page == 2) { await Task.yield() }
      let told = try #require(server.state.current.readingTold.last)
      #expect(told.pageName == "3.jpg" && told.version.map { "\($0)" } == "1.0" && told.progression == 0.75)
    }
  }

  @Test("a later word of another device counts here, and an earlier one does not") func heard() async throws {
    try await run { harness, server in
      _ = try await harness.ask("PUT", Self.path, #"{"page":1,"modified":"2026-01-02T00:00:00.000Z"}"#)
      while !(server.state.current.readingTold.count == 1) { await Task.yield() }
      let grant = try #require(server.state.current.reading.keys.first)
      for (day, expected) in [(1, 1), (3, 3)] {
        let modified = try #require(Timestamp(rfc3339: "2026-01-0\(day)T00:00:00.000Z"))
        server.change {
          $0.reading[grant] = ReadingProgress(modified: modified, device: .init(id: "tablet"), page: 3)
        }
        let told = try APIJSON.decode(
          ReadingResponse.self, from: try await harness.ask("GET", Self.path).body)
        #expect(told.progress?.page == expected)
      }
    }
  }

  @Test("a page of another version is found by its name") func otherVersion() async throws {
    try await run { harness, server in
      _ = try await harness.ask("PUT", Self.path, #"{"page":0,"modified":"2026-01-02T00:00:00.000Z"}"#)
      while !(server.state.current.reading.count == 1) { await Task.yield() }
      let modified = try #require(Timestamp(rfc3339: "2026-01-03T00:00:00.000Z"))
      server.change { state in
        for grant in state.reading.keys {
          state.reading[grant] = ReadingProgress(
            modified: modified, device: .init(id: "tablet"), page: 7, version: ContentVersion("2.0"),
            pageName: "2.jpg")
        }
      }
      let told = try APIJSON.decode(ReadingResponse.self, from: try await harness.ask("GET", Self.path).body)
      #expect(told.progress?.page == 1)
    }
  }

  @Test("what was not told while the server was away is told by the next process") func away() async throws {
    let harness = try AgentHarness()
    let server = FakeServer([try Self.comic(["1.jpg", "2.jpg"])])
    try await run(harness, server) { harness, server in
      server.change {
        $0.refusals["PUT /v1/grants/progress"] = Array(repeating: Problem(.unavailable), count: 1000)
      }
      _ = try await harness.ask("PUT", Self.path, #"{"page":1}"#)
      while !(server.state.current.asked.contains("PUT /v1/grants/progress")) { await Task.yield() }
      #expect(server.state.current.readingTold.isEmpty)
    }
    server.change { $0.refusals = [:] }
    try await run(harness, server) { harness, server in
      while !(server.state.current.readingTold.last?.page == 1) { await Task.yield() }
    }
  }

  @Test("reading that is private is told to nobody, and nobody is asked") func privately() async throws {
    let harness = try AgentHarness()
    let server = FakeServer([try Self.comic(["1.jpg", "2.jpg"])])
    try await server.open { url in
      try await harness.run(server: url, configure: { $0.privateReading = true }) { agent in
        try server.queuePurchase(Self.product, transaction: "2000000000000001")
        try await agent.finished(["2000000000000001"])
        _ = try await harness.ask("PUT", Self.path, #"{"page":1}"#)
        let told = try await harness.get(Self.path, as: ReadingResponse.self)
        #expect(told.progress?.page == 1)
      }
    }
    #expect(!server.state.current.asked.contains { $0.hasSuffix("/progress") })
  }

  @Test("a server of an earlier version, and a page in its place, are told later") func notYet() async throws
  {
    try await run { harness, server in
      server.change {
        $0.refusals["PUT /v1/grants/progress"] = [
          Problem(.notFound), Problem(.methodNotAllowed), Problem(.notFound),
        ]
      }
      _ = try await harness.ask("PUT", Self.path, #"{"page":1}"#)
      while server.state.current.asked.count(where: { $0 == "PUT /v1/grants/progress" }) < 3 {
        await Task.yield()
      }
      server.change { $0.refusals = [:] }
      while server.state.current.readingTold.last?.page != 1 { await Task.yield() }
    }
  }

  @Test("what the server refuses is not told again, and reading goes on here") func refused() async throws {
    try await run { harness, server in
      server.change { $0.refusals["PUT /v1/grants/progress"] = [Problem(.entitlementRevoked)] }
      _ = try await harness.ask("PUT", Self.path, #"{"page":1}"#)
      while !(server.state.current.asked.contains("PUT /v1/grants/progress")) { await Task.yield() }
      server.change { $0.refusals = [:] }
      _ = try await harness.ask("PUT", Self.path, #"{"page":2}"#)
      while !(server.state.current.readingTold.count == 1) { await Task.yield() }
      #expect(server.state.current.readingTold.map(\.page) == [2])
    }
  }
}
