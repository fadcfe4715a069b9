import AgentTesting
import Commerce
import ContentPackage
import ContentPacking
import CoreTypes
import Crypto
import Foundation
import HTTPClient
import PackageTesting
import PullboxAPI
import PullboxTesting
import ServiceRuntime
import Testing

@testable import AgentRecords
@testable import ContentLibrary
@testable import DownloadAgent
@testable import LibraryCatalog

/// docs/agent.md, "The library as a catalog": how far something was read, shelves by publication, tables of contents.
@Suite("Reading on a device", .serialized, .timeLimit(.minutes(5)))
struct LibraryReadingTests {
  private static let product = FixturePackage.product
  private static let other = "com.example.heroes.issue43"
  private static let names = [
    "chapter 1/page 1.jpg", "chapter 1/page 2.jpg", "chapter 2/page 3.jpg", "chapter 2/page 4.jpg",
  ]

  private static func comic(_ product: String = product) throws -> FixturePackage {
    let files = Dictionary(
      uniqueKeysWithValues: names.enumerated().map { ($1, jpeg($0 + 1, length: 3000 + $0)) })
    return try FixturePackage.folder(of: files, product: product)
  }

  /// A program of the device that knows the catalog's key.
  private struct Program: Sendable {
    let harness: AgentHarness
    let agent: AgentService
    let key: NewReaderKey

    init(_ harness: AgentHarness, _ agent: AgentService) async throws {
      (self.harness, self.agent) = (harness, agent)
      let answer = try await harness.ask("POST", "/v1/readers/local")
      key = try APIJSON.decode(NewReaderKey.self, from: answer.body)
    }

    func send(
      _ method: String, _ path: String, _ body: String? = nil, _ headers: [(String, String)] = []
    ) async throws -> ClientResponse {
      var request = ClientRequest(method: method, url: path.hasPrefix("http") ? path : key.address + path)
      let shown = Base64.encode(Array("\(key.name):\(key.password)".utf8))
      request.headers = [("Authorization", "Basic \(shown)")] + headers
      if let body { request.body = .bytes(Array(body.utf8)) }
      return try await harness.client.send(request)
    }

    func text(_ path: String) async throws -> String {
      let answer = try await send("GET", path)
      #expect(answer.status == 200, "\(path)")
      return String(decoding: answer.body, as: UTF8.self)
    }

    func progress(_ product: String = product) async throws -> ReadingProgress {
      try APIJSON.decode(
        ReadingProgress.self, from: try await send("GET", "/progress/\(product)").body)
    }
  }

  /// Places the packages in their order; `prepare` changes the records then, and `body` is given the agent with no server to ask.
  private func reading(
    _ packages: [FixturePackage], on harness: AgentHarness? = nil,
    prepare: @escaping @Sendable (AgentDatabase) throws -> Void,
    _ body: @escaping @Sendable (Program) async throws -> Void
  ) async throws {
    let harness = try harness ?? AgentHarness()
    let server = FakeServer(packages)
    try await server.open { url in
      try await harness.run(server: url) { agent in
        for (index, package) in packages.enumerated() {
          let transaction = "200000000000000\(index + 1)"
          try server.queuePurchase("\(package.manifest.product)", transaction: transaction)
          try await agent.finished([transaction])
        }
        try prepare(agent.library.database)
      }
    }
    try await again(on: harness, body)
  }

  private func reading(
    _ packages: [FixturePackage], on harness: AgentHarness? = nil,
    _ body: @escaping @Sendable (Program) async throws -> Void
  ) async throws {
    try await reading(packages, on: harness, prepare: { _ in }, body)
  }

  private func again(
    on harness: AgentHarness, _ body: @escaping @Sendable (Program) async throws -> Void
  ) async throws {
    try await harness.run(server: "http://127.0.0.1:9", configure: { $0.catalogListen = "127.0.0.1:0" }) {
      agent in
      try await body(try await Program(harness, agent))
    }
  }

  private static func word(_ page: Int, at time: String, by device: String = "a") -> String {
    #"{"modified":"\#(time)","device":{"id":"\#(device)"},"page":\#(page)}"#
  }

