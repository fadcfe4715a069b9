import Commerce
import ContentPackage
import CoreTypes
import PullboxAPI
import SystemCalls
import Testing

@testable import DownloadAgent

/// The whole agent with an issue in its library, of which a corrected version is released.
@Suite(.serialized, .timeLimit(.minutes(10))) struct ReuseTests {
  private func sell(
    _ goods: Goods, previous: PreviousContent?, with harness: AgentHarness
  ) async throws -> (shop: Shop, status: DownloadStatus) {
    let shop = Shop([goods])
    shop.change { $0.previous = previous }
    let version = goods.manifest.version
    let status = try await shop.open { url in
      try await harness.run(server: url) { agent in
        try shop.sell(transaction: "20000000000000" + version.text.filter { $0 != "." })
        return try await agent.ended(version.text)
      }
    }
    return (shop, status)
  }

  @Test(
    "of a corrected version only the pieces with bytes that changed are fetched", arguments: [true, false])
  func corrected(isFolder: Bool) async throws {
    let harness = try AgentHarness()
    let (first, second): (Goods, Goods)
    if isFolder {
      first = try Goods.folder()
      second = try Goods.folder(
        version: "1.1", firstPage: Goods.noise(650_000, seed: 99), following: first.manifest)
    } else {
      first = try Goods.file(length: 5 << 20)
      var bytes = first.bytes
      bytes[3 << 20] ^= 1
      second = try Goods.file(bytes, version: "1.1")
    }
    _ = try await sell(first, previous: nil, with: harness)
    let previous = PreviousContent(version: first.manifest.version, digest: first.manifest.digest)
    let (shop, status) = try await sell(second, previous: previous, with: harness)
    let difference = VersionDifference(from: first.manifest, to: second.manifest)
    #expect(status.bytesReceived == difference.fetchedLength && difference.keptLength > .mebibytes(2))
    let sent = shop.timesSent(second)
    #expect(sent.indices.filter { sent[$0] > 0 } == difference.neededPieces)
    #expect(try harness.placed(first) && harness.placed(second))
  }

  @Test("where the server speaks of no version before, or of one that is not there, everything is fetched")
  func unknown() async throws {
    let harness = try AgentHarness()
    let first = try Goods.folder()
    let second = try Goods.folder(
      version: "1.1", firstPage: Goods.noise(650_000, seed: 99), following: first.manifest)
    _ = try await sell(first, previous: nil, with: harness)
    let other = PreviousContent(version: first.manifest.version, digest: second.manifest.digest)
    let (shop, status) = try await sell(second, previous: other, with: harness)
    #expect(status.bytesReceived == second.manifest.length)
    #expect(shop.timesSent(second).allSatisfy { $0 == 1 })
    #expect(try harness.placed(second))
  }
}
