import Commerce
import CoreTypes
import HTTPClient
import PullboxAPI
import PullboxAPIClient
import ServiceAPI
import Testing

@testable import ContentCatalog
@testable import DeliveryService

@Suite("Publications and what is for sale of them")
struct PublicationListTests {
  private static func package(_ number: Int) -> [UInt8] {
    (0..<1000).map { UInt8(truncatingIfNeeded: $0 &* 3 &+ number) }
  }

  private static func issue(
    of publication: String, on date: String? = nil, price: (territory: String, Price)? = nil
  ) throws -> ProductDescription {
    ProductDescription(
      prices: price.map { [$0.territory: $0.1] },
      publication: ProductIdentifier(publication),
      publicationDate: try date.map { try #require(Timestamp(rfc3339: $0)) })
  }

  /// Three issues and a subscription of one magazine, one issue of another that is sold in France alone, and a book.
  private static func fill(_ server: ServerHarness) async throws {
    let euros = try #require(Price(amount: "2.99", currency: "EUR"))
    for (number, date) in [(1, "2026-01-01"), (3, "2026-03-01"), (2, "2026-02-01")] {
      try await server.publish(
        package(number), as: "com.example.moss\(number)",
        description: try issue(of: "com.example.moss", on: date + "T00:00:00.000Z"))
    }
    try await server.publish(
      package(4), as: "com.example.kestrel1",
      description: try issue(of: "com.example.kestrel", price: ("FRA", euros)))
    try await server.publish(package(5), as: "com.example.book")
    _ = try await server.operatorAPI.call(
      "PUT", "/v1/operator/products/com.example.monthly",
      body: ProductDescription(
        type: .autoRenewableSubscription, prices: ["FRA": euros, "USA": euros],
        publication: ProductIdentifier("com.example.moss"), period: .month),
      as: OperatorProduct.self)
  }

  private static func code(_ body: () async throws -> Void) async -> ProblemCode? {
    do {
      try await body()
      return nil
    } catch {
      guard case .problem(let problem) = error as? APICallError else { return nil }
      return problem.code
    }
  }

  @Test(
    "publications come with their subscriptions and the issue that appeared last, where something is for sale"
  )
  func list() async throws {
    try await ServerHarness.run { server in
      try await Self.fill(server)
      let here = try await server.api.get(
        "/v1/publications", query: [("territory", "FRA")], as: PublicationsResponse.self)
      #expect(here.publications.map(\.id.description) == ["com.example.kestrel", "com.example.moss"])
      #expect(
        here.publications.map { $0.latestIssue?.id.description } == [
          "com.example.kestrel1", "com.example.moss3",
        ])
      #expect(here.publications.last?.subscriptions.map(\.id.description) == ["com.example.monthly"])
      #expect(here.next == nil)
      let elsewhere = try await server.api.get(
        "/v1/publications", query: [("territory", "USA")], as: PublicationsResponse.self)
      #expect(elsewhere.publications.map(\.id.description) == ["com.example.moss"])

      let first = try await server.api.get(
        "/v1/publications", query: [("limit", "1")], as: PublicationsResponse.self)
      #expect(first.next == "com.example.kestrel")
      let second = try await server.api.get(
        "/v1/publications", query: [("limit", "1"), ("after", "com.example.kestrel")],
        as: PublicationsResponse.self)
      #expect(second.publications.map(\.id.description) == ["com.example.moss"] && second.next == nil)
    }
  }

  @Test("issues come the newest first, in pages, and what belongs to no publication by itself")
  func issues() async throws {
    try await ServerHarness.run { server in
      try await Self.fill(server)
      let path = "/v1/publications/com.example.moss"
      let first = try await server.api.get(path, query: [("limit", "2")], as: PublicationResponse.self)
      #expect(first.publication?.id.description == "com.example.moss")
      #expect(first.issues.map(\.id.description) == ["com.example.moss3", "com.example.moss2"])
      let second = try await server.api.get(
        path, query: [("limit", "2"), ("after", try #require(first.next))], as: PublicationResponse.self)
      #expect(second.issues.map(\.id.description) == ["com.example.moss1"] && second.next == nil)
      let singles = try await server.api.get("/v1/singles", as: PublicationResponse.self)
      #expect(singles.publication == nil && singles.issues.map(\.id.description) == ["com.example.book"])

      #expect(
        await Self.code { _ = try await server.api.exchange("GET", "/v1/publications/unknown") }
          == .publicationUnknown)
      let misspelled = try await server.problem {
        _ = try await server.api.exchange("GET", "/v1/publications/com.example.mos")
      }
      #expect(misspelled.code == .publicationUnknown)
      #expect(
        misspelled.detail
          == "nothing of com.example.mos is for sale here; did you mean com.example.moss?")
      #expect(
        await Self.code {
          _ = try await server.api.exchange("GET", "/v1/publications/com.example.kestrel?territory=USA")
        }
          == .publicationUnknown)
      #expect(
        await Self.code { _ = try await server.api.exchange("GET", path + "?after=com.example.kestrel1") }
          == .requestMalformed)
      #expect(
        await Self.code { _ = try await server.api.exchange("GET", path + "?limit=0") } == .requestMalformed)
      #expect(
        await Self.code { _ = try await server.api.exchange("GET", path + "?page=2") } == .requestMalformed)
    }
  }

  @Test(
    "lists have validators and come compressed, until the catalog changes",
    arguments: [
      "/v1/publications", "/v1/publications/com.example.moss", "/v1/singles", "/products_v2.json",
      "/products_v1.json", "/v1/products?id=com.example.other&id=com.example.moss4",
    ])
  func validators(path: String) async throws {
    try await ServerHarness.run { server in
      try await Self.fill(server)
      let first = try await server.api.exchange("GET", path)
      let tag = try #require(first.head.headers["ETag"])
      #expect(first.head.headers["Cache-Control"] == "public, max-age=60")
      let same = try await server.client.send(
        ClientRequest(method: "GET", url: server.api.url(path), headers: [("If-None-Match", tag)]))
      #expect(same.status == 304 && same.body.isEmpty)
      let compressed = try await server.client.send(
        ClientRequest(method: "GET", url: server.api.url(path), headers: [("Accept-Encoding", "gzip")]))
      #expect(compressed.head.headers["Content-Encoding"] == "gzip")
      #expect(compressed.head.headers["Vary"] == "Accept-Encoding")
      let other = try #require(compressed.head.headers["ETag"])
      let known = try await server.client.send(
        ClientRequest(
          method: "GET", url: server.api.url(path),
          headers: [("Accept-Encoding", "gzip"), ("If-None-Match", other)]))
      #expect(other != tag && known.status == 304)
      try await server.publish(Self.package(6), as: "com.example.other")
      try await server.publish(
        Self.package(7), as: "com.example.moss4",
        description: try Self.issue(of: "com.example.moss", on: "2026-04-01T00:00:00.000Z"))
      let changed = try await server.client.send(
        ClientRequest(method: "GET", url: server.api.url(path), headers: [("If-None-Match", tag)]))
      #expect(changed.status == 200)
    }
  }

  @Test("products_v2.json has what products_v1.json has, with publication, type and date of change")
  func secondList() async throws {
    try await ServerHarness.run { server in
      try await Self.fill(server)
      let list = try await server.api.get("/products_v2.json", as: ProductsForSale.self).products
      #expect(list.map(\.id.description) == (try await server.productsForSale()))
      let monthly = try #require(list.first { $0.id.description == "com.example.monthly" })
      #expect(monthly.type == .autoRenewableSubscription)
      #expect(monthly.publication?.description == "com.example.moss")
      let described = try await server.operatorAPI.get(
        "/v1/operator/products/com.example.monthly", as: OperatorProduct.self)
      #expect(monthly.changed == described.changed)
      #expect(list.first { $0.id.description == "com.example.book" }?.publication == nil)
    }
  }

  @Test(
    "what is asked for in vain is counted by identifier and reason, and a misspelled one names what was meant"
  )
  func invalid() async throws {
    try await ServerHarness.run { server in
      try await Self.fill(server)
      try await server.approve(Self.package(8), "1.0", of: "com.example.draft", describing: true)
      try await server.approve(Self.package(9), "1.0", describing: true)
      try await server.release("1.0", to: 10)
      _ = try await server.operatorAPI.call(
        "PUT", "/v1/operator/products/com.example.book", body: ProductDescription(onSale: false),
        as: OperatorProduct.self)
      let names = [
        "com.exmaple.moss1", "no identifier: é", "com.example.draft", "com.example.kestrel1",
        "com.example.issue1", "com.example.book", "com.example.moss1",
      ]
      for _ in 0..<2 {
        _ = try await server.api.get(
          "/v1/products", query: names.map { ("id", $0) } + [("territory", "USA")], as: ProductsResponse.self)
      }
      let report = try await server.operatorAPI.get(
        "/v1/operator/products/invalid", as: InvalidProductsReport.self)
      let found = Dictionary(uniqueKeysWithValues: report.items.map { ($0.id, $0) })
      #expect(
        found.mapValues(\.reason) == [
          "com.exmaple.moss1": .misspelled, "no identifier: é": .unknown, "com.example.draft": .notCleared,
          "com.example.kestrel1": .notHere, "com.example.issue1": .notYet, "com.example.book": .withdrawn,
        ])
      #expect(found["com.exmaple.moss1"]?.near == "com.example.moss1")
      #expect(found["no identifier: é"]?.near == nil)
      #expect(report.items.allSatisfy { $0.count == 2 } && report.others == 0)
    }
  }
}