  @Test(
    "of two words about a product the later counts, of one time that of the device behind, also after a restart"
  )
  func later() async throws {
    let harness = try AgentHarness()
    try await reading([try Self.comic()], on: harness) { program in
      let path = "/progress/\(Self.product)"
      #expect(try await program.send("GET", path).status == 204)
      let first = try await program.send("PUT", path, Self.word(1, at: "2026-01-02T00:00:00.000Z"))
      #expect(first.status == 200 && first.headers["Content-Type"] == ReadingProgress.mediaType)
      let told = try APIJSON.decode(ReadingProgress.self, from: first.body)
      #expect(told.page == 1 && told.progression == 0.5)
      #expect(told.locator?.href == "\(program.key.address)/pages/\(Self.product)/1.0/1")
      #expect(told.locator?.locations?.position == 2)
      for (word, page) in [
        (Self.word(3, at: "2026-01-01T00:00:00.000Z"), 1),
        (Self.word(2, at: "2026-01-02T00:00:00.000Z", by: "b"), 2),
        (Self.word(0, at: "2026-01-02T00:00:00.000Z", by: "a"), 2),
      ] {
        let answer = try await program.send("PUT", path, word)
        #expect(try APIJSON.decode(ReadingProgress.self, from: answer.body).page == page)
      }
      // A time to come is now.
      let future = try await program.send("PUT", path, Self.word(3, at: "2999-01-01T00:00:00.000Z"))
      let now = try APIJSON.decode(ReadingProgress.self, from: future.body)
      #expect(now.page == 3 && now.modified < Timestamp(millisecondsSinceEpoch: 32_000_000_000_000))
    }
    try await again(on: harness) { program in
      let kept = try await program.progress()
      #expect(kept.page == 3)
    }
  }

