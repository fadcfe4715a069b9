import AgentTesting
import Commerce
import ContentPackage
import ContentPacking
import CoreTypes
import Files
import HTTPClient
import PackageTesting
import PullboxAPI
import PullboxTesting
import ServiceAPI
import ServiceRuntime
import SystemCalls
import Testing

@testable import DownloadAgent

/// The whole agent on file systems that are mounted for the purpose, where this process may.
@Suite(.serialized, .timeLimit(.minutes(10))) struct DiskKindTests {
  /// Buys the package, which is already for sale, and returns once it is placed and reported.
  private func deliver(
    _ package: FixturePackage, _ transaction: String, from server: FakeServer, with harness: AgentHarness,
    library: String
  ) async throws {
    try await server.open { url in
      try await harness.run(server: url, configure: { $0.library = library }) { agent in
        try server.queuePurchase(package.manifest.product.description, transaction: transaction)
        try await agent.finished([transaction])
      }
    }
    #expect(try harness.placed(package, in: library))
    for folder in [".staging", ".trash"] where try FileSystem.status(of: "\(library)/\(folder)") != nil {
      #expect(try FileSystem.list("\(library)/\(folder)").isEmpty, "\(folder)")
    }
  }

  @Test(
    "exFAT: content comes, a twin and a corrected version take over what is there, also after the card was away (D2, D3)",
    .enabled(if: FormattedDisk.Kind.exFAT.isAvailable))
  func exFAT() async throws {
    let disk = try await FormattedDisk(.exFAT, .mebibytes(128))
    let library = disk.path("library")
    let harness = try AgentHarness()
    let first = try FixturePackage.folder()
    let twin = try FixturePackage.folder(product: "com.example.heroes.collected")
    let server = FakeServer([first, twin])
    try await deliver(first, "3000000000000001", from: server, with: harness, library: library)
    // Inodes have other numbers afterwards.
    try await disk.remount()
    try await deliver(twin, "3000000000000002", from: server, with: harness, library: library)
    let second = try FixturePackage.folder(
      version: "1.1", firstPage: FixturePackage.noise(650_000, seed: 99), following: first.manifest)
    let corrected = FakeServer([second])
    corrected.change {
      $0.previous = PreviousContent(version: first.manifest.version, digest: first.manifest.digest)
    }
    try await corrected.open { url in
      try await harness.run(server: url, configure: { $0.library = library }) { agent in
        try corrected.queuePurchase(transaction: "3000000000000003")
        try await agent.finished(["3000000000000003"])
        let answer = try await harness.ask("POST", "/v1/library/\(FixturePackage.product)/verify")
        let found = try APIJSON.decode(LibraryVerificationResponse.self, from: answer.body)
        #expect(found.items.allSatisfy { $0.state == .present })
      }
    }
    #expect(try harness.placed(second, in: library))
    let needed = VersionDifference(from: first.manifest, to: second.manifest).neededPieces
    let sent = corrected.timesSent(second)
    #expect(sent.indices.filter { sent[$0] > 0 } == needed)
  }

  @Test(
    "an overlay: content of the layer below is known, a twin and a corrected version take it over, and it stays as it is",
    .enabled(if: LayeredDisk.isAvailable))
  func overlay() async throws {
    let disk = try LayeredDisk(.mebibytes(128))
    let library = disk.path("library")
    let harness = try AgentHarness()
    let first = try FixturePackage.folder()
    let twin = try FixturePackage.folder(product: "com.example.heroes.collected")
    let server = FakeServer([first, twin])
    try await deliver(first, "3000000000000001", from: server, with: harness, library: disk.lower("library"))
    try disk.mount()
    server.change { $0.sent = [] }
    try await deliver(twin, "3000000000000002", from: server, with: harness, library: library)
    #expect(server.state.current.sent.isEmpty)
    let second = try FixturePackage.folder(
      version: "1.1", firstPage: FixturePackage.noise(650_000, seed: 99), following: first.manifest)
    let corrected = FakeServer([second])
    corrected.change {
      $0.previous = PreviousContent(version: first.manifest.version, digest: first.manifest.digest)
    }
    try await corrected.open { url in
      try await harness.run(server: url, configure: { $0.library = library }) { agent in
        try corrected.queuePurchase(transaction: "3000000000000003")
        try await agent.finished(["3000000000000003"])
        let items = try await harness.get("/v1/library", as: LibraryResponse.self).items
        #expect(items.count >= 2 && items.allSatisfy { $0.state == .present })
      }
    }
    for package in [twin, second] { #expect(try harness.placed(package, in: library)) }
    let needed = VersionDifference(from: first.manifest, to: second.manifest).neededPieces
    let sent = corrected.timesSent(second)
    #expect(sent.indices.filter { sent[$0] > 0 } == needed)
    #expect(try harness.placed(first, in: disk.lower("library")))
  }

  @Test(
    "a library that may only be read: what is there can be read and checked, a download says why it waits, and goes on later",
    .enabled(if: SmallDisk.isAvailable))
  func readOnly() async throws {
    let disk = try SmallDisk(.mebibytes(64))
    let library = disk.path("library")
    let harness = try AgentHarness()
    let packages = try (1...2).map {
      try FixturePackage.file(length: 2 << 20, product: "com.example.p\($0)", seed: UInt64($0))
    }
    let server = FakeServer(packages)
    let configure: @Sendable (inout AgentConfiguration) -> Void = {
      $0.library = library
      $0.spaceReserve = ConfigurationSize(.mebibytes(8))
    }
    try await server.open { url in
      try await harness.run(server: url, configure: configure) { agent in
        try server.queuePurchase("com.example.p1", transaction: "2000000000000001")
        try await agent.finished(["2000000000000001"])
      }
      try disk.remount(isReadOnly: true)
      try await harness.run(server: url, configure: configure) { agent in
        try server.queuePurchase("com.example.p2", transaction: "2000000000000002")
        let waiting = try await agent.download(.waiting, "storage-failure")
        #expect(try #require(waiting.cause).contains("Read-only file system"))
        let answer = try await harness.ask("POST", "/v1/library/com.example.p1/verify")
        let found = try APIJSON.decode(LibraryVerificationResponse.self, from: answer.body)
        #expect(found.items.map(\.state) == [.present])
        #expect(server.state.current.reports.count == 1)
        try disk.remount(isReadOnly: false)
        try await agent.finished(["2000000000000002"])
      }
    }
    for package in packages { #expect(try harness.placed(package, in: library)) }
  }

  @Test(
    "exFAT: a name that it does not take ends the download with a reason, and leaves nothing",
    .enabled(if: FormattedDisk.Kind.exFAT.isAvailable))
  func refusedName() async throws {
    let disk = try await FormattedDisk(.exFAT)
    let harness = try AgentHarness()
    let bytes = FixturePackage.noise(100_000, seed: 5)
    let package = try FixturePackage.file(bytes, name: "Part 1: Origins.pdf")
    let server = FakeServer([package])
    try server.queuePurchase()
    let status = try await server.open { url in
      try await harness.run(server: url, configure: { $0.library = disk.path("library") }) { agent in
        try await agent.ended()
      }
    }
    #expect(status.state == .failed && status.reason == "name-refused")
  }

  @Test(
    "a state directory on a disk that fills: it says so, what is known stays known, and with room it goes on by itself (K1)",
    .enabled(if: SmallDisk.isAvailable))
  func fullState() async throws {
    let disk = try SmallDisk(.mebibytes(24))
    let harness = try AgentHarness()
    let packages = try (1...6).map {
      try FixturePackage.file(length: 300_000, product: "com.example.p\($0)", seed: UInt64($0))
    }
    let transactions = (1...6).map { "200000000000000\($0)" }
    let server = FakeServer(packages)
    let library = harness.directory.path("library")
    let configure: @Sendable (inout AgentConfiguration) -> Void = {
      $0.state = disk.path("state")
      $0.library = library
    }
    let refusals = Locked(0)
    let isRefused = AsyncSignal()
    let log = Log(level: .warning, format: .json) { line in
      guard String(decoding: line, as: UTF8.self).contains("full") else { return }
      refusals.withLock { $0 += 1 }
      isRefused.signal()
    }
    try await server.open { url in
      try await harness.run(server: url, log: log, configure: configure) { agent in
        try server.queuePurchase("com.example.p1", transaction: transactions[0])
        try await agent.finished([transactions[0]])
        try disk.fill()
        for number in 2...6 {
          try server.queuePurchase("com.example.p\(number)", transaction: transactions[number - 1])
        }
        while refusals.current < 5 { await isRefused.wait(atMost: nil, clock: SystemMonotonicClock()) }
        let known = try await harness.transactions().filter { $0.step == "finished" }
        #expect(known.map(\.id.description) == [transactions[0]])
        // Nothing was reported that could not be written down before.
        #expect(server.state.current.reports.count == 1)
        try disk.clear()
        try await agent.finished(transactions)
      }
      try await harness.run(server: url, configure: configure) { agent in
        try await agent.finished(transactions)
        #expect(try await harness.downloads().map(\.state) == Array(repeating: .finished, count: 6))
      }
    }
    for package in packages { #expect(try harness.placed(package, in: library)) }
  }

  @Test(
    "a disk that breaks under database and library: what was reported is there, what was known stays known",
    .enabled(if: FormattedDisk.Kind.ext4.isAvailable), arguments: [0, 8, 16, 24, 32, 40])
  func brokenDisk(call: Int) async throws {
    let disk = try await FormattedDisk(.ext4, .mebibytes(96))
    let harness = try AgentHarness()
    let packages = try (1...2).map {
      try FixturePackage.file(length: 2 << 20, product: "com.example.p\($0)", seed: UInt64($0))
    }
    let transactions = (1...2).map { "200000000000000\($0)" }
    let server = FakeServer(packages)
    let library = disk.path("library")
    let configure: @Sendable (inout AgentConfiguration) -> Void = {
      $0.state = disk.path("state")
      $0.library = library
      $0.spaceReserve = ConfigurationSize(.mebibytes(8))
    }
    let remaining = Locked<Int?>(nil)
    let isBroken = AsyncSignal()
    harness.operations.answer { _, _ in
      let isNow = remaining.withLock { remaining in
        guard let count = remaining else { return false }
        remaining = count == 0 ? nil : count - 1
        return count == 0
      }
      if isNow {
        try? disk.break()
        isBroken.signal()
      }
      return nil
    }
    try await server.open { url in
      try await harness.run(server: url, configure: configure) { agent in
        try server.queuePurchase("com.example.p1", transaction: transactions[0])
        try await agent.finished([transactions[0]])
        remaining.withLock { $0 = call }
        try server.queuePurchase("com.example.p2", transaction: transactions[1])
        await isBroken.wait(atMost: nil, clock: SystemMonotonicClock())
      }
      try await disk.remount()
      for package in packages
      where server.state.current.reports.contains(where: { $0.digest == package.manifest.digest }) {
        #expect(try harness.placed(package, in: library))
      }
      try await harness.run(server: url, configure: configure) { agent in
        let known = try await harness.transactions().filter { $0.step == "finished" }
        #expect(known.map(\.id.description).contains(transactions[0]))
        try await agent.finished(transactions)
      }
    }
    for package in packages { #expect(try harness.placed(package, in: library)) }
  }
}
