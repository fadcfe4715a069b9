import Commerce
import CoreTypes
import HTTPClient
import PullboxAPI
import PullboxAPIClient
import PullboxTesting
import ServiceAPI
import Testing

@testable import ContentCatalog
@testable import ContentGrants
@testable import DeliveryService

@Suite("What is on sale")
struct SaleTests {
  private let package = (0..<1000).map { UInt8(truncatingIfNeeded: $0 &* 3) }
  private let issue = "com.example.issue1"

  @discardableResult
  private func put(
    _ server: ServerHarness, _ product: String, _ description: ProductDescription
  ) async throws -> OperatorProduct {
    try await server.operatorAPI.call("PUT", "/v1/operator/products/\(product)", body: description).value
  }

  private func price(_ amount: String, _ currency: String) throws -> Price {
    try #require(Price(amount: amount, currency: currency))
  }

  @Test("a product that is taken off sale is in no list, and those who bought it keep what they own")
  func offSale() async throws {
    try await ServerHarness.run { server in
      try await server.publish(package)
      let grant = try await server.grantForPurchase()
      let taken = try await put(server, issue, ProductDescription(onSale: false))
      #expect(!taken.onSale && !taken.clearedForSale)
      #expect(try await server.productsForSale() == [])
      #expect(try await server.listing() == nil)
      #expect(try await server.listing(for: server.device) == nil)

      #expect(try await server.fetch(grant).status == 200)
      _ = try await server.renew(grant)
      // Another device of the same owner, whose receipt shows the purchase.
      #expect(try await server.grant(to: ServerHarness.late).download.version.description == "1.0")

      // A description that does not say whether it is on sale changes nothing about it.
      #expect(try await put(server, issue, ProductDescription(type: .nonConsumable)).onSale == false)
      #expect(try await put(server, issue, ProductDescription(onSale: true)).clearedForSale)
      #expect(try await server.productsForSale() == [issue])
      let sales = try await server.audit([("action", "product.change")]).map(\.detail)
      #expect(sales == ["on sale", "off sale"])
    }
  }

