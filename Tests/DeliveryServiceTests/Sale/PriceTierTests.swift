import Commerce
import CoreTypes
import HTTPClient
import PullboxAPI
import PullboxAPIClient
import PullboxTesting
import ServiceAPI
import Testing

@testable import DeliveryService

@Suite("Price tiers")
struct PriceTierTests {
  private static let package = (0..<1000).map { UInt8(truncatingIfNeeded: $0 &* 7) }
  fileprivate static let issue = "com.example.issue1"

  private func price(_ amount: String, _ currency: String) throws -> Price {
    try #require(Price(amount: amount, currency: currency))
  }

  private func put(_ name: String, _ prices: [String: Price], _ server: ServerHarness) async throws {
    _ = try await server.operatorAPI.call(
      "PUT", "/v1/operator/price-tiers/\(name)", body: PriceTierDescription(prices: prices),
      as: PriceTier.self)
  }

  private func code(_ body: () async throws -> Void) async throws -> ProblemCode? {
    do {
      try await body()
      return nil
    } catch {
      guard case APICallError.problem(let problem) = error else { throw error }
      return problem.code
    }
  }

  private func shown(
    in territory: String, since: String? = nil, of product: String = PriceTierTests.issue,
    _ server: ServerHarness
  ) async throws -> String? {
    let query =
      [("id", product), ("territory", territory)] + (since.map { [("subscribedSince", $0)] } ?? [])
    let answer: ProductsResponse = try await server.api.get("/v1/products", query: query)
    guard let listing = answer.products.first else { return nil }
    return listing.price?.formatted ?? "free"
  }

  @Test("a product has the prices of its tier, but for its own, and a change of the tier changes them")
  func prices() async throws {
    try await ServerHarness.run { server in
      try await put("3", ["FRA": try price("2.99", "EUR"), "JPN": try price("400", "JPY")], server)
      var description = ProductDescription(
        prices: ["JPN": try price("300", "JPY")], priceTier: PriceTierName("3"))
      try await server.publish(Self.package, description: description)
      #expect(try await shown(in: "FRA", server) == "2,99\u{00A0}€")
      #expect(["¥300", "￥300"].contains(try await shown(in: "JPN", server)))
      #expect(try await shown(in: "USA", server) == nil)
      try await put("3", ["USA": try price("2.99", "USD")], server)
      #expect(try await shown(in: "USA", server) == "$2.99")
      #expect(try await shown(in: "FRA", server) == nil)

      // The tier 0 is free everywhere.
      description.priceTier = .free
      description.prices = nil
      _ = try await server.operatorAPI.call(
        "PUT", "/v1/operator/products/\(Self.issue)", body: description, as: OperatorProduct.self)
      #expect(try await shown(in: "USA", server) == "free")
      #expect(try await shown(in: "BRA", server) == "free")
    }
  }

