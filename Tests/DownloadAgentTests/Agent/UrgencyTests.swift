import AgentTesting
import Commerce
import ContentPackage
import CoreTypes
import HTTPClient
import PackageTesting
import PullboxAPI
import Testing

@testable import DownloadAgent

/// The whole agent with one place, which a download that is wanted now takes from another one.
@Suite(.serialized, .timeLimit(.minutes(10))) struct UrgencyTests {
  private static let other = "com.example.other"

  @Test(
    "a download that is wanted now takes the place of a running one, which goes on at its byte",
    arguments: [DownloadUrgency.normal, .background])
  func preempted(running: DownloadUrgency) async throws {
    let (long, short) = (
      try FixturePackage.file(length: 3 << 20),
      try FixturePackage.file(length: 2 << 20, product: Self.other, seed: 2)
    )
    let server = FakeServer([long, short])
    // The second piece of the first answer never comes.
    server.change { $0.contentFaults = [.stall(after: 1_500_000)] }
    let harness = try AgentHarness()
    try await server.open { url in
      try await harness.run(server: url, maximumDownloads: 1) { agent in
        try server.queuePurchase()
        let first = try await agent.firstDownload { $0.bytesReceived >= ByteCount(1_500_000) }
        let path = "/v1/downloads/\(first.id)"
        #expect(try await harness.ask("PATCH", path, #"{"urgency":"\#(running.rawValue)"}"#).status == 200)
        try server.queuePurchase(Self.other, transaction: "2000000000000002")
        let second = try await agent.firstDownload {
          $0.product.description == Self.other && $0.reason == "queued"
        }
        #expect(second.state == .waiting && second.urgency == .normal, "nothing is interrupted unasked")
        let urgent = try await harness.ask("PATCH", "/v1/downloads/\(second.id)", #"{"urgency":"now"}"#)
        #expect(urgent.status == 200)
        let held = try await agent.firstDownload { $0.id == first.id && $0.reason == "preempted" }
        #expect(held.state == .waiting)
        _ = try await agent.firstDownload { $0.id == second.id && $0.state == .finished }
        let ended = try await agent.firstDownload { $0.id == first.id && $0.state == .finished }
        #expect(ended.bytesReceived == long.manifest.length, "not a byte came twice")
        #expect(ended.urgency == running)
      }
    }
    #expect(try harness.placed(long) && harness.placed(short))
  }

  @Test("an urgency outlives a restart, and one that there is not is refused") func kept() async throws {
    let package = try FixturePackage.file(length: 1000)
    let server = FakeServer([package])
    server.change { $0.refusals["POST /v1/grants"] = [Problem(.unavailable)] }
    let harness = try AgentHarness()
    try await server.open { url in
      let identifier = try await harness.run(server: url) { agent in
        try server.queuePurchase()
        let identifier = try await agent.download(.waiting, "server-unavailable").id
        let path = "/v1/downloads/\(identifier)"
        #expect(try await harness.ask("PATCH", path, #"{"urgency":"background","priority":3}"#).status == 200)
        #expect(try await harness.ask("PATCH", path, #"{"urgency":"soon"}"#).status == 400)
        return identifier
      }
      try await harness.run(server: url) { agent in
        let status = try await agent.downloads.status(identifier)
        #expect(status.urgency == .background && status.priority == 3)
      }
    }
  }
}
