import AgentTesting
import Commerce
import ContentPackage
import CoreTypes
import Crypto
import Files
import HTTPClient
import PackageTesting
import PullboxAPI
import PullboxTesting
import ServiceRuntime
import SystemCalls
import Testing

@testable import AgentRecords
@testable import DownloadAgent

/// The options that make the agent's records, or its identity, anew at a start.
@Suite(.serialized, .timeLimit(.minutes(10))) struct RebuildTests {
  private static let transactions = (1...3).map { "200000000000000\($0)" }

  /// The damage to the agent's database.
  enum Loss: String, CaseIterable, Sendable {
    case nothing, removed, damaged
  }

  private func lose(_ loss: Loss, _ database: String) throws {
    switch loss {
    case .nothing: break
    case .removed:
      for end in ["", "-wal", "-shm"] { _ = try FileSystem.removeFile(database + end) }
    case .damaged:
      let file = try FileDescriptor.open(database, .readWrite)
      try file.write(FixturePackage.noise(8192, seed: 3).span, at: .zero)
    }
  }

  @Test(
    "a first start that was cut off before the device had a name is made again", arguments: ["", "device-id"])
  func firstStart(there: String) async throws {
    let harness = try AgentHarness()
    let state = harness.directory.path("state")
    try FileSystem.createDirectories(state, permissions: 0o700)
    if !there.isEmpty {
      _ = try DeviceIdentity.load(from: state)
      try FileSystem.removeFile("\(state)/device-key")
    }
    try AgentDatabase(path: "\(state)/agent.sqlite").close()
    let server = FakeServer([])
    try await server.open { url in
      try await harness.run(server: url) { _ in
        let answer = try await harness.ask("GET", "/v1/status")
        #expect(answer.status == 200)
      }
    }
    #expect(try DeviceIdentity.isThere(in: state))
  }

  @Test(
    "--rebuild knows the library again, asks the store for its queue, fetches nothing, and finishes what was open",
    arguments: Loss.allCases)
  func rebuild(loss: Loss) async throws {
    let harness = try AgentHarness()
    let packages = [
      try FixturePackage.folder(product: "com.example.p1"),
      try FixturePackage.file(length: 3 << 20, product: "com.example.p2", seed: 2),
      try FixturePackage.file(length: 1000, product: "com.example.p3", seed: 3),
    ]
    let server = FakeServer(packages)
    let state = harness.directory.path("state")
    try await server.open { url in
      try await harness.run(server: url) { agent in
        for number in 1...2 {
          try server.queuePurchase("com.example.p\(number)", transaction: Self.transactions[number - 1])
        }
        try await agent.finished(Array(Self.transactions.prefix(2)))
        #expect(try await harness.ask("POST", "/v1/library/com.example.p2/pin").status == 200)
        server.change { $0.isStoreUp = false }
        try server.queuePurchase("com.example.p3", transaction: Self.transactions[2])
        _ = try await agent.transaction(Self.transactions[2], isAt: "waiting-for-server")
      }
      try lose(loss, "\(state)/agent.sqlite")
      let device = try DeviceIdentity.load(from: state).identifier
      server.change { $0.sent = [] }
      try await harness.run(server: url, configure: { $0.rebuild = true }) { agent in
        let status = try await harness.get("/v1/status", as: AgentStatus.self)
        #expect(status.device == device && status.libraryState == .present)
        let items = try await harness.get("/v1/library", as: LibraryResponse.self).items
        #expect(items.map(\.product.description) == packages.map(\.manifest.product.description))
        #expect(items.map(\.state) == [.present, .present, .present])
        #expect(items.map { $0.pinned == true } == [false, true, false])
        _ = try await agent.transaction(Self.transactions[2], isAt: "waiting-for-server")
        server.change { $0.isStoreUp = true }
        try await agent.finished([Self.transactions[2]])
        // Transactions that the store has finished are history, and the history is gone.
        #expect(try await harness.transactions().map(\.id.description) == [Self.transactions[2]])
        let verified = try await harness.ask("POST", "/v1/library/com.example.p1/verify")
        let found = try APIJSON.decode(LibraryVerificationResponse.self, from: verified.body)
        #expect(found.items.map(\.state) == [.present])
      }
    }
    #expect(server.state.current.sent.isEmpty)
    for package in packages { #expect(try harness.placed(package)) }
    // The file with the earlier records is kept.
    let kept = try FileSystem.list(state).map(\.name).filter { $0.hasPrefix("agent.sqlite.replaced-") }
    #expect(kept.isEmpty == (loss == .removed))
  }

  @Test("--new-identity asks for an open grant as another device, and the download goes on")
  func newIdentity() async throws {
    let harness = try AgentHarness()
    let package = try FixturePackage.file(length: 3 << 20)
    let server = FakeServer([package])
    server.change { $0.refusals["GET /v1/content/manifest"] = [Problem(.unavailable)] }
    let state = harness.directory.path("state")
    try await server.open { url in
      try server.queuePurchase()
      try await harness.run(server: url) { agent in
        _ = try await agent.download(.waiting, "server-unavailable")
      }
      let before = try DeviceIdentity.load(from: state)
      #expect(server.state.current.deviceKey == before.key.verificationKey)
      // A device that has lost its key cannot go on without the operator's word.
      try FileSystem.removeFile("\(state)/device-key")
      await #expect(throws: StateDirectoryError.self) { try await harness.run(server: url) { _ in } }
      server.change {
        $0.refusals = [:]
        $0.asked = []
      }
      try await harness.run(server: url, configure: { $0.newIdentity = true }) { agent in
        try await agent.finished(["2000000000000001"])
        let device = try await harness.get("/v1/status", as: AgentStatus.self).device
        #expect(device != before.identifier && server.state.current.queueDevice == device.description)
      }
    }
    #expect(server.state.current.asked.contains("POST /v1/grants"))
    #expect(server.state.current.deviceKey != nil && server.state.current.reports.count == 1)
    #expect(try DeviceIdentity.load(from: state).key.verificationKey == server.state.current.deviceKey)
    #expect(try FileSystem.list(state).contains { $0.name.hasPrefix("device-id.replaced-") })
    #expect(try harness.placed(package))
  }
}
