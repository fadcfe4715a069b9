import Commerce
import CoreTypes
import HTTPClient
import PullboxAPI
import PullboxAPIClient
import Testing

@testable import DeliveryService

@Suite("Many products at once")
struct CatalogImportTests {
  private static func product(_ id: String, title: String = "A", price: String = "2.99") throws
    -> ProductDescription
  {
    ProductDescription(
      id: ProductIdentifier(id), localizations: ["en-US": .init(title: title, description: "")],
      prices: ["FRA": try #require(Price(amount: price, currency: "EUR"))])
  }

  private static func send(
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
        try Self.product("com.example.a"),
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
            "products.3.localizations.en-US.title", "products.4.id",
          ])
      }
      let page = try await server.operatorAPI.get("/v1/operator/products", as: Page<OperatorProduct>.self)
      #expect(page.items.isEmpty)
    }
  }

  @Test("members that are not known are refused")
  func unknownMembers() async throws {
    try await ServerHarness.run { server in
      let answer = try await server.client.send(
        ClientRequest(
          method: "POST", url: server.operatorAPI.url("/v1/operator/catalog"),
          headers: [
            ("Authorization", "Bearer \(ServerHarness.operatorKey)"), ("Content-Type", "application/json"),
          ], body: .bytes(Array(#"{"products":[{"id":"a","prise":{}}]}"#.utf8))))
      #expect(answer.status == 400)
    }
  }
}
