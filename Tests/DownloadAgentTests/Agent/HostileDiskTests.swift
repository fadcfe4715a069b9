import CoreTypes
import Glibc
import PullboxAPI
import PullboxTesting
import SystemCalls
import Testing

@testable import DownloadAgent

/// The whole agent on a disk that fails.
@Suite(.serialized, .timeLimit(.minutes(10))) struct HostileDiskTests {
  private func deliver(
    _ package: FixturePackage, _ faults: [FakeServer.ContentFault] = [], with harness: AgentHarness
  ) async throws -> FakeServer {
    let server = FakeServer([package])
    server.change { $0.contentFaults = faults }
    let status = try await server.open { url in
      try await harness.run(server: url) { agent in
        try server.queuePurchase()
        return try await agent.ended()
      }
    }
    #expect(status.state == .finished, "\(status.reason)")
    #expect(try harness.placed(package))
    #expect(try FileSystem.list("\(harness.library)/.staging").isEmpty)
    return server
  }

  @Test("after a sync that failed, what it was to save is fetched again, and only then reported (D8)")
  func failedSync() async throws {
    let harness = try AgentHarness()
    let package = try FixturePackage.folder()
    let isFirst = Locked(true)
    harness.operations.answer { call, _ in
      guard call == .awaitWriteback || call == .synchronizeFileSystem else { return nil }
      return isFirst.withLock { isFirst in
        defer { isFirst = false }
        return isFirst ? EIO : nil
      }
    }
    let server = try await deliver(package, with: harness)
    #expect(!isFirst.current)
    #expect(server.timesSent(package).contains(2))
    #expect(server.timesSent(package).allSatisfy { $0 >= 1 && $0 <= 2 })
  }

  @Test("connections that are lost make the agent read nothing of what it wrote (R6)")
  func lostConnections() async throws {
    let harness = try AgentHarness()
    let package = try FixturePackage.file(length: 6 << 20)
    let openings = Locked(0)
    harness.operations.answer { call, name in
      // What an area is known by when it is opened again.
      if call == .read, name.contains("/.staging/"), name.hasSuffix("/manifest") {
        openings.withLock { $0 += 1 }
      }
      return nil
    }
    let server = try await deliver(
      package, (1...4).map { _ in .cut(after: (1 << 20) + 5000) }, with: harness)
    #expect(openings.current == 0)
    // A piece that a connection left unfinished comes in two parts.
    #expect(server.timesSent(package).allSatisfy { $0 <= 1 })
    let sent = server.state.current.sent.reduce(0) { $0 + $1.count }
    #expect((0...4 * 5000).contains(sent - package.bytes.count))
  }

  @Test(
    "whichever call of staging fails, once, the content comes (D3, D8)",
    arguments: [ENOSPC, EDQUOT, EIO, EROFS, EPERM])
  func everyKind(number: Int32) async throws {
    for call in FileCall.allCases {
      let harness = try AgentHarness()
      let isFirst = Locked(true)
      harness.operations.answer { asked, _ in
        guard asked == call else { return nil }
        return isFirst.withLock { isFirst in
          defer { isFirst = false }
          return isFirst ? number : nil
        }
      }
      _ = try await deliver(try FixturePackage.file(length: 1 << 20), with: harness)
    }
  }
}
