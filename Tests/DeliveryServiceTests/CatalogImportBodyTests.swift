import Commerce
import CoreTypes
import HTTPClient
import PullboxAPI
import PullboxAPIClient
import ServiceAPI
import Testing

@testable import ContentCatalog
@testable import DeliveryRecords
@testable import DeliveryService

@Suite("The body of an import")
struct CatalogImportBodyTests {
  /// Sends a body as it is.
  private static func send(_ body: String, to server: ServerHarness) async throws -> CatalogImportReport {
    let answer = try await server.operatorAPI.exchange(
      "POST", "/v1/operator/catalog", bytes: Array(body.utf8), mediaType: "application/json")
    return try APIJSON.decode(CatalogImportReport.self, from: answer.body)
  }

  @Test("what is malformed anywhere in a body is refused with its place, and nothing is taken")
  func malformed() async throws {
    try await ServerHarness.run { server in
      let refusals = [
        (#"{"products":[{"id":"a","prise":{}}]}"#, "products.[0].prise: there is no such member"),
        (#"{"products":[{"id":"a"},{"id":7}]}"#, "products.[1].id is not a text in quotation marks"),
        (
          #"{"products":[{"id":"a"},{"id":"b","prices":{"FRA":{"amount":"2,99","currency":"EUR"}}}]}"#,
          "products.[1].prices.FRA.amount: not a price: 2,99 EUR"
        ),
        (#"{"products":[{"id":"a"},null]}"#, "products.[1] is null"),
        (#"{"products":[{"id":"a"},"b"]}"#, nil), (#"{"products":[{"id":"a"},]}"#, nil),
        (#"{"products":[{"id":"a"}"#, "the document: a comma or ] follows an element, at byte 23"),
        (#"{"products":[{"id":"a"}]"#, "the document: a comma or } follows a member, at byte 24"),
        (#"{"products":[{"id":"a"}]}]"#, "the document: nothing follows the object, at byte 25"),
        (#"{"products":[{"id":"a"}],"products":[]}"#, nil),
        (#"{"products":[{"id":"a"}],"product":[]}"#, "product: there is no such member"),
        (#"{"products":[{"id":"a"}],"members":["prise"]}"#, nil),
        (#"{"products":[{"id":"a"}],"publications":{}}"#, nil),
        (#"{"publications":[]}"#, "products is missing"), (#"{"products":null}"#, "products is null"),
        (#"{"products":{}}"#, nil), ("[]", nil), ("", nil),
        // A fault is not told before the body is known to be one.
        (#"{"products":[{"id":"invalid"},{"id":7}]}"#, "products.[1].id is not a text in quotation marks"),
      ]
      for (body, detail) in refusals {
        let problem = try await server.problem { _ = try await Self.send(body, to: server) }
        #expect(problem.code == .requestMalformed, "\(body)")
        if let detail { #expect(problem.detail == detail, "\(body)") }
      }
      let deep =
        #"{"products":["# + String(repeating: #"{"prices":"#, count: 10_000) + "1"
        + String(repeating: "}", count: 10_000) + "]}"
      let problem = try await server.problem { _ = try await Self.send(deep, to: server) }
      #expect(problem.code == .requestMalformed)
      let page = try await server.operatorAPI.get("/v1/operator/products", as: Page<OperatorProduct>.self)
      #expect(page.items.isEmpty)
    }
  }

  @Test("members count for products that come before them in the body")
  func membersLast() async throws {
    try await ServerHarness.run { server in
      let product = try CatalogImportTests.product("com.example.a")
      _ = try await CatalogImportTests.send([product], to: server)
      let titles =
        #"{"products":[{"id":"com.example.a","localizations":{"en-US":{"title":"B","description":""}}}],"#
        + #""members":["title:en-US"]}"#
      #expect(
        try await Self.send(titles, to: server) == CatalogImportReport(created: 0, changed: 1, unchanged: 0))
      let found = try await server.operatorAPI.get(
        "/v1/operator/products/com.example.a", as: OperatorProduct.self
      ).product
      #expect(found.localizations["en-US"]?.title == "B")
      #expect(found.prices == product.prices)
    }
  }

  @Test("no more faults are told than a refusal names, and their numbers are those of the items")
  func manyFaults() async throws {
    try await ServerHarness.run { server in
      let products = try (0..<1500).map {
        try CatalogImportTests.product("com.example.p\($0)", title: $0 < 400 ? "A" : "")
      }
      let refusal = try await server.problem { _ = try await CatalogImportTests.send(products, to: server) }
      #expect(refusal.code == .catalogInvalid)
      #expect(
        refusal.faults?.map(\.path)
          == (400..<1400).map { "products.\($0).localizations.en-US.title" })
    }
  }

  @Test("what is behind the last fault that is told is not looked at")
  func behindTheFaults() async throws {
    try await ServerHarness.run { server in
      let body = #"{"products":["# + String(repeating: "{},", count: Catalog.maximumImportFaults)
      let refusal = try await server.problem { _ = try await Self.send(body + #"{"id":7}]}"#, to: server) }
      #expect(refusal.code == .catalogInvalid && refusal.faults?.count == Catalog.maximumImportFaults)
    }
  }

  @Test("more publications and price tiers than one import has are refused")
  func tooManyOthers() async throws {
    try await ServerHarness.run { server in
      let half = CatalogImport.maximumItems / 2
      let publication = #"{"id":"com.example.a","localizations":{}}"#
      let body =
        #"{"products":[],"publications":["#
        + String(repeating: publication + ",", count: half) + publication + #"],"priceTiers":["#
        + String(repeating: #"{"name":"1","prices":{}},"#, count: half - 1) + #"{"name":"1","prices":{}}]}"#
      let refusal = try await server.problem { _ = try await Self.send(body, to: server) }
      #expect(refusal.code == .catalogInvalid)
      #expect(refusal.detail == "at most 100000 publications and price tiers at once")
    }
  }

  @Test("a body that begins with U+FEFF is read as one without")
  func byteOrderMark() async throws {
    try await ServerHarness.run { server in
      let body = "\u{FEFF}" + #"{"products":[{"id":"com.example.a","prices":{}}]}"#
      let report = try await Self.send(body, to: server)
      #expect(report == CatalogImportReport(created: 1, changed: 0, unchanged: 0))
    }
  }

  @Test("a product that is as it was is put on sale, or taken off it")
  func onlyOnSale() async throws {
    try await ServerHarness.run { server in
      _ = try await CatalogImportTests.send([try CatalogImportTests.product("com.example.a")], to: server)
      let before = try await server.operatorAPI.get(
        "/v1/operator/products/com.example.a", as: OperatorProduct.self)
      var same = try CatalogImportTests.product("com.example.a")
      same.onSale = !before.onSale
      let report = try await CatalogImportTests.send([same], to: server)
      #expect(report == CatalogImportReport(created: 0, changed: 1, unchanged: 0))
      let after = try await server.operatorAPI.get(
        "/v1/operator/products/com.example.a", as: OperatorProduct.self)
      #expect(after.product == before.product && after.onSale != before.onSale)
    }
  }

  @Test("more products than one import has are refused, whatever they are")
  func tooMany() async throws {
    try await ServerHarness.run { server in
      let body = #"{"products":["# + String(repeating: "{},", count: CatalogImport.maximumItems) + "{}]}"
      let refusal = try await server.problem { _ = try await Self.send(body, to: server) }
      #expect(refusal.code == .catalogInvalid)
      #expect(refusal.detail == "at most 100000 products at once")
    }
  }
}