  @Test("a tier that is named stays, the free one always, and one that is not there is no product's")
  func names() async throws {
    try await ServerHarness.run { server in
      let product = "/v1/operator/products/\(Self.issue)"
      let named = ProductDescription(priceTier: PriceTierName("3"))
      func describe(_ description: ProductDescription) async throws {
        _ = try await server.operatorAPI.call("PUT", product, body: description, as: OperatorProduct.self)
      }
      func remove(_ name: String) async throws {
        _ = try await server.operatorAPI.exchange("DELETE", "/v1/operator/price-tiers/\(name)")
      }
      #expect(try await code { try await describe(named) } == .productInvalid)
      try await put("3", ["FRA": try price("2.99", "EUR")], server)
      try await describe(named)
      #expect(try await code { try await remove("3") } == .stateConflict)
      #expect(try await code { try await remove("0") } == .stateConflict)
      #expect(try await code { try await remove("4") } == .priceTierUnknown)
      let prices = ["FRA": try price("1", "EUR")]
      #expect(try await code { try await put("0", prices, server) } == .priceTierInvalid)
      #expect(try await code { try await put("4", [:], server) } == .priceTierInvalid)
      #expect(
        try await code { try await put("4", ["QQQ": try price("1", "EUR")], server) } == .priceTierInvalid)
      #expect(
        try await code {
          try await describe(ProductDescription(prices: prices, priceTier: .free))
        } == .productInvalid)
      try await describe(ProductDescription())
      try await remove("3")
      let list: PriceTierList = try await server.operatorAPI.get("/v1/operator/price-tiers")
      #expect(list.tiers == [.free])
    }
  }

  @Test("who has subscribed since before a date is shown the prices of that time, where they were preserved")
  func preserved() async throws {
    try await ServerHarness.run { server in
      let magazine = ProductIdentifier("com.example.magazine")
      try await server.publish(Self.package, description: ProductDescription(publication: magazine))
      func date(_ text: String) throws -> Timestamp { try #require(Timestamp(rfc3339: text)) }
      let monthly = ProductDescription(
        type: .autoRenewableSubscription,
        prices: ["FRA": try price("3.99", "EUR"), "USA": try price("3.99", "USD")], publication: magazine,
        period: .month,
        preservedPrices: [
          PreservedPrices(
            before: try date("2026-06-01T00:00:00Z"),
            prices: ["FRA": try price("2.99", "EUR"), "USA": try price("2.99", "USD")]),
          PreservedPrices(
            before: try date("2025-01-01T00:00:00Z"), prices: ["FRA": try price("1.99", "EUR")]),
        ])
      _ = try await server.operatorAPI.call(
        "PUT", "/v1/operator/products/com.example.monthly", body: monthly, as: OperatorProduct.self)
      let cases: [(String, String?, String)] = [
        ("FRA", nil, "3,99\u{00A0}€"), ("FRA", "2026-06-01T00:00:00Z", "3,99\u{00A0}€"),
        ("FRA", "2026-05-31T23:59:59.999Z", "2,99\u{00A0}€"),
        ("FRA", "2024-12-31T00:00:00Z", "1,99\u{00A0}€"),
        ("USA", "2024-12-31T00:00:00Z", "$2.99"), ("USA", "2026-07-01T00:00:00Z", "$3.99"),
      ]
      for (territory, since, expected) in cases {
        #expect(
          try await shown(in: territory, since: since, of: "com.example.monthly", server) == expected,
          "\(territory) \(since ?? "")")
      }
    }
  }

  @Test("an import makes tiers, publications and products, and finds the faults of all three")
  func imports() async throws {
    try await ServerHarness.run { server in
      let catalog = CatalogImport(
        products: [
          ProductDescription(id: ProductIdentifier("com.example.a"), priceTier: PriceTierName("3")),
          ProductDescription(id: ProductIdentifier("com.example.b"), priceTier: .free),
        ],
        publications: [PublicationDescription(id: ProductIdentifier("com.example.magazine"), order: 1)],
        priceTiers: [
          PriceTierDescription(name: PriceTierName("3"), prices: ["FRA": try price("2.99", "EUR")])
        ])
      func send(_ catalog: CatalogImport) async throws -> CatalogImportReport {
        try await server.operatorAPI.call("POST", "/v1/operator/catalog", body: catalog).value
      }
      #expect(try await send(catalog) == CatalogImportReport(created: 4, changed: 0, unchanged: 0))
      #expect(try await send(catalog) == CatalogImportReport(created: 0, changed: 0, unchanged: 4))
      let publications: Page<OperatorPublication> = try await server.operatorAPI.get(
        "/v1/operator/publications")
      #expect(publications.items.map(\.order) == [1])

      var faulty = catalog
      faulty.publications?[0].order = -1
      faulty.priceTiers?[0].prices = [:]
      faulty.products[1].availableFrom = ServerHarness.start
      faulty.products[1].availableUntil = ServerHarness.start
      do {
        _ = try await send(faulty)
        Issue.record("it was taken")
      } catch {
        guard case APICallError.problem(let problem) = error else { throw error }
        #expect(
          problem.faults?.map(\.path) == [
            "priceTiers.0.prices", "publications.0.order", "products.1.availableUntil",
          ])
      }
      var unknown = CatalogImport(products: catalog.products)
      unknown.products[1].priceTier = PriceTierName("9")
      do {
        _ = try await send(unknown)
        Issue.record("it was taken")
      } catch {
        guard case APICallError.problem(let problem) = error else { throw error }
        #expect(problem.faults?.map(\.path) == ["products.1.priceTier"])
      }
    }
  }
}
