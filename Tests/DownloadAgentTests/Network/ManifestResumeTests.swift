import AgentTesting
import Commerce
import ContentPackage
import CoreTypes
import Crypto
import HTTPClient
import PackageTesting
import PullboxAPI
import PullboxTesting
import Testing

@testable import ContentLibrary
@testable import DownloadAgent

@Suite("A manifest over connections that break") struct ManifestResumeTests {
  @Test("it is gone on with where it was cut, so that it ends, and no byte of it comes twice (D12)")
  func cuts() async throws {
    let harness = try AgentHarness()
    let package = try FixturePackage.folder()
    let length = package.manifest.canonicalBytes().count
    let server = FakeServer([package])
    server.change { $0.manifestCut = length / 5 }
    try await server.open { url in
      try server.queuePurchase()
      try await harness.run(server: url) { agent in try await agent.finished(["2000000000000001"]) }
    }
    let sent = server.state.current.manifestsSent
    #expect(sent.count >= 5 && sent.first?.lowerBound == 0 && sent.last?.upperBound == length)
    #expect(zip(sent, sent.dropFirst()).allSatisfy { $0.upperBound == $1.lowerBound })
    #expect(try harness.placed(package))
  }
}
