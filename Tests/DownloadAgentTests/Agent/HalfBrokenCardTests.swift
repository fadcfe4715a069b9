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

@testable import DownloadAgent

/// A card of which some sectors do not come back.
@Suite("A half-broken card", .timeLimit(.minutes(10))) struct HalfBrokenCardTests {
  private static let transaction = "2000000000000001"

  /// Has the product repaired, and returns once what that fetches is delivered.
  private func repair(
    _ package: FixturePackage, with harness: AgentHarness, _ agent: AgentService
  ) async throws {
    let observer = try #require(agent.hub.subscribe())
    defer { agent.hub.unsubscribe(observer) }
    #expect(try await harness.ask("POST", "/v1/library/\(package.manifest.product)/repair").status == 202)
    _ = try await observer.first { event in
      guard case .download(let status) = event else { return false }
      return status.state == .finished
    }
  }

  @Test(
    "a placed file that cannot be read is damage: it is shown, and a repair fetches its pieces and no others",
    arguments: [(FileCall.read, EIO), (.open, EIO), (.open, EACCES)])
  func placedFile(call: FileCall, number: Int32) async throws {
    let harness = try AgentHarness()
    let package = try FixturePackage.folder()
    let server = FakeServer([package])
    try await server.open { url in
      try server.queuePurchase()
      try await harness.run(server: url) { agent in try await agent.finished([Self.transaction]) }
      server.change { $0.sent = [] }
      harness.operations.answer { asked, name in
        let isOld = server.state.current.sent.isEmpty
        return isOld && name.hasSuffix("page3.jpg") && (asked == call || asked == .open) ? number : nil
      }
      try await harness.run(server: url) { agent in
        let path = "/v1/library/\(package.manifest.product)"
        let verified = try await harness.ask("POST", "\(path)/verify")
        #expect(verified.status == 200)
        let answer = try APIJSON.decode(LibraryVerificationResponse.self, from: verified.body)
        #expect(answer.items.map(\.state) == [.damaged])
        #expect(answer.items.map(\.faults) == [[.init(path: "pages/page3.jpg", kind: .damaged)]])
        try await repair(package, with: harness, agent)
      }
    }
    #expect(try harness.placed(package))
    let page = try #require(package.manifest.files.first { $0.path.text == "pages/page3.jpg" })
    let pieces = Set(page.storedRange.map { Int($0) / (1 << 20) })
    for (piece, times) in server.timesSent(package).enumerated() {
      #expect(times == (pieces.contains(piece) ? 1 : 0), "piece \(piece)")
    }
  }

  @Test(
    "a folder that cannot be read is damage, and a repair brings its content; what lay in it is kept",
    arguments: [EACCES, EIO], [true, false])
  func placedFolder(number: Int32, isFolder: Bool) async throws {
    let harness = try AgentHarness()
    let package = isFolder ? try FixturePackage.folder() : try FixturePackage.file(length: 2 << 20)
    let server = FakeServer([package])
    let root = "\(harness.library)/\(package.manifest.product)/1.0"
    try await server.open { url in
      try server.queuePurchase()
      try await harness.run(server: url) { agent in try await agent.finished([Self.transaction]) }
      try DurableFile.write([7].span, to: "\(root)/bookmark")
      let inode = try #require(try FileSystem.status(of: root)).inode
      // Neither a listing of it nor anything in it.
      harness.operations.answer { call, path in
        guard call == .open && path == root || call == .status && path.hasPrefix("\(root)/"),
          (try? FileSystem.status(of: root))?.inode == inode
        else { return nil }
        return number
      }
      try await harness.run(server: url) { agent in
        let items = try await harness.get("/v1/library", as: LibraryResponse.self).items
        // Nothing of a folder is looked at but whether it is there.
        #expect(items.map(\.state) == [isFolder ? .present : .damaged])
        try await repair(package, with: harness, agent)
        let repaired = try await harness.get("/v1/library", as: LibraryResponse.self).items
        #expect(repaired.map(\.state) == [.present])
      }
    }
    #expect(try harness.placed(package))
    #expect(try FileSystem.read("\(root).others/bookmark", upTo: .kibibytes(1)) == [7])
  }

  @Test("content whose file cannot be read is bought again, fetched and reported")
  func boughtAgain() async throws {
    let harness = try AgentHarness()
    let package = try FixturePackage.file(length: 2 << 20)
    let server = FakeServer([package])
    try await server.open { url in
      try server.queuePurchase()
      try await harness.run(server: url) { agent in try await agent.finished([Self.transaction]) }
      server.change { $0.sent = [] }
      harness.operations.answer { call, name in
        server.state.current.sent.isEmpty && call == .open && name == "issue.pdf" ? EIO : nil
      }
      // The time of its last change shows that it has to be read.
      #expect(unsafe chmod("\(harness.library)/\(package.manifest.product)/1.0/issue.pdf", 0o640) == 0)
      try await harness.run(server: url) { agent in
        try server.queuePurchase(transaction: "2000000000000002")
        try await agent.finished(["2000000000000002"])
      }
    }
    #expect(server.timesSent(package) == [1, 1])
    #expect(try harness.placed(package))
  }

  @Test("staged bytes that cannot be read after a restart are fetched again, and no others")
  func stagedBytes() async throws {
    let harness = try AgentHarness()
    let package = try FixturePackage.file(length: 4 << 20)
    let server = FakeServer([package])
    server.change { $0.contentFaults = [.stall(after: (2 << 20) + 1000)] }
    try await server.open { url in
      try server.queuePurchase()
      try await harness.run(server: url) { agent in
        _ = try await agent.firstDownload { $0.bytesVerified == .mebibytes(2) }
      }
      server.change { $0.sent = [] }
      // Reading what was staged fails from the first byte to the last until something new is there.
      harness.operations.answer { call, name in
        server.state.current.sent.isEmpty && call == .read && name.isEmpty ? EIO : nil
      }
      try await harness.run(server: url) { agent in try await agent.finished([Self.transaction]) }
    }
    #expect(server.timesSent(package) == [1, 1, 1, 1])
    #expect(try harness.placed(package))
  }

  @Test("a manifest that cannot be read makes its content damaged, and a repair brings it")
  func manifest() async throws {
    let harness = try AgentHarness()
    let package = try FixturePackage.file(length: 1 << 20)
    let server = FakeServer([package])
    try await server.open { url in
      try server.queuePurchase()
      try await harness.run(server: url) { agent in try await agent.finished([Self.transaction]) }
      server.change { $0.sent = [] }
      harness.operations.answer { call, name in
        server.state.current.sent.isEmpty && call == .read && name.hasSuffix("/.pullbox/1.0") ? EIO : nil
      }
      try await harness.run(server: url) { agent in
        let path = "/v1/library/\(package.manifest.product)"
        #expect(try await harness.ask("POST", "\(path)/verify").status == 200)
        let damaged = try await harness.get("/v1/library", as: LibraryResponse.self).items
        #expect(damaged.map(\.state) == [.damaged])
        try await repair(package, with: harness, agent)
        let items = try await harness.get("/v1/library", as: LibraryResponse.self).items
        #expect(items.map(\.state) == [.present])
      }
    }
  }

  @Test(
    "on a full state disk a download can be canceled: room is kept for that",
    .enabled(if: SmallDisk.isAvailable))
  func cancelOnFullDisk() async throws {
    let disk = try SmallDisk(.mebibytes(24))
    let harness = try AgentHarness()
    let package = try FixturePackage.file(length: 4 << 20)
    let server = FakeServer([package])
    server.change { $0.contentFaults = [.stall(after: 1 << 20)] }
    let library = harness.directory.path("library")
    try await server.open { url in
      try server.queuePurchase()
      try await harness.run(
        server: url,
        configure: {
          $0.state = disk.path("state")
          $0.library = library
        }
      ) { agent in
        let status = try await agent.download(.active, "transferring")
        try disk.fill()
        let answer = try await harness.ask("POST", "/v1/downloads/\(status.id)/cancel")
        #expect(answer.status == 200)
        #expect(try await harness.downloads().map(\.state) == [.cancelled])
        try disk.clear()
      }
    }
  }

  @Test("what waits for room waits for no time", .enabled(if: SmallDisk.isAvailable))
  func noRoom() async throws {
    let disk = try SmallDisk(.mebibytes(40))
    let harness = try AgentHarness()
    let package = try FixturePackage.file(length: 16 << 20)
    let server = FakeServer([package])
    try await server.open { url in
      try server.queuePurchase()
      try await harness.run(server: url, configure: { $0.library = disk.path("library") }) { agent in
        let waiting = try await agent.download(.waiting, "insufficient-space")
        #expect(waiting.notBefore == nil)
        // Nothing is to happen by itself.
        #expect(await agent.downloads.timeToNextTurn == nil)
        #expect(server.state.current.sent.isEmpty)
      }
    }
  }
}
