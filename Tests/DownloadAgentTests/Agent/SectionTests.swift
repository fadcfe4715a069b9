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
import ServiceAPI
import SystemCalls
import Testing

@testable import AgentRecords
@testable import ContentLibrary
@testable import DownloadAgent

/// The whole agent with content that is fetched and given up by parts.
@Suite("Content in sections", .serialized, .timeLimit(.minutes(10)))
struct SectionTests {
  private static let required = ["001.jpg", "002.jpg"]
  private static let french = ["fr/001.jpg", "fr/002.jpg"]
  private static let sharp = ["hires/001.jpg", "hires/002.jpg"]

  private func tag(_ text: String) throws -> SectionTag { try #require(SectionTag(text)) }

  private func root(_ package: FixturePackage, _ harness: AgentHarness) -> String {
    "\(harness.library)/\(package.manifest.product)/\(package.manifest.version)"
  }

  /// The files of the package that lie in the library, each with the right bytes.
  private func placed(_ package: FixturePackage, _ harness: AgentHarness) throws -> Set<String> {
    var found: Set<String> = []
    for (path, bytes) in package.files {
      let place = "\(root(package, harness))/\(path)"
      guard try FileSystem.status(of: place) != nil else { continue }
      #expect(try FileSystem.read(place, upTo: .gibibytes(1)).hasSameBytes(as: bytes), "\(path)")
      found.insert(path)
    }
    return found
  }

  /// The pieces that hold bytes of these files.
  private func pieces(_ paths: [String], of package: FixturePackage) -> Set<Int> {
    let files = package.manifest.files.filter { paths.contains($0.path.text) }
    return Set(files.flatMap { package.manifest.layout.pieces(holding: $0.storedRange) })
  }

  private func sent(_ package: FixturePackage, _ server: FakeServer) -> Set<Int> {
    let times = server.timesSent(package)
    return Set(times.indices.filter { times[$0] > 0 })
  }

  private func isHere(_ package: FixturePackage, _ harness: AgentHarness) async throws -> [String: Bool] {
    let answer = try await harness.get(
      "/v1/library/\(package.manifest.product)/sections", as: ContentSections.self)
    return Dictionary(uniqueKeysWithValues: answer.sections.map { ($0.tag.description, $0.isHere) })
  }

  /// Runs an agent in which the package is bought, until the transaction has ended and the downloads of `sections` have.
  private func deliver(
    _ package: FixturePackage, sections: Set<String>, from server: FakeServer, with harness: AgentHarness,
    configure: @escaping (inout AgentConfiguration) -> Void = { _ in },
    _ body: @escaping @Sendable (AgentService) async throws -> Void = { _ in }
  ) async throws {
    try await server.open { url in
      try await harness.run(server: url, configure: configure) { agent in
        let observer = try #require(agent.hub.subscribe())
        defer { agent.hub.unsubscribe(observer) }
        try server.queuePurchase(package.manifest.product.description, transaction: "2000000000000001")
        var awaited = sections.union([""])
        var hasEnded = false
        while !awaited.isEmpty || !hasEnded {
          let event = try await observer.first { event in
            switch event {
            case .transaction(let status): status.step == "finished"
            case .download(let status): status.state == .finished
            default: false
            }
          }
          switch event {
          case .transaction: hasEnded = true
          case .download(let status): awaited.remove(status.section?.description ?? "")
          default: break
          }
        }
        try await body(agent)
      }
    }
  }

  /// Waits until a download of that section has ended.
  private func end(of section: String, _ agent: AgentService, _ begin: () async throws -> Void) async throws {
    let observer = try #require(agent.hub.subscribe())
    defer { agent.hub.unsubscribe(observer) }
    try await begin()
    _ = try await observer.first { event in
      guard case .download(let status) = event else { return false }
      return status.section?.description == section && status.state == .finished
    }
  }

  @Test("a purchase ends with what is required; what comes by itself comes behind it, and no piece twice")
  func delivered() async throws {
    let harness = try AgentHarness()
    let package = try FixturePackage.inSections()
    let server = FakeServer([package])
    try await deliver(
      package, sections: ["lang-fr"], from: server, with: harness, configure: { $0.sections = ["lang-fr"] }
    ) { _ in
      #expect(try self.placed(package, harness) == Set(Self.required + Self.french))
      #expect(try await self.isHere(package, harness) == ["hires": false, "lang-fr": true])
      let downloads = try await harness.downloads()
      #expect(downloads.count == 2 && downloads.allSatisfy { $0.state == .finished })
      let wanted = self.pieces(Self.required + Self.french, of: package)
      #expect(self.sent(package, server) == wanted)
      // A piece on the border belongs to both, and is fetched again with the second.
      let border = self.pieces(Self.required, of: package).intersection(self.pieces(Self.french, of: package))
      let times = server.timesSent(package)
      #expect(wanted.allSatisfy { times[$0] == 1 || border.contains($0) })
      let first = try #require(server.state.current.reports.first)
      #expect(first.digest == package.manifest.digest)
    }
  }

  @Test("what a reader asks for is fetched, what a reader drops goes, and the rest stays where it is")
  func fetchedAndDropped() async throws {
    let harness = try AgentHarness()
    let package = try FixturePackage.inSections()
    let server = FakeServer([package])
    let product = package.manifest.product
    try await deliver(
      package, sections: [], from: server, with: harness, configure: { $0.sections = ["lang-fr=ask"] }
    ) { agent in
      #expect(try self.placed(package, harness) == Set(Self.required))
      let page = "\(self.root(package, harness))/001.jpg"
      let inode = try FileSystem.status(of: page)?.inode
      try await self.end(of: "hires", agent) {
        let answer = try await harness.ask("PUT", "/v1/library/\(product)/sections/hires", "{}")
        #expect(answer.status == 202)
      }
      #expect(try self.placed(package, harness) == Set(Self.required + Self.sharp))
      // Linked, not written again.
      #expect(try FileSystem.status(of: page)?.inode == inode)
      #expect(try await harness.ask("PUT", "/v1/library/\(product)/sections/hires", "{}").status == 200)
      #expect(
        self.sent(package, server) == self.pieces(Self.required + Self.sharp, of: package))

      #expect(try await harness.ask("DELETE", "/v1/library/\(product)/sections/hires").status == 204)
      #expect(try self.placed(package, harness) == Set(Self.required))
      #expect(try FileSystem.status(of: "\(self.root(package, harness))/hires") == nil)
      #expect(try await self.isHere(package, harness) == ["hires": false, "lang-fr": false])
      let checked = try await harness.ask("POST", "/v1/library/\(product)/verify")
      let found = try APIJSON.decode(LibraryVerificationResponse.self, from: checked.body).items
      #expect(found.map(\.state) == [.present] && found.allSatisfy(\.faults.isEmpty))
      #expect(try await harness.ask("DELETE", "/v1/library/\(product)/sections/hires").status == 204)
      let unknown = try await harness.ask("PUT", "/v1/library/\(product)/sections/sound", "{}")
      #expect(unknown.status == 404)
      #expect(try APIJSON.decode(Problem.self, from: unknown.body).code == .sectionUnknown)
    }
  }

