import AgentTesting
import Commerce
import ContentPackage
import CoreTypes
import PackageTesting
import PullboxAPI
import ServiceAPI
import SystemCalls
import Testing

@testable import DownloadAgent

/// The whole agent with an issue in its library, of which a corrected version is released.
@Suite(.serialized, .timeLimit(.minutes(10))) struct ReuseTests {
  private func queuePurchase(
    _ package: FixturePackage, previous: PreviousContent?, with harness: AgentHarness
  ) async throws -> (server: FakeServer, status: DownloadStatus) {
    let server = FakeServer([package])
    server.change { $0.previous = previous }
    let version = package.manifest.version
    let status = try await server.open { url in
      try await harness.run(server: url) { agent in
        try server.queuePurchase(transaction: "20000000000000" + version.description.filter { $0 != "." })
        return try await agent.ended(version.description)
      }
    }
    return (server, status)
  }

  @Test(
    "of a corrected version only the pieces with bytes that changed are fetched", arguments: [true, false])
  func corrected(isFolder: Bool) async throws {
    let harness = try AgentHarness()
    let (first, second): (FixturePackage, FixturePackage)
    if isFolder {
      first = try FixturePackage.folder()
      second = try FixturePackage.folder(
        version: "1.1", firstPage: FixturePackage.noise(650_000, seed: 99), following: first.manifest)
    } else {
      first = try FixturePackage.file(length: 5 << 20)
      var bytes = first.bytes
      bytes[3 << 20] ^= 1
      second = try FixturePackage.file(bytes, version: "1.1")
    }
    _ = try await queuePurchase(first, previous: nil, with: harness)
    let previous = PreviousContent(version: first.manifest.version, digest: first.manifest.digest)
    let (server, status) = try await queuePurchase(second, previous: previous, with: harness)
    let difference = VersionDifference(from: first.manifest, to: second.manifest)
    #expect(status.bytesReceived == difference.fetchedLength && difference.keptLength > .mebibytes(2))
    let sent = server.timesSent(second)
    #expect(sent.indices.filter { sent[$0] > 0 } == difference.neededPieces)
    #expect(try harness.placed(first) && harness.placed(second))
  }

  @Test("where the server speaks of no version before, or of one that is not there, everything is fetched")
  func unknown() async throws {
    let harness = try AgentHarness()
    let first = try FixturePackage.folder()
    let second = try FixturePackage.folder(
      version: "1.1", firstPage: FixturePackage.noise(650_000, seed: 99), following: first.manifest)
    _ = try await queuePurchase(first, previous: nil, with: harness)
    let other = PreviousContent(version: first.manifest.version, digest: second.manifest.digest)
    let (server, status) = try await queuePurchase(second, previous: other, with: harness)
    #expect(status.bytesReceived == second.manifest.length)
    #expect(server.timesSent(second).allSatisfy { $0 == 1 })
    #expect(try harness.placed(second))
  }
}
