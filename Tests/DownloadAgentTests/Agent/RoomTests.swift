import AgentTesting
import Commerce
import ContentPackage
import CoreTypes
import Files
import HTTPClient
import PackageTesting
import PullboxAPI
import PullboxTesting
import ServiceRuntime
import SystemCalls
import Testing

@testable import AgentRecords
@testable import ContentLibrary
@testable import DownloadAgent

/// The whole agent with a quota, and where what it holds is not what it was.
@Suite(.serialized, .timeLimit(.minutes(10))) struct RoomTests {
  @Test(
    "what is restored together does not push out each other's content; the last one says what the quota lacks"
  )
  func restoreUnderQuota() async throws {
    let harness = try AgentHarness()
    let packages = try (1...3).map {
      try FixturePackage.file(length: 2 << 20, product: "com.example.p\($0)", seed: UInt64($0))
    }
    let server = FakeServer(packages)
    let transactions = (1...3).map { "200000000000000\($0)" }
    try await server.open { url in
      for number in 1...3 {
        try server.queuePurchase("com.example.p\(number)", transaction: transactions[number - 1])
      }
      try await harness.run(server: url) { agent in
        try await agent.finished(transactions)
        for number in 1...3 {
          #expect(try await harness.ask("DELETE", "/v1/library/com.example.p\(number)").status == 204)
        }
      }
      server.change { $0.sent = [] }
      let quota = ConfigurationSize(.mebibytes(5))
      try await harness.run(server: url, configure: { $0.quota = quota }) { agent in
        let observer = try #require(agent.hub.subscribe())
        defer { agent.hub.unsubscribe(observer) }
        #expect(try await harness.ask("POST", "/v1/restore").status == 202)
        var finished: Set<DownloadIdentifier> = []
        var last: DownloadStatus?
        while finished.count < 2 || last == nil {
          let status = try await observer.firstValue { event -> DownloadStatus? in
            guard case .download(let status) = event else { return nil }
            return status.state == .finished || status.space != nil ? status : nil
          }
          if status.state == .finished { finished.insert(status.id) } else { last = status }
        }
        let waiting = try #require(last)
        let space = try #require(waiting.space)
        #expect(waiting.reason == "insufficient-space" && space.quota == .mebibytes(5))
        #expect(space.needed == .mebibytes(2) && space.free < .mebibytes(2) && space.reserve == .zero)
        // It is tried now and then.
        while try await harness.get("/v1/status", as: AgentStatus.self).waitingForRoom != 1 {
          await Task.yield()
        }
        let items = try await harness.get("/v1/library", as: LibraryResponse.self).items
        #expect(items.count == 2 && items.allSatisfy { $0.state == .present })
        // Each of the two came once.
        #expect(server.timesSent(packages[0]) == [2, 2])
        // A later purchase may push out what came before.
        let first = try #require(items.first)
        #expect(try await harness.ask("DELETE", "/v1/library/\(first.product)").status == 204)
        _ = try await agent.firstDownload { $0.id == waiting.id && $0.state == .finished }
      }
    }
  }

  @Test("what is bought later pushes out what was placed before, where the quota says so")
  func purchaseUnderQuota() async throws {
    let harness = try AgentHarness()
    let packages = try (1...2).map {
      try FixturePackage.file(length: 3 << 20, product: "com.example.p\($0)", seed: UInt64($0))
    }
    let server = FakeServer(packages)
    try await server.open { url in
      let quota = ConfigurationSize(.mebibytes(5))
      try await harness.run(server: url, configure: { $0.quota = quota }) { agent in
        for number in 1...2 {
          try server.queuePurchase("com.example.p\(number)", transaction: "200000000000000\(number)")
          try await agent.finished(["200000000000000\(number)"])
        }
      }
    }
    #expect(try !harness.placed(packages[0]) && harness.placed(packages[1]))
  }

  /// Until downloads were refused for want of room so often.
  private func refusals(_ count: Int, from observer: EventObserver) async throws {
    for _ in 0..<count {
      _ = try await observer.first { event in
        guard case .download(let status) = event else { return false }
        return status.space != nil
      }
    }
  }

  @Test("what a reader has opened last is removed last, though it was placed first")
  func opened() async throws {
    let harness = try AgentHarness()
    let packages = try (1...3).map {
      try FixturePackage.file(length: 3 << 20, product: "com.example.p\($0)", seed: UInt64($0))
    }
    let server = FakeServer(packages)
    try await server.open { url in
      let quota = ConfigurationSize(.mebibytes(7))
      try await harness.run(server: url, configure: { $0.quota = quota }) { agent in
        for number in 1...2 {
          try server.queuePurchase("com.example.p\(number)", transaction: "200000000000000\(number)")
          try await agent.finished(["200000000000000\(number)"])
        }
        let answer = try await harness.ask("POST", "/v1/library/com.example.p1/opened")
        let items = try APIJSON.decode(LibraryResponse.self, from: answer.body).items
        #expect(answer.status == 200 && items.first?.lastOpened != nil)
        #expect(try await harness.ask("POST", "/v1/library/com.example.none/opened").status == 404)
        try server.queuePurchase("com.example.p3", transaction: "2000000000000003")
        try await agent.finished(["2000000000000003"])
      }
    }
    #expect(try harness.placed(packages[0]) && !harness.placed(packages[1]) && harness.placed(packages[2]))
  }

  @Test("pinned content is not pushed out; once it is unpinned the purchase that waits for room goes on")
  func pinned() async throws {
    let harness = try AgentHarness()
    let packages = try (1...2).map {
      try FixturePackage.file(length: 3 << 20, product: "com.example.p\($0)", seed: UInt64($0))
    }
    let server = FakeServer(packages)
    try await server.open { url in
      let quota = ConfigurationSize(.mebibytes(5))
      try await harness.run(server: url, configure: { $0.quota = quota }) { agent in
        try server.queuePurchase("com.example.p1", transaction: "2000000000000001")
        try await agent.finished(["2000000000000001"])
        #expect(try await harness.ask("POST", "/v1/library/com.example.p1/pin").status == 200)
        let observer = try #require(agent.hub.subscribe())
        defer { agent.hub.unsubscribe(observer) }
        try server.queuePurchase("com.example.p2", transaction: "2000000000000002")
        try await refusals(3, from: observer)
        #expect(try harness.placed(packages[0]) && !harness.placed(packages[1]))
        #expect(try await harness.ask("POST", "/v1/library/com.example.p1/unpin").status == 200)
        try await agent.finished(["2000000000000002"])
      }
    }
    #expect(try !harness.placed(packages[0]) && harness.placed(packages[1]))
  }

  @Test(
    "what a transaction has delivered is not pushed out before it is finished, a subscription's issues neither",
    arguments: ["com.example.mag.issue1", "com.example.mag"])
  func unfinished(bought: String) async throws {
    let harness = try AgentHarness()
    let packages = try ["com.example.mag.issue1", "com.example.other"].enumerated().map {
      try FixturePackage.file(length: 3 << 20, product: $1, seed: UInt64($0))
    }
    let server = FakeServer(packages)
    server.change { $0.isStoreUp = false }
    try await server.open { url in
      let quota = ConfigurationSize(.mebibytes(5))
      try await harness.run(server: url, configure: { $0.quota = quota }) { agent in
        try server.queuePurchase(bought, transaction: "2000000000000001")
        _ = try await agent.transaction("waiting-for-server", "store-not-answered")
        let observer = try #require(agent.hub.subscribe())
        defer { agent.hub.unsubscribe(observer) }
        try server.queuePurchase("com.example.other", transaction: "2000000000000002")
        try await refusals(3, from: observer)
        #expect(try harness.placed(packages[0]) && !harness.placed(packages[1]))
        server.change { $0.isStoreUp = true }
        try await agent.finished(["2000000000000001", "2000000000000002"])
      }
    }
    #expect(try !harness.placed(packages[0]) && harness.placed(packages[1]))
  }

  @Test(
    "nothing makes room that a download is fetching again, that is owned no more, or of which that cannot be asked"
  )
  func removable() async throws {
    let harness = try AgentHarness()
    let packages = try (1...2).map {
      try FixturePackage.file(length: 1000, product: "com.example.p\($0)", seed: UInt64($0))
    }
    let server = FakeServer(packages)
    try await server.open { url in
      for number in 1...2 {
        try server.queuePurchase("com.example.p\(number)", transaction: "200000000000000\(number)")
      }
      try await harness.run(server: url) { agent in
        try await agent.finished(["2000000000000001", "2000000000000002"])
        func removable() async -> [String] {
          await agent.transactions.removable(for: .random()).products.map(\.description).sorted()
        }
        #expect(await removable() == ["com.example.p1", "com.example.p2"])
        server.change { $0.refusals["POST /v1/grants"] = [Problem(.unavailable)] }
        try FileSystem.removeFile("\(harness.library)/com.example.p1/1.0/issue.pdf")
        #expect(try await harness.ask("POST", "/v1/library/com.example.p1/repair").status == 202)
        #expect(await removable() == ["com.example.p2"])
        server.change { $0.transactions.removeLast() }
        #expect(await removable() == [])
        server.change {
          $0.refusals = ["POST /v1/entitlements": [Problem(.unavailable)]]
        }
        #expect(await removable() == [])
        server.change { $0.refusals = [:] }
        _ = try await agent.firstDownload { $0.state == .finished && $0.product.description.hasSuffix("p1") }
      }
    }
  }

  @Test("content that was removed while the library was away is known as damaged, and a repair fetches it")
  func removedWhileAway() async throws {
    let harness = try AgentHarness()
    let package = try FixturePackage.file(length: 2 << 20)
    let server = FakeServer([package])
    try await server.open { url in
      try server.queuePurchase()
      try await harness.run(server: url) { agent in try await agent.finished(["2000000000000001"]) }
      try FileSystem.removeRecursively("\(harness.library)/\(package.manifest.product)")
      try await harness.run(server: url) { agent in
        let items = try await harness.get("/v1/library", as: LibraryResponse.self).items
        #expect(items.map(\.state) == [.damaged] && items.map(\.lengthOnDisk) == [.zero])
        let observer = try #require(agent.hub.subscribe())
        defer { agent.hub.unsubscribe(observer) }
        let answer = try await harness.ask("POST", "/v1/library/\(package.manifest.product)/repair")
        #expect(answer.status == 202)
        _ = try await observer.first { event in
          guard case .download(let status) = event else { return false }
          return status.state == .finished
        }
      }
    }
    #expect(try harness.placed(package))
  }

  @Test("while a repair is made durable the damaged content stays at its place")
  func damagedStays() async throws {
    let harness = try AgentHarness()
    let package = try FixturePackage.folder(firstPage: FixturePackage.noise(2 << 20, seed: 99))
    let server = FakeServer([package])
    let root = "\(harness.library)/\(package.manifest.product)/\(package.manifest.version)"
    let syncs = Locked<[Bool]>([])
    try await server.open { url in
      try server.queuePurchase()
      try await harness.run(server: url) { agent in
        try await agent.finished(["2000000000000001"])
        let file = try FileDescriptor.open("\(root)/pages/page0.jpg", .readWrite)
        try file.write([0xAA, 0x55].span, at: ByteCount(1_000_000))
        harness.operations.answer { call, _ in
          guard call == .synchronize || call == .synchronizeFileSystem else { return nil }
          let isThere = (try? FileSystem.status(of: root)).flatMap { $0 } != nil
          syncs.withLock { $0.append(isThere) }
          return nil
        }
        try server.queuePurchase(transaction: "2000000000000002")
        try await agent.finished(["2000000000000002"])
      }
    }
    #expect(try harness.placed(package))
    #expect(!syncs.current.isEmpty && syncs.current.allSatisfy { $0 })
  }

  @Test("of a damaged stored file of a folder the damaged pieces are fetched, and files of others stay")
  func damagedPieces() async throws {
    let harness = try AgentHarness()
    let package = try FixturePackage.folder(firstPage: FixturePackage.noise(6 << 20, seed: 99))
    let server = FakeServer([package])
    let root = "\(harness.library)/\(package.manifest.product)/\(package.manifest.version)"
    let page = try #require(package.manifest.files.first { $0.path.text == "pages/page0.jpg" })
    let offset: Int64 = 3_000_000
    try await server.open { url in
      try server.queuePurchase()
      try await harness.run(server: url) { agent in
        try await agent.finished(["2000000000000001"])
        let file = try FileDescriptor.open("\(root)/pages/page0.jpg", .readWrite)
        try file.write([0xAA, 0x55].span, at: ByteCount(offset))
        try FileSystem.createDirectories("\(root)/notes of mine")
        try DurableFile.write([1].span, to: "\(root)/notes of mine/page 1.txt")
        try DurableFile.write([2].span, to: "\(root)/pages/bookmark")
        server.change { $0.sent = [] }
        try server.queuePurchase(transaction: "2000000000000002")
        try await agent.finished(["2000000000000002"])
        let status = try #require(
          try await harness.downloads().first { $0.transaction.description == "2000000000000002" })
        let fetched = server.state.current.sent.reduce(0) { $0 + $1.count }
        #expect(status.bytesNeeded == ByteCount(fetched))
        #expect(status.bytesReused == package.manifest.length - ByteCount(fetched))
      }
    }
    #expect(try harness.placed(package))
    let layout = package.manifest.layout
    let damaged = layout.pieces(
      holding: page.storedRange.lowerBound + offset..<page.storedRange.lowerBound + offset + 2)
    // A piece that holds bytes of other files, or of none, cannot be told from this file alone.
    let edges = layout.pieces(holding: page.storedRange).filter { piece in
      let range = layout.range(of: piece)
      return range.lowerBound < page.storedRange.lowerBound || range.upperBound > page.storedRange.upperBound
    }
    let sent = server.timesSent(package)
    #expect(Set(sent.indices.filter { sent[$0] > 0 }) == Set(damaged).union(edges))
    #expect(try FileSystem.read("\(root).others/notes of mine/page 1.txt", upTo: .kibibytes(1)) == [1])
    #expect(try FileSystem.read("\(root).others/pages/bookmark", upTo: .kibibytes(1)) == [2])
    #expect(try FileSystem.status(of: "\(root)/pages/bookmark") == nil)
  }

  @Test("a library of its own is readable by other users, and nothing but content is (D14)") func readable()
    async throws
  {
    let harness = try AgentHarness()
    let package = try FixturePackage.folder()
    let server = FakeServer([package])
    let library = harness.directory.path("shelf")
    try await server.open { url in
      try server.queuePurchase()
      try await harness.run(server: url, configure: { $0.library = library }) { agent in
        try await agent.finished(["2000000000000001"])
      }
    }
    let product = "\(library)/\(package.manifest.product)"
    let content = "\(product)/\(package.manifest.version)"
    for directory in [library, product, content, "\(content)/pages", "\(content)/notes"] {
      let status = try #require(try FileSystem.status(of: directory))
      #expect(status.permissions & 0o055 == 0o055, "\(directory)")
    }
    for path in package.files.keys {
      #expect(try FileSystem.status(of: "\(content)/\(path)")?.permissions == 0o444, "\(path)")
    }
    for hidden in ["\(library)/.staging", harness.directory.path("state")] {
      #expect(try FileSystem.status(of: hidden)?.permissions == 0o700, "\(hidden)")
    }
  }

  @Test("a device that fetched all of it says so, and one that had all of it too")
  func reused() async throws {
    let harness = try AgentHarness()
    let package = try FixturePackage.file(length: 2 << 20)
    let server = FakeServer([package])
    try await server.open { url in
      try server.queuePurchase()
      try await harness.run(server: url) { agent in
        try await agent.finished(["2000000000000001"])
        try server.queuePurchase(transaction: "2000000000000002")
        try await agent.finished(["2000000000000002"])
        let downloads = try await harness.downloads()
        #expect(downloads.map(\.bytesReused) == [.mebibytes(2), .zero])
        #expect(downloads.map(\.bytesNeeded) == [.zero, .mebibytes(2)])
      }
    }
  }
}
