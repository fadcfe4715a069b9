import AgentTesting
import Commerce
import ContentPackage
import CoreTypes
import Files
import Glibc
import HTTPClient
import PackageTesting
import PullboxAPI
import PullboxTesting
import ServiceRuntime
import SystemCalls
import Testing

@testable import AgentRecords
@testable import DownloadAgent

/// The whole agent on a disk that fails.
@Suite(.serialized, .timeLimit(.minutes(60))) struct HostileDiskTests {
  private func deliver(
    _ package: FixturePackage, _ faults: [FakeServer.ContentFault] = [], with harness: AgentHarness
  ) async throws -> FakeServer {
    let server = FakeServer([package])
    server.change { $0.contentFaults = faults }
    try server.queuePurchase()
    let status = try await server.open { url in
      do {
        return try await harness.run(server: url) { agent in try await agent.ended() }
      } catch is SystemError {
        // It could not start; a service manager tries again.
        return try await harness.run(server: url) { agent in try await agent.ended() }
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
      // The bytes that an area is known by when it is opened again.
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

  /// The work of an agent on a disk of its own while one of its calls fails.
  private final class Attempt: Sendable {
    let package: FixturePackage
    let server: FakeServer
    let harness: AgentHarness
    let disk: SmallDisk
    /// The least that was free before any call.
    let leastFree: Locked<ByteCount>
    static let reserve = ByteCount.mebibytes(8)

    init(_ package: FixturePackage) throws {
      self.package = package
      server = FakeServer([package])
      harness = try AgentHarness()
      let length = package.files.values.reduce(0) { $0 + $1.count }
      // Little more than what the content takes.
      disk = try SmallDisk(Self.reserve + ByteCount(length) + .mebibytes(4))
      leastFree = Locked(.gibibytes(1))
      let root = disk.directory.path
      harness.operations.answer { [leastFree] _, _ in
        if let free = try? FileSystem.freeSpace(at: root) { leastFree.withLock { $0 = min($0, free) } }
        return nil
      }
      try server.queuePurchase()
    }

    /// A start that fails is repeated, as a service manager does.
    func run(_ body: @escaping @Sendable (AgentService) async throws -> Void) async throws {
      let library = disk.path("library")
      try await server.open { url in
        for _ in 0..<2 {
          do {
            return try await harness.run(
              server: url,
              configure: {
                $0.library = library
                $0.spaceReserve = ConfigurationSize(Self.reserve)
              }, body)
          } catch is SystemError {
          }
        }
        throw CancellationError()
      }
    }

    var isPlaced: Bool {
      get throws {
        let root = disk.path("library/\(package.manifest.product)/\(package.manifest.version)")
        return try package.files.allSatisfy { path, bytes in
          try FileSystem.read("\(root)/\(path)", upTo: .gibibytes(1)).hasSameBytes(as: bytes)
        }
      }
    }
  }

  private static let share = ExhaustiveShare.environment

  @Test(
    "whichever file call of a delivery fails, in staging or in the library, the right files come, nothing is left, and the reserve stays free (K1, D7)",
    .enabled(if: SmallDisk.isAvailable), arguments: [true, false])
  func sweep(isFolder: Bool) async throws {
    let package = isFolder ? try FixturePackage.folder() : try FixturePackage.file(length: 5 << 19)
    let errors = [ENOSPC, EDQUOT, EIO, EROFS, EPERM]
    let calls = try await Self.share.sweep { call in
      for number in Self.share.variants(errors, at: call) {
        let attempt = try Attempt(package)
        attempt.harness.operations.fail(call: call, number: number)
        try await attempt.run { agent in try await agent.finished(["2000000000000001"]) }
        let steps = attempt.harness.operations.steps
        guard call < steps.count else { return steps.count }
        let what: Comment = "\(steps[call]), call \(call), errno \(number)"
        #expect(try attempt.isPlaced, what)
        #expect(attempt.leastFree.current >= Attempt.reserve, what)
        // Pieces that were on their way when the call failed, or were not saved by it, come once more.
        #expect(attempt.server.timesSent(package).allSatisfy { $0 <= 2 }, what)
        try await attempt.run { _ in }
        for folder in [".staging", ".trash"]
        where try FileSystem.status(of: attempt.disk.path("library/\(folder)")) != nil {
          #expect(try FileSystem.list(attempt.disk.path("library/\(folder)")).isEmpty, what)
        }
      }
      return nil
    }
    #expect(calls > 96)
  }

  @Test(
    "whichever call of staging or the library fails, once, the content comes (D3, D8)",
    arguments: [ENOSPC, EDQUOT, EIO, EROFS, EPERM])
  func everyKind(number: Int32) async throws {
    for call in Self.share.elements(of: FileCall.allCases) {
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

  @Test(
    "a disk that takes no byte, and says that it has room, ends a download by its budget; resumed, it comes (K17)",
    arguments: [EDQUOT, EIO])
  func writesThatFail(number: Int32) async throws {
    let harness = try AgentHarness()
    let package = try FixturePackage.file(length: 3 << 20)
    let server = FakeServer([package])
    try server.queuePurchase()
    harness.operations.failWrites(of: .kibibytes(64), number: number)
    try await server.open { url in
      try await harness.run(server: url) { agent in
        let given = try await agent.ended()
        #expect(given.state == .failed && given.reason == "wasteful")
        #expect(given.cause?.contains("pwrite") == true)
        let length = package.manifest.length
        let budget = length + length + ContentJobBudget.wasteAllowance
        // The try that goes beyond it is the last, and none asks for more than the package.
        #expect(given.bytesReceived > budget && given.bytesReceived <= budget + length)
        harness.operations.failWrites(of: nil)
        #expect(try await harness.ask("POST", "/v1/downloads/\(given.id)/resume").status == 200)
        try await agent.finished(["2000000000000001"])
      }
    }
    #expect(try harness.placed(package))
  }

  @Test(
    "a quota that the free space does not show costs no byte: the room is taken before the first one (K17)")
  func hiddenQuota() async throws {
    let harness = try AgentHarness()
    let package = try FixturePackage.file(length: 3 << 20)
    let server = FakeServer([package])
    try server.queuePurchase()
    let refusals = Locked(0)
    let isRefused = AsyncSignal()
    harness.operations.answer { call, _ in
      guard call == .allocate else { return nil }
      refusals.withLock { $0 += 1 }
      isRefused.signal()
      return EDQUOT
    }
    try await server.open { url in
      try await harness.run(server: url) { agent in
        let waiting = try await agent.download(.waiting, "insufficient-space")
        #expect(waiting.cause?.contains("allocate") == true)
        while refusals.current < 5 { await isRefused.wait(atMost: nil, clock: SystemMonotonicClock()) }
        #expect(server.state.current.sent.isEmpty)
        harness.operations.answer(nil)
        try await agent.finished(["2000000000000001"])
      }
    }
    #expect(try harness.placed(package))
    #expect(server.timesSent(package).allSatisfy { $0 == 1 })
  }

  @Test("content that is lost before it is placed counts once as received in vain, whatever comes after")
  func lossThenCut() async throws {
    let harness = try AgentHarness()
    let package = try FixturePackage.file(length: 3 << 20)
    let staging = "\(harness.library)/.staging"
    let isFirst = Locked(true)
    harness.operations.answer { call, name in
      // Placing begins with the manifest.
      guard call == .create, name.contains("\(FixturePackage.product)/.pullbox/") else { return nil }
      return isFirst.withLock { isFirst in
        guard isFirst else { return nil }
        isFirst = false
        for entry in (try? FileSystem.list(staging)) ?? [] {
          _ = try? FileSystem.removeRecursively("\(staging)/\(entry.name)")
        }
        return EIO
      }
    }
    let server = FakeServer([package])
    server.change { $0.contentFaults = [.faultless, .cut(after: 1 << 20), .stall(after: 0)] }
    try server.queuePurchase()
    try await server.open { url in
      try await harness.run(server: url) { agent in
        _ = try await agent.event { event in
          guard case .download(let status) = event else { return false }
          return status.reason == "connection-lost"
        }
        let job = try #require(await agent.downloads.jobs.entries.values.first?.record)
        #expect(job.machine.history.losses == 1)
        #expect(job.machine.budget.wasted == package.manifest.length)
      }
    }
    // The agent after it knows.
    let database = try AgentDatabase(path: harness.directory.path("state/agent.sqlite"))
    #expect(try database.contentJobs().map(\.machine.history.losses) == [1])
  }
}
