import AgentTesting
import Commerce
import ContentPackage
import CoreTypes
import HTTPClient
import PackageTesting
import PullboxAPI
import PullboxTesting
import Testing

@testable import AgentRecords
@testable import DownloadAgent

@Suite("Downloads that did not end well") struct EndedDownloadTests {
  private static let transaction = "2000000000000001"

  @Test("one that was canceled keeps nothing open once a restore has delivered its product")
  func canceledAndRestored() async throws {
    let harness = try AgentHarness()
    let package = try FixturePackage.file(length: 2 << 20)
    let server = FakeServer([package])
    server.change {
      $0.contentFaults = [.stall(after: 1000)]
      $0.isStoreUp = false
    }
    try await server.open { url in
      try server.queuePurchase()
      // The restore goes on with what the canceled one had begun, over the connection that says nothing.
      try await harness.run(server: url, stallAfter: .seconds(3)) { agent in
        let first = try await agent.download(.active, "transferring")
        #expect(try await harness.ask("POST", "/v1/downloads/\(first.id)/cancel").status == 200)
        _ = try await agent.transaction("delivering", "download-cancelled")
        #expect(try await harness.ask("POST", "/v1/restore").status == 202)
        _ = try await agent.transaction("waiting-for-server", "store-not-answered")
        server.change { $0.isStoreUp = true }
        try await agent.finished([Self.transaction])
      }
    }
    #expect(try harness.placed(package))
  }

  @Test("a restore goes on with one that failed, and begins no other beside it")
  func failedAndRestored() async throws {
    let harness = try AgentHarness()
    let package = try FixturePackage.file(length: 1 << 20)
    let server = FakeServer([package])
    server.change { $0.refusals["POST /v1/grants"] = [Problem(.deviceLimit)] }
    try await server.open { url in
      try server.queuePurchase()
      try await harness.run(server: url) { agent in
        let failed = try await agent.ended()
        #expect(failed.state == .failed)
        server.change { $0.refusals = [:] }
        #expect(try await harness.ask("POST", "/v1/restore").status == 202)
        try await agent.finished([Self.transaction])
        #expect(try await harness.downloads().map(\.id) == [failed.id])
      }
    }
  }

  @Test(
    "one that failed after its transaction was over is forgotten with the history", arguments: [true, false])
  func forgotten(isAsked: Bool) async throws {
    let harness = try AgentHarness()
    let package = try FixturePackage.file(length: 1 << 20)
    let server = FakeServer([package])
    try await server.open { url in
      try server.queuePurchase()
      try await harness.run(server: url) { agent in
        try await agent.finished([Self.transaction])
        #expect(try await harness.ask("DELETE", "/v1/library/\(package.manifest.product)").status == 204)
        server.change { $0.refusals["POST /v1/grants"] = [Problem(.deviceLimit)] }
        #expect(try await harness.ask("POST", "/v1/restore").status == 202)
        _ = try await agent.download(.failed)
        if isAsked {
          #expect(try await harness.ask("DELETE", "/v1/downloads").status == 200)
          #expect(try await harness.downloads().isEmpty)
        }
      }
      let database = try AgentDatabase(path: harness.directory.path("state/agent.sqlite"))
      defer { database.close() }
      guard !isAsked else { return }
      // A start half a year later does this.
      let later = Timestamp(millisecondsSinceEpoch: .max / 2)
      try database.endOldFailures(now: later)
      try database.pruneDownloads(now: later)
      #expect(try database.liveDownloads().isEmpty)
    }
  }
}
