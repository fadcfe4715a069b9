import AgentTesting
import Commerce
import ContentPackage
import CoreTypes
import PullboxAPI
import PullboxTesting
import ServiceRuntime
import SystemCalls
import Testing

@testable import AgentRecords
@testable import DownloadAgent

/// Titles and covers of many products at once, of which some cannot be had.
@Suite("Titles and covers of many products", .serialized, .timeLimit(.minutes(5)))
struct ManyListingTests {
  private static let names = (10..<35).map { "com.example.heroes.\($0)" }
  private static let png: [UInt8] = [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A, 1]

  private let harness: AgentHarness
  private let server: FakeServer
  private let entries: [FeedEntry]

  init() throws {
    harness = try AgentHarness()
    server = FakeServer([])
    let version = try #require(ContentVersion("1.0"))
    let transaction = try #require(TransactionIdentifier("2000000000000001"))
    let products = try Self.names.map { try #require(ProductIdentifier($0)) }
    entries = products.map {
      FeedEntry(
        kind: .issueAvailable, product: $0, version: version, length: .kibibytes(1), transaction: transaction)
    }
    let listings = products.map { product in
      ProductListing(
        id: product, type: .nonConsumable, title: "Title of \(product)", description: "",
        coverURL: "/v1/products/\(product)/cover?version=1")
    }
    server.change { state in
      state.feed = []
      state.listings = listings
    }
  }

  private func run(_ body: @escaping @Sendable () async throws -> Void) async throws {
    try await server.open { [harness, server, entries] url in
      try await harness.run(server: url, configure: { $0.arrivals = .ask }) { agent in
        try await agent.arrivals.hasRead()
        server.change { $0.feed = entries }
        server.tellOfNews()
        try await body()
      }
    }
  }

  /// Until what waits for the reader fits.
  private func news(where fits: ([String: NewsEntry]) -> Bool) async throws {
    while true {
      let entries = try await harness.get("/v1/news", as: NewsResponse.self).entries
      let byName = Dictionary(entries.map { ("\($0.product)", $0) }, uniquingKeysWith: { $1 })
      if fits(byName) { return }
      try await Task.sleep(for: .milliseconds(10))
    }
  }

  @Test("a question names 20 products at most, and fewer where that is too many for the server")
  func tooLong() async throws {
    server.change { $0.maximumNames = 3 }
    try await run {
      try await news { entries in Self.names.allSatisfy { entries[$0]?.title != nil } }
      let counts = server.state.current.productQueries.map { query in
        query.split(separator: " ").count { $0.hasPrefix("com.example.") }
      }
      #expect(counts.max() ?? 0 <= ListingKeeper.productsAtOnce && counts.contains { $0 > 3 })
    }
  }

  @Test("products that cannot be answered now stand before no others for ever")
  func unavailable() async throws {
    server.change { $0.unavailableListings = [Self.names[0]] }
    try await run {
      try await news { entries in Self.names[20...].allSatisfy { entries[$0]?.title != nil } }
    }
  }

  @Test("all titles are kept before the first cover is there, which may never come")
  func titlesFirst() async throws {
    server.change { $0.covers[Self.names[0]] = .some(nil) }
    try await run {
      try await news { entries in Self.names.allSatisfy { entries[$0]?.title != nil } }
      #expect(server.state.current.coverWidths.count <= 1)
    }
  }

  @Test("a cover that cannot be answered now stands before no others for ever")
  func unavailableCover() async throws {
    server.change { state in
      state.unavailableCovers = [Self.names[0]]
      for name in Self.names { state.covers[name] = Self.png }
    }
    try await run {
      try await news { entries in Self.names.dropFirst().allSatisfy { entries[$0]?.cover != nil } }
    }
  }
}
