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

/// How products are called and look that arrive by themselves.
@Suite("Titles and covers of what arrives", .serialized, .timeLimit(.minutes(5)))
struct ArrivalListingTests {
  /// The signature of PNG (ISO/IEC 15948, 5.2) and a byte.
  private static let png: [UInt8] = [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A, 1]
  /// The first marker segments of JFIF (ITU-T T.871, 10.1).
  private static let jpeg: [UInt8] = [0xFF, 0xD8, 0xFF, 0xE0, 0, 16, 0x4A, 0x46, 0x49, 0x46, 0]

  private let harness: AgentHarness
  private let server: FakeServer
  private let package: FixturePackage

  init() throws {
    harness = try AgentHarness()
    package = try FixturePackage.file(length: 50_000, product: "com.example.heroes.1", seed: 1)
    server = FakeServer([package])
    let listing = Self.listing(package.manifest.product, "Les h\u{E9}ros, n\u{BA} 1", cover: 1)
    server.change { state in
      state.feed = []
      state.listings = [listing]
      state.covers = ["com.example.heroes.1": Self.png]
    }
  }

  private static func listing(
    _ product: ProductIdentifier, _ title: String, cover: Int?
  ) -> ProductListing {
    ProductListing(
      id: product, type: .nonConsumable, title: title, description: "",
      coverURL: cover.map { "/v1/products/\(product)/cover?version=\($0)" })
  }