  @Test("a product that was described and nothing more is deleted, and may be described anew")
  func deleted() async throws {
    try await ServerHarness.run { server in
      func code(_ body: () async throws -> Void) async throws -> ProblemCode? {
        try await server.problem(body).code
      }
      func delete(_ product: String) async throws {
        _ = try await server.operatorAPI.exchange("DELETE", "/v1/operator/products/\(product)")
      }
      try await server.publish(package)
      let plan = "com.example.plan"
      let magazine = try #require(ProductIdentifier("com.example.magazine"))
      let description = ProductDescription(
        type: .autoRenewableSubscription, publication: magazine, period: BillingPeriod("P1M"), onSale: true)
      let typo = "com.example.isue2"
      try await put(server, typo, ProductDescription(publication: magazine))
      try await put(server, plan, description)

      #expect(try await code { try await delete("com.example.none") } == .productUnknown)
      // It has content; and a subscription that is for sale may be bought meanwhile.
      #expect(try await code { try await delete(issue) } == .stateConflict)
      #expect(try await code { try await delete(plan) } == .stateConflict)
      try await delete(typo)
      #expect(
        try await code {
          let _: OperatorProduct = try await server.operatorAPI.get("/v1/operator/products/\(typo)")
        }
          == .productUnknown)
      #expect(try await server.audit([("action", "product.remove")]).map(\.subject) == [typo])
      #expect(try await code { try await delete(typo) } == .productUnknown)

      // A product that was bought stays its owner's.
      let bought = server.purchase(of: plan, expires: server.clock.now() + .seconds(86_400))
      let receipt = try server.store.receipt(of: [bought], device: server.device.id)
      _ = try await server.api.call(
        "POST", "/v1/entitlements",
        body: EntitlementsRequest(proof: Proof(store: "sandbox", receipt: receipt), device: server.device),
        as: EntitlementsResponse.self)
      try await put(
        server, plan,
        ProductDescription(
          type: .autoRenewableSubscription, publication: magazine, period: BillingPeriod("P1M"), onSale: false
        ))
      #expect(try await code { try await delete(plan) } == .stateConflict)

      // The payer for a device's issue of long ago may have been anyone who subscribed.
      let old = "com.example.old"
      try await put(
        server, old,
        ProductDescription(
          type: .autoRenewableSubscription, publication: magazine, period: BillingPeriod("P1Y"), onSale: false
        ))
      try await put(server, issue, ProductDescription(publication: magazine))
      let single = server.purchase(of: issue, id: "2000000000000077")
      let paid = try server.store.receipt(of: [single], device: server.device.id)
      _ = try await server.grant(issue, receipt: paid)
      #expect(try await code { try await delete(old) } == .stateConflict)

      // Made anew it is there again, with content of its own.
      try await server.publish(package + [1], as: typo)
      #expect(try await server.listing(typo) != nil)
      let answer: ProductsResponse = try await server.api.get("/v1/products", query: [("id", typo)])
      #expect(answer.invalidProductIdentifiers.isEmpty)
    }
  }

  @Test(
    "a copy of the catalog in memory forgets a product that was deleted, and knows one that was made anew")
  func deletedFromMemory() async throws {
    try await ServerHarness.run { server in
      let cache = server.server.grants.catalog
      let plan = try #require(ProductIdentifier("com.example.plan"))
      let magazine = try #require(ProductIdentifier("com.example.magazine"))
      let description = ProductDescription(
        type: .autoRenewableSubscription, publication: magazine, period: BillingPeriod("P1M"), onSale: false)
      try await put(server, plan.description, description)
      #expect(try await cache.current()[plan] != nil)
      _ = try await server.operatorAPI.exchange("DELETE", "/v1/operator/products/\(plan)")
      let without = try await cache.current()
      #expect(without[plan] == nil && without.products(of: magazine).isEmpty && without.count == 0)
      try await put(server, plan.description, description)
      #expect(try await cache.current()[plan] != nil)
      #expect(try await CatalogCache(database: server.server.grants.grantStore.database).current().count == 1)
    }
  }

  @Test(
    "a subscription is on sale once it has a price or says so, and an issue of its publication is released")
  func subscriptions() async throws {
    try await ServerHarness.run { server in
      let magazine = try #require(ProductIdentifier("com.example.magazine"))
      var description = ProductDescription(
        type: .autoRenewableSubscription, publication: magazine, period: BillingPeriod("P1M"))
      try await put(server, "com.example.draft", description)
      description.onSale = true
      #expect(try await put(server, "com.example.free", description).clearedForSale == false)
      description.onSale = nil
      description.prices = ["FRA": try price("3.99", "EUR")]
      #expect(try await put(server, "com.example.priced", description).clearedForSale == false)
      // Its buyer would wait for ever.
      #expect(try await server.productsForSale() == [])
      #expect(try await server.listing("com.example.priced") == nil)

      try await server.publish(package, description: ProductDescription(publication: magazine))
      #expect(try await server.productsForSale() == ["com.example.free", issue, "com.example.priced"])
      #expect(try await server.listing("com.example.priced") != nil)
      #expect(try await server.listing("com.example.draft") == nil)
      let free: OperatorProduct = try await server.operatorAPI.get("/v1/operator/products/com.example.free")
      let draft: OperatorProduct = try await server.operatorAPI.get("/v1/operator/products/com.example.draft")
      #expect(free.clearedForSale && !draft.clearedForSale)
    }
  }

  @Test("a reader's language chooses the texts and never the form of the price: French texts, and $2.99")
  func languages() async throws {
    try await ServerHarness.run { server in
      let description = ProductDescription(
        localizations: [
          "en-US": Product.Localization(title: "Issue", description: ""),
          "fr-FR": Product.Localization(title: "Numéro", description: ""),
        ], prices: ["USA": try price("2.99", "USD")])
      try await server.publish(package, description: description)
      for (locale, title) in [("fr-FR", "Numéro"), ("fr_CA", "Numéro"), ("ar-EG", "Issue")] {
        let answer: ProductsResponse = try await server.api.get(
          "/v1/products", query: [("id", issue), ("locale", locale), ("territory", "USA")])
        let listing = try #require(answer.products.first)
        #expect(listing.title == title)
        #expect(listing.price?.formatted == "$2.99")
        #expect(listing.price?.locale == "en-US")
      }
    }
  }

  @Test(
    "a territory that ISO 3166 does not know, and a locale that is no tag of a known language, are refused",
    arguments: [
      ("territory", "QQQ"), ("territory", "fra"), ("territory", ""), ("locale", "qqq-FR"),
      ("locale", "fr-QQ"),
      ("locale", "en us"), ("locale", ""), ("locale", "x-private"),
    ])
  func unknownPlaces(name: String, value: String) async throws {
    try await ServerHarness.run { server in
      await #expect(throws: APICallError.self) {
        let _: ProductsResponse = try await server.api.get(
          "/v1/products", query: [("id", issue), (name, value)])
      }
      let description =
        name == "territory"
        ? ProductDescription(prices: [value: try price("1", "EUR")])
        : ProductDescription(localizations: [value: Product.Localization(title: "A", description: "")])
      await #expect(throws: APICallError.self) { try await put(server, issue, description) }
    }
  }

  @Test("a product with prices is not listed where it has none, and one without prices is listed everywhere")
  func territories() async throws {
    try await ServerHarness.run { server in
      let description = ProductDescription(prices: ["FRA": try price("2.99", "EUR")])
      try await server.publish(package, description: description)
      try await server.publish(package, as: "com.example.free")
      func listed(_ territory: String?) async throws -> ProductsResponse {
        let query =
          [("id", issue), ("id", "com.example.free")] + (territory.map { [("territory", $0)] } ?? [])
        return try await server.api.get("/v1/products", query: query)
      }
      #expect(try await listed("FRA").products.count == 2)
      #expect(try await listed(nil).products.count == 2)
      let elsewhere = try await listed("USA")
      #expect(elsewhere.products.map(\.id.description) == ["com.example.free"])
      #expect(elsewhere.invalidProductIdentifiers == [issue])
    }
  }
}
