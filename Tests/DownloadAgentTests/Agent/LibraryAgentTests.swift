import AgentTesting
import Commerce
import ContentPackage
import CoreTypes
import Files
import HTTPClient
import PackageTesting
import PullboxAPI
import PullboxTesting
import SystemCalls
import Testing

@testable import AgentRecords
@testable import DownloadAgent

/// The whole agent over libraries that other programs have changed, that are away, or that are full.
@Suite(.serialized, .timeLimit(.minutes(10))) struct LibraryAgentTests {
  private func overwrite(_ path: String, at offset: Int64) throws {
    let file = try FileDescriptor.open(path, .readWrite)
    try file.write([0xAA, 0x55, 0xAA, 0x55].span, at: ByteCount(offset))
  }

  /// Buys and waits until the transaction has ended; the bytes that came for it.
  private func buy(
    _ package: FixturePackage, _ transaction: String, from server: FakeServer, with harness: AgentHarness
  ) async throws -> DownloadStatus {
    try await server.open { url in
      try await harness.run(server: url) { agent in
        let observer = try #require(agent.hub.subscribe())
        defer { agent.hub.unsubscribe(observer) }
        try server.queuePurchase(package.manifest.product.description, transaction: transaction)
        _ = try await observer.first { event in
          guard case .transaction(let status) = event else { return false }
          return status.id.description == transaction && status.step == "finished"
        }
        return try #require(try await harness.downloads().first { $0.transaction.description == transaction })
      }
    }
  }

  @Test(
    "a page deleted, one overwritten, a file added, then bought again: the damage is fetched, no more (D1, K4)"
  )
  func damagedAndBoughtAgain() async throws {
    let harness = try AgentHarness()
    let package = try FixturePackage.folder()
    let server = FakeServer([package])
    _ = try await buy(package, "2000000000000001", from: server, with: harness)
    let root = "\(harness.library)/\(package.manifest.product)/\(package.manifest.version)"
    try FileSystem.removeFile("\(root)/pages/page4.jpg")
    try overwrite("\(root)/pages/page5.jpg", at: 300_000)
    try DurableFile.write([1].span, to: "\(root)/foreign.txt")
    server.change { $0.sent = [] }
    let again = try await buy(package, "2000000000000002", from: server, with: harness)
    #expect(again.state == .finished)
    #expect(try harness.placed(package))
    let damaged = package.manifest.files.filter {
      ["pages/page4.jpg", "pages/page5.jpg"].contains($0.path.text)
    }
    #expect(damaged.count == 2)
    let needed = Set(damaged.flatMap { package.manifest.layout.pieces(holding: $0.storedRange) })
    let sent = server.timesSent(package)
    #expect(Set(sent.indices.filter { sent[$0] > 0 }) == needed && sent.allSatisfy { $0 <= 1 })
    #expect(server.state.current.reports.count == 2)
  }

  @Test("of a damaged single file the damaged pieces are fetched (D1)")
  func damagedFile() async throws {
    let harness = try AgentHarness()
    let package = try FixturePackage.file(length: 6 << 20)
    let server = FakeServer([package])
    _ = try await buy(package, "2000000000000001", from: server, with: harness)
    let path = "\(harness.library)/\(package.manifest.product)/\(package.manifest.version)/issue.pdf"
    try overwrite(path, at: 3 << 20)
    server.change { $0.sent = [] }
    _ = try await buy(package, "2000000000000002", from: server, with: harness)
    #expect(server.timesSent(package) == [0, 0, 0, 1, 0, 0])
    #expect(try harness.placed(package))
  }

  @Test("content that is whole is bought again without a byte (K4)")
  func wholeAndBoughtAgain() async throws {
    let harness = try AgentHarness()
    let package = try FixturePackage.folder()
    let server = FakeServer([package])
    _ = try await buy(package, "2000000000000001", from: server, with: harness)
    server.change { $0.sent = [] }
    _ = try await buy(package, "2000000000000002", from: server, with: harness)
    #expect(server.state.current.sent.isEmpty && server.state.current.reports.count == 2)
  }

  @Test(
    "another product of the same package keeps its own name; no byte comes, and no damage is inherited (K4, K7)",
    arguments: [false, true])
  func twin(isDamaged: Bool) async throws {
    let harness = try AgentHarness()
    let bytes = FixturePackage.noise(5 << 20, seed: 8)
    let first = try FixturePackage.file(bytes, product: "com.example.english", name: "Volume One.pdf")
    let second = try FixturePackage.file(bytes, product: "com.example.deutsch", name: "Band Eins.pdf")
    let server = FakeServer([first, second])
    _ = try await buy(first, "2000000000000001", from: server, with: harness)
    if isDamaged {
      try overwrite("\(harness.library)/com.example.english/1.0/Volume One.pdf", at: 2 << 20)
    }
    server.change { $0.sent = [] }
    let status = try await buy(second, "2000000000000002", from: server, with: harness)
    #expect(status.contentPath == "\(harness.library)/com.example.deutsch/1.0/Band Eins.pdf")
    #expect(try harness.placed(second))
    #expect(server.timesSent(second) == [0, 0, isDamaged ? 1 : 0, 0, 0])
    #expect(try FileSystem.list("\(harness.library)/com.example.deutsch/1.0").count == 1)
  }

  @Test(
    "a library that is away at the start: the download waits, nothing goes, nothing is fetched twice (D2)")
  func away() async throws {
    let harness = try AgentHarness()
    let first = try FixturePackage.file(length: 2 << 20, product: "com.example.first")
    let second = try FixturePackage.file(length: 2 << 20, product: "com.example.second", seed: 2)
    let server = FakeServer([first, second])
    _ = try await buy(first, "2000000000000001", from: server, with: harness)
    let elsewhere = harness.directory.path("elsewhere")
    try FileSystem.rename(harness.library, to: elsewhere)
    try FileSystem.createDirectory(harness.library)
    try await server.open { url in
      try await harness.run(server: url) { agent in
        try server.queuePurchase("com.example.second", transaction: "2000000000000002")
        let waiting = try await agent.download(.waiting, "library-offline")
        let observer = try #require(agent.hub.subscribe())
        defer { agent.hub.unsubscribe(observer) }
        let held = try await harness.get("/v1/library", as: LibraryResponse.self).items
        #expect(held.map(\.state) == [.offline])
        #expect(try await harness.get("/v1/status", as: AgentStatus.self).libraryState == .offline)
        #expect(try await harness.ask("DELETE", "/v1/library/com.example.first").status == 503)
        #expect(try FileSystem.list(harness.library).isEmpty)
        // A download that was cancelled while the library was away has left this.
        try FileSystem.createDirectories("\(elsewhere)/.staging/\(ContentJobIdentifier.random())")
        try FileSystem.removeRecursively(harness.library)
        try FileSystem.rename(elsewhere, to: harness.library)
        _ = try await observer.first { event in
          guard case .download(let status) = event else { return false }
          return status.id == waiting.id && status.state == .finished
        }
        #expect(try FileSystem.list("\(harness.library)/.staging").isEmpty)
        let back = try await harness.get("/v1/library", as: LibraryResponse.self).items
        #expect(back.map(\.state) == [.present, .present])
      }
    }
    #expect(try harness.placed(first) && harness.placed(second))
    // One came for each, at the same places of both.
    #expect(server.timesSent(first) == [2, 2])
  }

  @Test(
    "two of 100 MiB on 160 MiB: one finishes, the other says what it needs, and goes on when there is room (D6)",
    .enabled(if: SmallDisk.isAvailable))
  func twoOnSmallDisk() async throws {
    let disk = try SmallDisk(.mebibytes(160))
    let harness = try AgentHarness()
    let packages = try (1...2).map {
      try FixturePackage.file(length: 100 << 20, product: "com.example.p\($0)", seed: UInt64($0))
    }
    let server = FakeServer(packages)
    try await server.open { url in
      try await harness.run(server: url, configure: { $0.library = disk.path("library") }) { agent in
        for number in 1...2 {
          try server.queuePurchase("com.example.p\(number)", transaction: "200000000000000\(number)")
        }
        let finished = try await agent.download(.finished)
        let waiting = try await agent.download(.waiting, "insufficient-space")
        let space = try #require(waiting.space)
        #expect(space.needed == .mebibytes(100) && space.reserve == .mebibytes(32))
        #expect(space.free < .mebibytes(132))
        #expect(try FileSystem.freeSpace(at: disk.path("")) >= .mebibytes(32))
        let answer = try await harness.ask("DELETE", "/v1/library/\(finished.product)")
        #expect(answer.status == 204)
        let observer = try #require(agent.hub.subscribe())
        defer { agent.hub.unsubscribe(observer) }
        if try await !harness.downloads().allSatisfy({ $0.state == .finished }) {
          _ = try await observer.first { event in
            guard case .download(let status) = event else { return false }
            return status.id == waiting.id && status.state == .finished
          }
        }
      }
    }
    // The pieces of the two lie at the same places: each came once.
    #expect(server.timesSent(packages[0]).allSatisfy { $0 == 2 })
  }

  @Test("damage that a check finds is shown, and repaired with what it takes")
  func repair() async throws {
    let harness = try AgentHarness()
    let package = try FixturePackage.file(length: 4 << 20)
    let server = FakeServer([package])
    _ = try await buy(package, "2000000000000001", from: server, with: harness)
    let path = "/v1/library/\(package.manifest.product)"
    server.change { $0.sent = [] }
    try await server.open { url in
      try await harness.run(server: url) { agent in
        let whole = try await harness.ask("POST", "\(path)/repair")
        #expect(whole.status == 200)
        try overwrite("\(harness.library)/\(package.manifest.product)/1.0/issue.pdf", at: 10)
        let verified = try await harness.ask("POST", "\(path)/verify")
        let answer = try APIJSON.decode(LibraryVerificationResponse.self, from: verified.body)
        #expect(answer.items.map(\.state) == [.damaged])
        #expect(answer.items.map(\.faults) == [[.init(path: "issue.pdf", kind: .damaged)]])
        #expect(answer.items.map(\.bytesRead) == [.mebibytes(4)])
        let items = try await harness.get("/v1/library", as: LibraryResponse.self).items
        #expect(items.map(\.state) == [.damaged])
        let observer = try #require(agent.hub.subscribe())
        defer { agent.hub.unsubscribe(observer) }
        let repairing = try await harness.ask("POST", "\(path)/repair")
        #expect(repairing.status == 202)
        _ = try await observer.first { event in
          guard case .download(let status) = event else { return false }
          return status.state == .finished
        }
        #expect(try await harness.ask("POST", "\(path)/pin").status == 200)
        let repaired = try await harness.get("/v1/library", as: LibraryResponse.self).items
        #expect(repaired.map(\.state) == [.present] && repaired.map(\.pinned) == [true])
        #expect(try await harness.ask("POST", "/v1/library/com.example.none/verify").status == 404)
      }
    }
    #expect(server.timesSent(package) == [1, 0, 0, 0])
    #expect(try harness.placed(package))
  }

  @Test("a damaged version that a whole one replaces is removed by a repair, and nothing is fetched")
  func repairOfReplaced() async throws {
    let harness = try AgentHarness()
    let first = try FixturePackage.file(length: 2 << 20)
    let second = try FixturePackage.file(length: 2 << 20, version: "1.1", seed: 2)
    _ = try await buy(first, "2000000000000001", from: FakeServer([first]), with: harness)
    let server = FakeServer([second])
    _ = try await buy(second, "2000000000000002", from: server, with: harness)
    let path = "/v1/library/\(first.manifest.product)"
    server.change { $0.sent = [] }
    try await server.open { url in
      try await harness.run(server: url) { _ in
        try overwrite("\(harness.library)/\(first.manifest.product)/1.0/issue.pdf", at: 10)
        let before = try await harness.downloads().count
        #expect(try await harness.ask("POST", "\(path)/repair").status == 200)
        let items = try await harness.get("/v1/library", as: LibraryResponse.self).items
        #expect(items.map(\.version.description) == ["1.1"] && items.map(\.state) == [.present])
        #expect(try await harness.downloads().count == before)
      }
    }
    #expect(server.state.current.sent.isEmpty)
    #expect(try !harness.placed(first) && harness.placed(second))
  }

  @Test("content that is removed before its report was accepted is not fetched again")
  func removedBeforeReport() async throws {
    let harness = try AgentHarness()
    let package = try FixturePackage.file(length: 2 << 20)
    let server = FakeServer([package])
    server.change { $0.refusals["POST /v1/grants/completion"] = [Problem(.unavailable)] }
    try await server.open { url in
      try await harness.run(server: url) { agent in
        try server.queuePurchase(transaction: "2000000000000001")
        _ = try await agent.firstDownload { $0.state == .waiting && $0.cause != nil }
        #expect(try harness.placed(package))
        server.change { $0.sent = [] }
        let answer = try await harness.ask("DELETE", "/v1/library/\(package.manifest.product)")
        #expect(answer.status == 204)
        #expect(try await harness.downloads().map(\.state) == [.cancelled])
        server.change { $0.refusals = [:] }
        try await Task.sleep(for: .seconds(2))
        #expect(try await harness.downloads().map(\.state) == [.cancelled])
        #expect(try await harness.get("/v1/library", as: LibraryResponse.self).items.isEmpty)
      }
    }
    #expect(server.state.current.sent.isEmpty && server.state.current.reports.isEmpty)
  }

  @Test("content that another program removed shows as damaged at once, and a restore fetches it")
  func vanished() async throws {
    let harness = try AgentHarness()
    let package = try FixturePackage.file(length: 2 << 20)
    let server = FakeServer([package])
    try await server.open { url in
      try await harness.run(server: url) { agent in
        try server.queuePurchase(transaction: "2000000000000001")
        _ = try await agent.download(.finished)
        let path = "\(harness.library)/\(package.manifest.product)/\(package.manifest.version)"
        try FileSystem.removeRecursively(path)
        let items = try await harness.get("/v1/library", as: LibraryResponse.self).items
        #expect(items.map(\.state) == [.damaged])
        let observer = try #require(agent.hub.subscribe())
        defer { agent.hub.unsubscribe(observer) }
        let restored = try await harness.ask("POST", "/v1/restore")
        let products = try APIJSON.decode(AgentRestoreResponse.self, from: restored.body).products
        #expect(products == [package.manifest.product])
        _ = try await observer.first { event in
          guard case .download(let status) = event else { return false }
          return status.state == .finished
        }
      }
    }
    #expect(try harness.placed(package))
  }

  @Test("a database that is damaged is made anew: the library is known again, and nothing is fetched (D9)")
  func rebuilt() async throws {
    let harness = try AgentHarness()
    let package = try FixturePackage.file(length: 2 << 20)
    let server = FakeServer([package])
    _ = try await buy(package, "2000000000000001", from: server, with: harness)
    try overwrite(harness.directory.path("state/agent.sqlite"), at: 0)
    server.change { $0.sent = [] }
    let again = try await buy(package, "2000000000000002", from: server, with: harness)
    #expect(again.state == .finished && server.state.current.sent.isEmpty)
    let kept = try FileSystem.list(harness.directory.path("state")).map(\.name)
    #expect(kept.contains { $0.hasPrefix("agent.sqlite.damaged-") })
  }
}