  @Test(
    "a word is written for the state that it was told for, and one that cannot be is refused and changes nothing"
  )
  func conditions() async throws {
    try await reading([try Self.comic()]) { program in
      let path = "/progress/\(Self.product)"
      let new = [("If-None-Match", "*")]
      let word = Self.word(1, at: "2026-01-02T00:00:00.000Z")
      #expect(try await program.send("PUT", path, word, new).status == 200)
      #expect(try await program.send("PUT", path, word, new).status == 412)
      let tag = try #require(try await program.send("GET", path).headers["ETag"])
      #expect(try await program.send("GET", path, nil, [("If-None-Match", tag)]).status == 304)
      let next = Self.word(2, at: "2026-01-03T00:00:00.000Z")
      #expect(try await program.send("PUT", path, next, [("If-Match", tag)]).status == 200)
      #expect(try await program.send("PUT", path, word, [("If-Match", tag)]).status == 412)
      let long = String(repeating: "a", count: 300)
      for wrong in [
        Self.word(4, at: "2026-01-04T00:00:00.000Z"), Self.word(-1, at: "2026-01-04T00:00:00.000Z"), "{}", "",
        "[]",
        #"{"modified":"2026-01-04T00:00:00.000Z","modified":"2026-01-05T00:00:00.000Z","device":{"id":"a"}}"#,
        #"{"modified":"2026-01-04T00:00:00.000Z","device":{"id":"\#(long)"}}"#,
        #"{"modified":"2026-01-04T00:00:00.000Z","device":{"id":"a"},"progression":1.5}"#,
        #"{"modified":"2026-01-04T00:00:00.000Z","device":{"id":"\ud800"}}"#,
      ] {
        #expect(try await program.send("PUT", path, wrong).status == 400, "\(wrong)")
      }
      #expect(try await program.progress().page == 2)
      let huge = Self.word(1, at: "2026-01-05T00:00:00.000Z") + String(repeating: " ", count: 20_000)
      #expect(try await program.send("PUT", path, huge).status == 413)
      #expect(try await program.send("PUT", "/progress/com.example.none", word).status == 404)
      #expect(
        try await program.harness.client.send(ClientRequest(method: "GET", url: program.key.address + path))
          .status == 401)
    }
  }

  @Test("what was begun is a feed of its own, the latest first, and entries say which page was read last")
  func continuing() async throws {
    try await reading([try Self.comic(), try Self.comic(Self.other)]) { program in
      for start in ["/v1.2", "/v2"] {
        #expect(try await program.text(start).contains("Continue reading"))
        #expect(try await !program.text("\(start)/reading").contains(Self.product))
      }
      for (product, time) in [(Self.product, "02"), (Self.other, "01")] {
        _ = try await program.send(
          "PUT", "/progress/\(product)", Self.word(2, at: "2026-01-\(time)T00:00:00.000Z"))
      }
      let atom = try await program.text("/v1.2/reading")
      #expect(
        atom.contains(#"pse:lastRead="3""#) && atom.contains(#"pse:lastReadDate="2026-01-02T00:00:00.000Z""#))
      for feed in ["/v1.2/reading", "/v2/reading"] {
        let text = try await program.text(feed)
        let places = try [Self.product, Self.other].map { try #require(text.range(of: $0)).lowerBound }
        #expect(places[0] < places[1], "\(feed)")
      }
      #expect(
        try await program.text("/v2/products/\(Self.product)").contains("/opds/progress/\(Self.product)"))
      #expect(try await program.text("/v1.2/owned").contains(#"pse:lastRead="3""#))
      // Read to its end it is begun no more.
      _ = try await program.send(
        "PUT", "/progress/\(Self.product)", Self.word(3, at: "2026-01-03T00:00:00.000Z"))
      let rest = try await program.text("/v2/reading")
      #expect(!rest.contains(Self.product) && rest.contains(Self.other))
    }
  }

  @Test(
    "what was taken back is not shown, and what its publisher leaves to those who have it is read on",
    arguments: [true, false])
  func takenBack(isKept: Bool) async throws {
    let product = try #require(ProductIdentifier(Self.product))
    try await reading(
      [try Self.comic()],
      prepare: { database in
        try database.save([
          product: KnownOwnership(
            isOwned: false, because: "revoked", until: nil,
            asOf: Timestamp(millisecondsSinceEpoch: 1_767_225_600_000), isKept: isKept)
        ])
      }
    ) { program in
      for feed in ["/v1.2/owned", "/v2/owned"] {
        #expect(try await program.text(feed).contains(Self.product) == isKept, "\(feed)")
      }
      let manifest = try await program.send("GET", "/manifest/\(Self.product)/1.0")
      #expect((manifest.status == 200) == isKept)
      let progress = try await program.send("GET", "/progress/\(Self.product)")
      #expect((progress.status < 400) == isKept, "\(progress.status)")
    }
  }

  @Test(
    "in a corrected version the page of the same name is read on, and without one the place where as much was read"
  )
  func corrected() async throws {
    let product = try #require(ProductIdentifier(Self.product))
    let earlier = try #require(ContentVersion("0.9"))
    let read = ReadingProgress(
      modified: Timestamp(millisecondsSinceEpoch: 1_767_225_600_000), device: .init(id: "a"), page: 1,
      locator: .init(href: "http://127.0.0.1:1/opds/pages/x/0.9/1", type: "image/jpeg"), progression: 0.4)
    for (name, page, part) in [(Self.names[3], 3, 1.0), ("gone.jpg", 1, 0.4)] {
      try await reading(
        [try Self.comic()],
        prepare: { database in
          _ = try database.put(
            ReadingRecord(product: product, progress: read, version: earlier, pageName: name)
          ) { _ in }
        }
      ) { program in
        let found = try await program.progress()
        #expect(found.page == page && found.progression == part)
        #expect(found.locator?.href.hasSuffix("/opds/pages/\(Self.product)/1.0/\(page)") == true)
        #expect(try await program.text("/v1.2/owned").contains(#"pse:lastRead="\#(page + 1)""#))
        let socket = try await program.harness.get(
          "/v1/library/\(Self.product)/progress", as: ReadingResponse.self)
        #expect(socket.progress?.page == page && "\(socket.version)" == "1.0" && socket.pages == 4)
      }
    }
  }

  @Test("readers on the socket tell and ask the same words as programs of the catalog")
  func socket() async throws {
    try await reading([try Self.comic(), try FixturePackage.file(length: 5000, product: Self.other)]) {
      program in
      let harness = program.harness
      let path = "/v1/library/\(Self.product)/progress"
      let before = try await harness.get(path, as: ReadingResponse.self)
      #expect(before == ReadingResponse(version: try #require(ContentVersion("1.0")), pages: 4))
      let answer = try await harness.ask("PUT", path, #"{"page":2}"#)
      #expect(answer.status == 200)
      let told = try APIJSON.decode(ReadingResponse.self, from: answer.body)
      #expect(told.progress?.page == 2 && told.progress?.progression == 0.75)
      let device = try await harness.get("/v1/status", as: AgentStatus.self).device
      #expect(told.progress?.device.id == "\(device)")
      #expect(try await program.progress().page == 2)
      let earlier = try await harness.ask("PUT", path, #"{"page":0,"modified":"2026-01-01T00:00:00.000Z"}"#)
      #expect(try APIJSON.decode(ReadingResponse.self, from: earlier.body).progress?.page == 2)
      // What has no pages has parts.
      let other = "/v1/library/\(Self.other)/progress"
      let part = try await harness.ask("PUT", other, #"{"progression":0.25}"#)
      #expect(try APIJSON.decode(ReadingResponse.self, from: part.body).progress?.progression == 0.25)
      for wrong in [#"{"page":4}"#, #"{"progression":2}"#, #"{"page":1,"page":2}"#] {
        #expect(try await harness.ask("PUT", path, wrong).status == 400)
      }
      for method in ["GET", "PUT"] {
        let none = try await harness.ask(
          method, "/v1/library/com.example.none/progress", method == "PUT" ? "{}" : nil)
        #expect(none.status == 404)
      }
    }
  }

  @Test("issues whose publication the server has told of stand on its shelf, the newest first")
  func publications() async throws {
    let magazine = try #require(ProductIdentifier("com.example.heroes"))
    let issues = try [Self.product, Self.other].map { try #require(ProductIdentifier($0)) }
    try await reading(
      [
        try Self.comic(), try Self.comic(Self.other),
        try FixturePackage.file(length: 9000, product: "com.example.single"),
      ],
      prepare: { database in
        for (place, issue) in issues.enumerated() {
          try database.expectListing(of: issue)
          let listing = KeptListing(
            publication: magazine,
            published: Timestamp(millisecondsSinceEpoch: 1_767_225_600_000 + Int64(place) * 86_400_000))
          _ = try database.save(listing, of: issue, isDue: false)
        }
        try database.save(KeptPublication(title: "Heroes <weekly>"), of: magazine)
      }
    ) { program in
      #expect(try await program.text("/v2").contains("/opds/v2/publications"))
      let all = try await program.text("/v1.2/publications")
      #expect(
        all.contains("Heroes &lt;weekly&gt;") && all.contains("/opds/v1.2/publications/com.example.heroes"))
      for feed in ["/v1.2/publications/com.example.heroes", "/v2/publications/com.example.heroes"] {
        let text = try await program.text(feed)
        let places = try [Self.other, Self.product].map { try #require(text.range(of: $0)).lowerBound }
        #expect(places[0] < places[1] && !text.contains("com.example.single"), "\(feed)")
      }
      let document = try #require(
        try JSONSerialization.jsonObject(
          with: Data(try await program.send("GET", "/manifest/\(Self.product)/1.0").body)) as? [String: Any])
      let metadata = try #require(document["metadata"] as? [String: Any])
      let series = try #require((metadata["belongsTo"] as? [String: [[String: Any]]])?["series"]?.first)
      #expect(series["name"] as? String == "Heroes <weekly>")
      #expect(try await program.send("GET", "/v2/publications/com.example.none").status == 404)
      #expect(
        try await program.send("GET", "/v2/publications/com.example.heroes?after=com.example.single").status
          == 400)
    }
  }

  @Test("without a word of publications there is no shelf of them, and no entry that leads there")
  func noPublications() async throws {
    try await reading([try Self.comic()]) { program in
      let start = try await program.text("/v2")
      #expect(!start.contains("/opds/v2/publications"))
      #expect(try await program.send("GET", "/v1.2/publications").status == 200)
      #expect(try await program.send("GET", "/v1.2/publications/com.example.heroes").status == 404)
    }
  }

  @Test("a comic in folders has their names as its table of contents, one in a single folder has none")
  func contents() async throws {
    let flat = Dictionary(uniqueKeysWithValues: (1...3).map { ("pages/\($0).jpg", jpeg($0, length: 2000)) })
    let packages = [try Self.comic(), try FixturePackage.folder(of: flat, product: Self.other)]
    try await reading(packages) { program in
      func contents(_ product: String) async throws -> [[String: Any]]? {
        let manifest = try await program.send("GET", "/manifest/\(product)/1.0")
        let document = try JSONSerialization.jsonObject(with: Data(manifest.body)) as? [String: Any]
        return document?["toc"] as? [[String: Any]]
      }
      let found = try #require(try await contents(Self.product))
      #expect(found.compactMap { $0["title"] as? String } == ["chapter 1", "chapter 2"])
      let places = found.compactMap { $0["href"] as? String }
      #expect(places.map { $0.hasSuffix("/0") || $0.hasSuffix("/2") } == [true, true])
      #expect(try await contents(Self.other) == nil)
    }
  }
}
