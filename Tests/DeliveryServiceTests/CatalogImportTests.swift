import Commerce
import CoreTypes
import HTTPClient
import PullboxAPI
import PullboxAPIClient
import ServiceAPI
import Testing

@testable import ContentCatalog
@testable import DeliveryService

@Suite("Many products at once")
struct CatalogImportTests {
  static func product(_ id: String, title: String = "A", price: String = "2.99") throws
    -> ProductDescription
  {
    ProductDescription(
      id: ProductIdentifier(id), localizations: ["en-US": .init(title: title, description: "")],
      prices: ["FRA": try #require(Price(amount: price, currency: "EUR"))])
  }

  static func send(
    _ products: [ProductDescription], to server: ServerHarness
  ) async throws -> CatalogImportReport {
    try await server.operatorAPI.call(
      "POST", "/v1/operator/catalog", body: CatalogImport(products: products), as: CatalogImportReport.self
    ).value
  }

  @Test("an import makes products as they are described, and the same one again changes nothing")
  func twice() async throws {
    try await ServerHarness.run { server in
      let products = try (0..<300).map { try Self.product("com.example.p\($0)") }
      #expect(
        try await Self.send(products, to: server)
          == CatalogImportReport(created: 300, changed: 0, unchanged: 0))
      let audited = try await server.audit([("action", "product.create")]).count
      let revision = try await server.api.exchange("GET", "/products_v2.json").headers["Last-Modified"]
      #expect(
        try await Self.send(products, to: server)
          == CatalogImportReport(created: 0, changed: 0, unchanged: 300))
      #expect(try await server.audit([("action", "product.create")]).count == audited)
      #expect(try await server.api.exchange("GET", "/products_v2.json").headers["Last-Modified"] == revision)
      let dearer = [try Self.product("com.example.p7", price: "3.99"), try Self.product("com.example.new")]
      #expect(
        try await Self.send(dearer, to: server) == CatalogImportReport(created: 1, changed: 1, unchanged: 0))
    }
  }

  @Test("products that are written at once are all written, whether or not the catalog in memory is current")
  func atOnce() async throws {
    try await ServerHarness.run { server in
      let names = (0..<12).map { "com.example.p\($0)" }
      for price in ["1.49", "2.49", "3.49"] {
        try await withThrowingTaskGroup { group in
          for name in names {
            group.addTask {
              _ = try await server.operatorAPI.call(
                "PUT", "/v1/operator/products/\(name)", body: try Self.product(name, price: price),
                as: OperatorProduct.self)
            }
          }
          try await group.waitForAll()
        }
        // Reading makes the catalog in memory current.
        _ = try await server.api.exchange("GET", "/products_v2.json")
      }
      for name in names {
        let product = try await server.operatorAPI.get(
          "/v1/operator/products/\(name)", as: OperatorProduct.self)
        #expect(product.product.prices["FRA"]?.amount == "3.49")
      }
      #expect(try await server.audit([("action", "product.create")]).count == names.count)
      #expect(try await server.audit([("action", "product.change")]).count == names.count * 2)
    }
  }

  @Test("an import of titles never undoes a price that is written while it is prepared")
  func beside() async throws {
    try await ServerHarness.run { server in
      let names = (0..<200).map { "com.example.p\($0)" }
      _ = try await Self.send(names.map { try Self.product($0) }, to: server)
      for round in 1...10 {
        let titles = CatalogImport(
          // A title alone: all else is what it is when the import is written.
          products: names.map {
            ProductDescription(
              id: .init($0), localizations: ["en-US": .init(title: "T\(round)", description: "")])
          },
          members: [.title(locale: "en-US")])
        async let imported = server.operatorAPI.call(
          "POST", "/v1/operator/catalog", body: titles, as: CatalogImportReport.self)
        for name in names.suffix(5) {
          _ = try await server.operatorAPI.call(
            "PUT", "/v1/operator/products/\(name)",
            body: try Self.product(name, title: "T\(round)", price: "\(round).49"), as: OperatorProduct.self)
        }
        _ = try await imported
        for name in names.suffix(5) {
          let product = try await server.operatorAPI.get(
            "/v1/operator/products/\(name)", as: OperatorProduct.self
          ).product
          #expect(product.prices["FRA"]?.amount == "\(round).49")
          #expect(product.localizations["en-US"]?.title == "T\(round)")
        }
      }
    }
  }

  @Test("one faulty product keeps all from being taken, and every fault has its place")
  func allOrNothing() async throws {
    try await ServerHarness.run { server in
      var nameless = try Self.product("com.example.b")
      nameless.id = nil
      var subscription = try Self.product("com.example.c")
      subscription.type = .autoRenewableSubscription
      let products = [
        try Self.product("com.example.a"), nameless, subscription,
        try Self.product("com.example.d", title: ""),
        try Self.product("com.example.a"), try Self.product("invalid"),
      ]
      do {
        _ = try await Self.send(products, to: server)
        Issue.record("it was taken")
      } catch {
        guard case .problem(let problem) = error as? APICallError else { throw error }
        #expect(problem.code == .catalogInvalid)
        #expect(
          problem.faults?.map(\.path) == [
            "products.1.id", "products.2.period", "products.2.publication",
            "products.3.localizations.en-US.title", "products.4.id", "products.5.id",
          ])
      }
      let page = try await server.operatorAPI.get("/v1/operator/products", as: Page<OperatorProduct>.self)
      #expect(page.items.isEmpty)
    }
  }

  @Test("what the database alone knows to be wrong is told of every item as well, and nothing is taken")
  func faultsOfTheDatabase() async throws {
    try await ServerHarness.run { server in
      func tiered(_ id: String) throws -> ProductDescription {
        var product = try Self.product(id)
        product.prices = nil
        product.priceTier = PriceTierName("9")
        return product
      }
      let products = try [
        tiered("com.example.a"), Self.product("com.example.b"), tiered("com.example.c"),
      ]
      let refusal = try await server.problem { _ = try await Self.send(products, to: server) }
      #expect(refusal.code == .catalogInvalid)
      #expect(refusal.faults?.map(\.path) == ["products.0.priceTier", "products.2.priceTier"])
      let page = try await server.operatorAPI.get("/v1/operator/products", as: Page<OperatorProduct>.self)
      #expect(page.items.isEmpty)
    }
  }

  @Test(
    "what an import has no member of stays as it is, what it says nothing of is taken away, and the audit log tells"
  )
  func fewMembers() async throws {
    try await ServerHarness.run { server in
      var product = try Self.product("com.example.a")
      product.publication = ProductIdentifier("com.example.heroes")
      product.publicationDate = Timestamp(rfc3339: "2026-09-01T00:00:00Z")
      product.localizations?["fr-FR"] = .init(title: "B", description: "Un texte")
      product.prices?["JPN"] = Price(amount: "300", currency: "JPY")
      _ = try await Self.send([product], to: server)

      let titles = CatalogImport(
        products: [
          ProductDescription(
            id: product.id, localizations: ["en-US": .init(title: "New", description: "")])
        ],
        members: [.title(locale: "en-US"), .price(territory: "JPN"), .price(territory: "USA")])
      let report = try await server.operatorAPI.call(
        "POST", "/v1/operator/catalog", body: titles, as: CatalogImportReport.self
      ).value
      #expect(report == CatalogImportReport(created: 0, changed: 1, unchanged: 0))
      let found = try await server.operatorAPI.get(
        "/v1/operator/products/com.example.a", as: OperatorProduct.self
      ).product
      #expect(found.localizations["en-US"]?.title == "New")
      #expect(found.localizations["fr-FR"] == product.localizations?["fr-FR"])
      #expect(found.prices == ["FRA": try #require(Price(amount: "2.99", currency: "EUR"))])
      #expect(found.publication == product.publication)
      #expect(found.publicationDate == product.publicationDate)
      #expect(
        try await server.audit([("action", "product.change")]).map(\.detail) == [
          "price:JPN 300 JPY removed, title:en-US A to New"
        ])
    }
  }
}