  private func entry(
    _ kind: FeedEntry.Kind = .issueAvailable, version: ContentVersion? = nil
  ) throws -> FeedEntry {
    FeedEntry(
      kind: kind, product: package.manifest.product, version: version ?? package.manifest.version,
      length: package.manifest.length, transaction: try #require(TransactionIdentifier("2000000000000001")))
  }

  /// So that an agent that starts has something to read.
  private func unrelated() throws -> FeedEntry {
    FeedEntry(
      kind: .withdrawn, product: try #require(ProductIdentifier("com.example.villains.1")),
      transaction: try #require(TransactionIdentifier("2000000000000002")))
  }

  private func run(
    _ policy: ArrivalPolicy, at url: String, rebuilding: Bool = false,
    _ body: @escaping @Sendable (AgentService) async throws -> Void
  ) async throws {
    try await harness.run(
      server: url,
      configure: {
        $0.arrivals = policy
        $0.locale = "fr-FR"
        $0.rebuild = rebuilding
      }
    ) { agent in
      try await agent.arrivals.hasRead()
      try await body(agent)
    }
  }

  /// Until the list of what waits for the reader fits.
  private func listed(where fits: (NewsEntry) -> Bool) async throws -> NewsEntry {
    while true {
      let entries = try await harness.get("/v1/news", as: NewsResponse.self).entries
      if let entry = entries.first(where: fits) { return entry }
      try await Task.sleep(for: .milliseconds(10))
    }
  }

  private func placed(where fits: (LibraryItem) -> Bool) async throws -> LibraryItem {
    while true {
      let items = try await harness.get("/v1/library", as: LibraryResponse.self).items
      if let item = items.first(where: fits) { return item }
      try await Task.sleep(for: .milliseconds(10))
    }
  }

  private func bytes(_ path: String?) throws -> [UInt8] {
    try FileSystem.read(try #require(path), upTo: .mebibytes(1))
  }

  @Test("what waits for the reader has the server's title in the configured language, and a small cover")
  func waiting() async throws {
    try await server.open { [server, harness] url in
      try await run(.ask, at: url) { agent in
        server.tell(try entry())
        let news = try await listed { $0.cover != nil }
        #expect(news.title == "Les h\u{E9}ros, n\u{BA} 1")
        #expect(news.cover == "\(harness.library)/com.example.heroes.1/.pullbox/cover.png")
        #expect(try bytes(news.cover) == Self.png)
        #expect(server.state.current.productQueries.allSatisfy { $0.contains(" USA fr-FR ") })
        #expect(server.state.current.coverWidths == ["400"])
        #expect(try await harness.downloads().isEmpty)
      }
      let asked = server.state.current.coverWidths.count
      server.tell(try unrelated())
      server.change { $0.refusals["GET /v1/products"] = [Problem(.unavailable)] }
      try await run(.ask, at: url) { agent in
        let news = try await listed { $0.cover != nil }
        #expect(news.title == "Les h\u{E9}ros, n\u{BA} 1")
        #expect(try bytes(news.cover) == Self.png)
      }
      #expect(server.state.current.coverWidths.count == asked)
    }
  }

  @Test("what is fetched by itself keeps them in the library, over a restart, until it is removed")
  func fetched() async throws {
    try await server.open { [server, harness, package] url in
      try await run(.latest, at: url) { agent in
        server.tell(try entry())
        _ = try await agent.ended()
        let item = try await placed { $0.cover != nil }
        #expect(item.productTitle == "Les h\u{E9}ros, n\u{BA} 1")
        #expect(try bytes(item.cover) == Self.png)
      }
      server.tell(try unrelated())
      try await run(.latest, at: url) { _ in
        let item = try await placed { _ in true }
        #expect(item.productTitle == "Les h\u{E9}ros, n\u{BA} 1")
        #expect(try bytes(item.cover) == Self.png)
        #expect(try await harness.ask("DELETE", "/v1/library/\(package.manifest.product)").status == 204)
        #expect(try FileSystem.status(of: "\(harness.library)/\(package.manifest.product)") == nil)
      }
    }
  }

  @Test("records that are made anew have the title and the cover again, without anything that arrives")
  func rebuilt() async throws {
    try await server.open { [server] url in
      try await run(.latest, at: url) { agent in
        server.tell(try entry())
        _ = try await agent.ended()
        _ = try await placed { $0.cover != nil }
      }
      server.tell(try unrelated())
      try await run(.latest, at: url, rebuilding: true) { _ in
        let item = try await placed { $0.cover != nil }
        #expect(item.productTitle == "Les h\u{E9}ros, n\u{BA} 1")
        #expect(try bytes(item.cover) == Self.png)
      }
    }
  }

  @Test("a correction brings the cover and the title that it has")
  func corrected() async throws {
    let later = try FixturePackage.file(
      length: 50_000, product: "com.example.heroes.1", version: "1.1", seed: 1)
    let title = Self.listing(package.manifest.product, "Les h\u{E9}ros 1", cover: 2)
    try await server.open { [server, harness, package] url in
      try await run(.latest, at: url) { agent in
        server.tell(try entry())
        _ = try await agent.ended()
        _ = try await placed { $0.cover != nil }
        server.change { state in
          state.package = [later]
          state.listings = [title]
          state.covers = ["com.example.heroes.1": Self.jpeg]
        }
        server.tell(try entry(.correctionAvailable, version: later.manifest.version))
        _ = try await agent.ended("1.1")
        let item = try await placed { $0.cover?.hasSuffix("/cover.jpg") == true }
        #expect(item.productTitle == "Les h\u{E9}ros 1")
        #expect(try bytes(item.cover) == Self.jpeg)
        let folder = "\(harness.library)/\(package.manifest.product)/.pullbox"
        #expect(try FileSystem.status(of: "\(folder)/cover.png") == nil)
      }
    }
  }

  @Test("what is withdrawn before it was fetched leaves nothing in the library")
  func withdrawn() async throws {
    try await server.open { [server, harness, package] url in
      try await run(.ask, at: url) { agent in
        server.tell(try entry())
        _ = try await listed { $0.cover != nil }
        server.tell(try entry(.withdrawn))
        let path = "\(harness.library)/\(package.manifest.product)"
        while try FileSystem.status(of: path) != nil { try await Task.sleep(for: .milliseconds(10)) }
      }
    }
  }

  @Test(
    "an arrival waits for no title and no cover, however these are answered", arguments: Answer.allCases)
  func inTheWay(_ answer: Answer) async throws {
    let long = Self.listing(package.manifest.product, String(repeating: "x", count: 1025), cover: 1)
    let foreign = ProductListing(
      id: package.manifest.product, type: .nonConsumable, title: "Heroes", description: "",
      coverURL: "//elsewhere.example/cover")
    server.change { state in
      switch answer {
      case .pageForList:
        let page = FakeServer.Page(status: 200)
        state.pages["GET /v1/products"] = [FakeServer.Page](repeating: page, count: 1000)
      case .pageForCover: state.covers["com.example.heroes.1"] = Array("<html></html>".utf8)
      case .silentCover: state.covers["com.example.heroes.1"] = .some(nil)
      case .longCover:
        state.covers["com.example.heroes.1"] = Self.png + [UInt8](repeating: 0, count: 256 * 1024)
      case .longTitle: state.listings = [long]
      case .coverElsewhere: state.listings = [foreign]
      case .refusal: state.refusals["GET /v1/products"] = [Problem(.internalError)]
      }
    }
    try await server.open { [server, harness, package] url in
      try await run(.latest, at: url) { agent in
        server.tell(try entry())
        #expect(try await agent.ended().state == .finished)
        #expect(try harness.placed(package))
        let item = try await placed { _ in true }
        #expect(answer == .longTitle || item.cover == nil)
        #expect(item.productTitle?.utf8.count ?? 0 <= 1024)
      }
    }
  }

  enum Answer: CaseIterable, Sendable {
    case pageForList
    case pageForCover
    case silentCover
    case longCover
    case longTitle
    case coverElsewhere
    case refusal
  }

  @Test("what is no picture is asked for so many times, and no more")
  func givenUp() async throws {
    server.change { $0.covers["com.example.heroes.1"] = Array("<html></html>".utf8) }
    try await server.open { [server] url in
      try await run(.ask, at: url) { agent in
        server.tell(try entry())
        while server.state.current.coverWidths.count < ListingKeeper.maximumTries {
          try await Task.sleep(for: .milliseconds(10))
        }
        let database = await agent.arrivals.database
        while try !database.dueListings().isEmpty {
          try await Task.sleep(for: .milliseconds(10))
        }
        #expect(server.state.current.coverWidths.count == ListingKeeper.maximumTries)
        #expect(try await harness.get("/v1/news", as: NewsResponse.self).entries.first?.title != nil)
      }
    }
  }

  @Test(
    "a cover is known by what it begins with",
    arguments: [
      ([0xFF, 0xD8, 0xFF, 0xDB], "cover.jpg"), (Array("GIF89a".utf8), "cover.gif"),
      (Array("RIFF\u{1}\u{0}\u{0}\u{0}WEBPVP8 ".utf8), "cover.webp"),
      (Array("\u{0}\u{0}\u{0}\u{1C}ftypavif".utf8), "cover.avif"), (Self.png, "cover.png"),
      (Array("<svg xmlns='http://www.w3.org/2000/svg'/>".utf8), nil), (Array("RIFF".utf8), nil), ([], nil),
    ] as [([UInt8], String?)])
  func formats(bytes: [UInt8], name: String?) {
    #expect(CoverPicture(bytes)?.fileName == name)
  }

  @Test("the publication of an issue is learned with its title, and the publication's own title is asked for")
  func publication() async throws {
    let magazine = try #require(ProductIdentifier("com.example.heroes"))
    let product = package.manifest.product
    server.change { state in
      state.listings[0].publication = magazine
      state.listings[0].publicationDate = Timestamp(millisecondsSinceEpoch: 1_767_225_600_000)
      state.publications = [
        PublicationListing(id: magazine, title: "Les H\u{E9}ros\u{202E}", description: "", subscriptions: [])
      ]
    }
    try await server.open { url in
      try await run(.ask, at: url) { agent in
        server.tell(try entry())
        while agent.library.listings[publication: magazine] == nil { await Task.yield() }
      }
    }
    // Known without the server, and after a restart.
    try await harness.run(server: "http://127.0.0.1:9") { agent in
      let listing = agent.library.listings[product]
      #expect(listing?.publication == magazine && listing?.published?.rfc3339.hasPrefix("2026-01-01") == true)
      #expect(agent.library.listings[publication: magazine]?.title == "Les H\u{E9}ros")
      #expect(agent.library.listings[publication: magazine]?.locale == "fr-FR")
    }
  }
}