  @Test("a correction brings the sections that are here, and what was dropped stays away")
  func corrected() async throws {
    let harness = try AgentHarness()
    let package = try FixturePackage.inSections()
    let server = FakeServer([package])
    let product = package.manifest.product
    try await deliver(
      package, sections: ["lang-fr"], from: server, with: harness, configure: { $0.sections = ["lang-fr"] }
    ) { agent in
      #expect(try await harness.ask("DELETE", "/v1/library/\(product)/sections/lang-fr").status == 204)
      try await self.end(of: "hires", agent) {
        _ = try await harness.ask("PUT", "/v1/library/\(product)/sections/hires", "{}")
      }
      let next = try FixturePackage.inSections(
        version: "1.1", firstPage: FixturePackage.noise(1_500_001, seed: 99), following: package.manifest)
      server.change {
        $0.package = [next]
        $0.previous = PreviousContent(version: package.manifest.version, digest: package.manifest.digest)
        $0.sent = []
      }
      let observer = try #require(agent.hub.subscribe())
      defer { agent.hub.unsubscribe(observer) }
      _ = try await harness.ask("POST", "/v1/restore", #"{"products":["\#(product)"]}"#)
      _ = try await observer.first { event in
        guard case .download(let status) = event else { return false }
        return status.version?.description == "1.1" && status.state == .finished
      }
      #expect(try self.placed(next, harness) == Set(Self.required + Self.sharp))
      // Only the page that is another.
      #expect(self.sent(next, server) == self.pieces(["001.jpg"], of: next))
    }
  }

  @Test("a correction waits while it cannot be told which sections are here, and brings them")
  func correctedBehindUnreadable() async throws {
    let harness = try AgentHarness()
    let package = try FixturePackage.inSections()
    let server = FakeServer([package])
    let product = package.manifest.product
    try await deliver(
      package, sections: ["lang-fr"], from: server, with: harness, configure: { $0.sections = ["lang-fr"] }
    ) { agent in
      // Everything is here then, which the manifest alone tells.
      try await self.end(of: "hires", agent) {
        _ = try await harness.ask("PUT", "/v1/library/\(product)/sections/hires", "{}")
      }
      let next = try FixturePackage.inSections(
        version: "1.1", firstPage: FixturePackage.noise(1_500_001, seed: 99), following: package.manifest)
      server.change { $0.package = [next] }
      harness.operations.answer { _, path in
        path.hasSuffix("/.pullbox/\(package.manifest.version)") ? EMFILE : nil
      }
      _ = try await harness.ask("POST", "/v1/restore", #"{"products":["\#(product)"]}"#)
      _ = try await agent.download(.waiting, "storage-failure")
      harness.operations.answer(nil)
      _ = try await agent.ended("1.1")
      #expect(try self.placed(next, harness) == Set(next.files.keys))
    }
  }

  @Test(
    "a reader finds each page of what was here, and all pages of a section or none, at every moment in which it comes"
  )
  func oneRename() async throws {
    let harness = try AgentHarness()
    let package = try FixturePackage.inSections()
    let server = FakeServer([package])
    let product = package.manifest.product
    try await deliver(
      package, sections: [], from: server, with: harness, configure: { $0.sections = ["lang-fr=ask"] }
    ) { agent in
      let root = self.root(package, harness)
      try DurableFile.write([7].span, to: "\(root)/notes.txt")
      let isOver = Locked(false)
      async let misses = BlockingPool.computing.run { () throws -> Int in
        var misses = 0
        while !isOver.current {
          if try FileSystem.status(of: "\(root)/001.jpg") == nil { misses += 1 }
          // The pages of the section come together: where one is, the other is, whichever is looked for first.
          for (one, other) in [(Self.sharp[0], Self.sharp[1]), (Self.sharp[1], Self.sharp[0])] {
            guard try FileSystem.status(of: "\(root)/\(one)") != nil else { continue }
            if try FileSystem.status(of: "\(root)/\(other)") == nil { misses += 1 }
          }
        }
        return misses
      }
      try await self.end(of: "hires", agent) {
        _ = try await harness.ask("PUT", "/v1/library/\(product)/sections/hires", "{}")
      }
      isOver.withLock { $0 = true }
      #expect(try await misses == 0)
      #expect(try self.placed(package, harness) == Set(Self.required + Self.sharp))
      // What another program put there is there still.
      #expect(try FileSystem.read("\(root)/notes.txt", upTo: .mebibytes(1)) == [7])
    }
  }

  @Test("what is dropped while its job waits is neither fetched nor placed, and the others of the job are")
  func droppedOnTheWay() async throws {
    let harness = try AgentHarness()
    let package = try FixturePackage.inSections()
    let server = FakeServer([package])
    let product = package.manifest.product
    try await deliver(
      package, sections: [], from: server, with: harness, configure: { $0.sections = ["lang-fr=ask"] }
    ) { agent in
      server.change { $0.unreadyManifests = [product] }
      for tag in ["hires", "lang-fr"] {
        let answer = try await harness.ask("PUT", "/v1/library/\(product)/sections/\(tag)", "{}")
        #expect(answer.status == 202)
      }
      #expect(try await harness.ask("DELETE", "/v1/library/\(product)/sections/hires").status == 204)
      server.change { $0.sent = [] }
      try await self.end(of: "lang-fr", agent) { server.change { $0.unreadyManifests = [] } }
      #expect(try self.placed(package, harness) == Set(Self.required + Self.french))
      #expect(try await self.isHere(package, harness) == ["hires": false, "lang-fr": true])
      #expect(self.sent(package, server).isSubset(of: self.pieces(Self.french, of: package)))
    }
  }

  @Test("content that is removed does not come back by a section that was on its way")
  func removedOnTheWay() async throws {
    let harness = try AgentHarness()
    let package = try FixturePackage.inSections()
    let server = FakeServer([package])
    let product = package.manifest.product
    try await deliver(
      package, sections: [], from: server, with: harness, configure: { $0.sections = ["lang-fr=ask"] }
    ) { _ in
      server.change { $0.unreadyManifests = [product] }
      #expect(try await harness.ask("PUT", "/v1/library/\(product)/sections/hires", "{}").status == 202)
      #expect(try await harness.ask("DELETE", "/v1/library/\(product)").status == 204)
      server.change { $0.unreadyManifests = [] }
      let downloads = try await harness.downloads()
      #expect(downloads.first { $0.section != nil }?.state == .cancelled)
      #expect(downloads.contains { !$0.state.isFinal } == false)
      #expect(try await harness.get("/v1/library", as: LibraryResponse.self).items.isEmpty)
    }
  }

  @Test("a section's download tells the bytes that it needs, and not those of the package")
  func bytes() async throws {
    let harness = try AgentHarness()
    let package = try FixturePackage.inSections()
    let server = FakeServer([package])
    try await deliver(
      package, sections: ["lang-fr"], from: server, with: harness, configure: { _ in }
    ) { _ in
      let downloads = try await harness.downloads()
      let needed = PieceMap(package.manifest.selecting([])).bytesNeeded
      #expect(downloads.first { $0.section == nil }?.bytesTotal == needed)
      #expect(downloads.allSatisfy { $0.bytesTotal == $0.bytesVerified && $0.progress == 1 })
    }
  }

  @Test("after a death between two names, the content is whole, and a reader's notes are where they were")
  func diedBetweenNames() async throws {
    let harness = try AgentHarness()
    let package = try FixturePackage.inSections()
    let server = FakeServer([package])
    let product = package.manifest.product
    try await deliver(package, sections: ["lang-fr"], from: server, with: harness)
    // As the exchange leaves it: what was there, under the other name, with a note of the reader's.
    let left = "\(harness.library)/\(product)/.pullbox/\(package.manifest.version).next"
    try FileSystem.createDirectories(left)
    let page = try #require(package.files["001.jpg"])
    try DurableFile.write(page.span, to: "\(left)/001.jpg")
    try DurableFile.write([7].span, to: "\(left)/notes.txt")
    try await server.open { url in
      try await harness.run(server: url) { agent in
        try await self.end(of: "hires", agent) {
          _ = try await harness.ask("PUT", "/v1/library/\(product)/sections/hires", "{}")
        }
      }
    }
    #expect(try placed(package, harness) == Set(package.files.keys))
    #expect(try FileSystem.read("\(root(package, harness))/notes.txt", upTo: .mebibytes(1)) == [7])
    #expect(try FileSystem.status(of: left) == nil)
  }

  @Test("a drop of a section that was broken off is ended at the next start, and takes nothing else away")
  func brokenOffDrop() async throws {
    let harness = try AgentHarness()
    let package = try FixturePackage.inSections(pageLength: 5000)
    let server = FakeServer([package])
    let path = "/v1/library/\(package.manifest.product)/sections/hires"
    try await deliver(
      package, sections: [], from: server, with: harness, configure: { $0.sections = ["lang-fr=ask"] }
    ) { agent in
      try await self.end(of: "hires", agent) { _ = try await harness.ask("PUT", path, "{}") }
      harness.operations.answer { call, path in call == .remove && path.hasSuffix("hires/002.jpg") ? EIO : nil
      }
      #expect(try await harness.ask("DELETE", path).status >= 500)
      harness.operations.answer(nil)
      #expect(try self.placed(package, harness) == Set(Self.required + [Self.sharp[1]]))
    }
    try await server.open { url in
      try await harness.run(server: url, configure: { $0.sections = ["lang-fr=ask"] }) { _ in
        let (files, isHere) = (try self.placed(package, harness), try await self.isHere(package, harness))
        #expect(files == Set(Self.required) && isHere == ["hires": false, "lang-fr": false])
      }
    }
  }

  @Test("a file of a section that is on its way is read while it comes, beside what is at its place")
  func readOnItsWay() async throws {
    let harness = try AgentHarness()
    let package = try FixturePackage.inSections()
    let server = FakeServer([package])
    let files = "/v1/library/\(package.manifest.product)/files"
    try await deliver(
      package, sections: [], from: server, with: harness, configure: { $0.sections = ["lang-fr=ask"] }
    ) { agent in
      #expect(try await harness.ask("GET", "\(files)/hires/001.jpg").status == 404)
      server.change { $0.contentFaults = [.stall(after: 1_500_000)] }
      _ = try await harness.ask("PUT", "/v1/library/\(package.manifest.product)/sections/hires", "{}")
      let first = try await harness.ask(
        "GET", "\(files)/hires/001.jpg", headers: [("Range", "bytes=0-999")])
      #expect(first.status == 206 && first.body == Array(package.files["hires/001.jpg"]?.prefix(1000) ?? []))
      #expect(try await harness.ask("GET", "\(files)/001.jpg").status == 200)
      #expect(try await harness.ask("GET", "\(files)/hires/003.jpg").status == 404)
    }
  }

  @Test("an agent that lost its records tells by the files which sections are here")
  func rebuilt() async throws {
    let harness = try AgentHarness()
    let package = try FixturePackage.inSections()
    let server = FakeServer([package])
    try await deliver(
      package, sections: ["lang-fr"], from: server, with: harness, configure: { $0.sections = ["lang-fr"] })
    try FileSystem.removeFile(harness.directory.path("state/agent.sqlite"))
    try await server.open { url in
      try await harness.run(server: url, configure: { $0.rebuild = true }) { _ in
        #expect(try await self.isHere(package, harness) == ["hires": false, "lang-fr": true])
        let items = try await harness.get("/v1/library", as: LibraryResponse.self).items
        #expect(items.map(\.state) == [.present])
      }
    }
  }

  @Test(
    "100 random commands to fetch and to drop, through three SIGKILLs, leave what was wanted last, each file right",
    arguments: [UInt64(1), 2])
  func commands(seed: UInt64) async throws {
    let harness = try AgentHarness()
    let package = try FixturePackage.inSections()
    let server = FakeServer([package])
    let product = package.manifest.product
    let choices = Locked<[String: Bool]>(["lang-fr": true, "hires": false])
    let generator = Locked(SplitMix(seed: seed))
    try await deliver(package, sections: ["lang-fr"], from: server, with: harness)
    try await server.open { url in
      for _ in 0..<4 {
        try await harness.run(until: .killed, server: url) {
          for _ in 0..<25 {
            let (tag, isWanted) = generator.withLock { generator in
              (["lang-fr", "hires"].randomElement(using: &generator) ?? "", Bool.random(using: &generator))
            }
            let answer = try await harness.ask(
              isWanted ? "PUT" : "DELETE", "/v1/library/\(product)/sections/\(tag)", isWanted ? "{}" : nil)
            // What is being placed ends first.
            guard answer.status != 409 else { continue }
            #expect([200, 202, 204].contains(answer.status), "\(tag) \(answer.status)")
            choices.withLock { $0[tag] = isWanted }
          }
        }
      }
      try await harness.run(server: url) { agent in
        for (tag, isWanted) in choices.current {
          let path = "/v1/library/\(product)/sections/\(tag)"
          let answer = try await harness.ask(isWanted ? "PUT" : "DELETE", path, isWanted ? "{}" : nil)
          #expect(answer.status < 300, "\(tag) \(answer.status)")
        }
        while try await harness.downloads().contains(where: { !$0.state.isFinal }) {
          try await Task.sleep(for: .milliseconds(20))
        }
        #expect(try await self.isHere(package, harness) == choices.current)
        let french = choices.current["lang-fr"] == true ? Self.french : []
        let sharp = choices.current["hires"] == true ? Self.sharp : []
        #expect(try self.placed(package, harness) == Set(Self.required + french + sharp))
        let checked = try await harness.ask("POST", "/v1/library/\(product)/verify")
        let found = try APIJSON.decode(LibraryVerificationResponse.self, from: checked.body).items
        #expect(found.map(\.state) == [.present])
        let transactions = try await harness.transactions()
        #expect(transactions.map(\.step) == ["finished"])
      }
    }
  }
}
