import Commerce
import CoreTypes
import HTTPClient
import PullboxAPI
import PullboxAPIClient
import ServiceAPI
import Testing

@testable import ContentCatalog
@testable import DeliveryService

/// docs/console.md, "Import"; docs/catalogue.md, "Many at once".
@Suite("An import in the console", .timeLimit(.minutes(2)))
struct ConsoleImportTests {
  private static let path = "/console/import"
  private static let sheet = """
    id,title:en,description:en,price:FRA
    com.example.a,One,,4.99 EUR
    com.example.b,Two,"First <b>
    second",

    """

  private func run(_ body: @escaping (ServerHarness, ConsoleBrowser) async throws -> Void) async throws {
    try await ServerHarness.run(options: ["--console", "everywhere"]) { server in
      let browser = ConsoleBrowser(server)
      try await browser.signIn()
      try await body(server, browser)
    }
  }

  private func send(
    _ text: String, _ browser: ConsoleBrowser, named name: String = "sheet.csv"
  ) async throws -> ConsoleBrowser.Answer {
    let form = try await browser.get(Self.path)
    return try await browser.upload(
      Self.path, [("token", try #require(browser.hidden("token", of: form.text))), ("format", "csv")],
      file: Array(text.utf8), named: name)
  }

  /// The fields of the form with which the shown changes are made.
  private func confirmation(_ page: String, _ browser: ConsoleBrowser) throws -> [(String, String)] {
    try ["token", "format", "tag", "confirmed", "content"].map { name in
      (name, try #require(browser.hidden(name, of: page)).replacing("&quot;", with: "\""))
    }
  }

  private func confirm(
    _ page: String, _ browser: ConsoleBrowser
  ) async throws -> ConsoleBrowser.Answer {
    try await browser.upload(Self.path, confirmation(page, browser), file: [], named: "")
  }

  private func title(_ id: String, _ server: ServerHarness) async throws -> String? {
    let record: OperatorProduct = try await server.operatorAPI.get("/v1/operator/products/\(id)")
    return record.product.localizations["en"]?.title
  }

  private func change(_ id: String, _ title: String, _ server: ServerHarness) async throws {
    _ = try await server.operatorAPI.call(
      "PUT", "/v1/operator/products/\(id)",
      body: ProductDescription(localizations: ["en": .init(title: title, description: "")]),
      as: OperatorProduct.self)
  }

  @Test("every change is shown before and after, nothing is changed until then, and then all is")
  func preview() async throws {
    try await run { server, browser in
      try await change("com.example.a", "Old <i>", server)
      let preview = try await send(Self.sheet, browser)
      #expect(preview.status == 200)
      #expect(preview.text.contains("New: 1, changed: 1, unchanged: 0."))
      for text in ["Old &lt;i&gt;", "One", "localizations.en.title", "prices.FRA.amount", "4.99"] {
        #expect(preview.text.contains(text), "\(text)")
      }
      #expect(!preview.text.contains("Old <i>") && !preview.text.contains("First <b>"))
      #expect(try await title("com.example.a", server) == "Old <i>")
      #expect(try await server.audit([("action", "product.create")]).count == 1)
      let done = try await confirm(preview.text, browser)
      #expect(done.location == "/console/products?notice=imported")
      #expect(try await title("com.example.a", server) == "One")
      let made: OperatorProduct = try await server.operatorAPI.get("/v1/operator/products/com.example.b")
      #expect(made.product.localizations["en"]?.description == "First <b>\nsecond")
      let again = try await send(Self.sheet, browser)
      #expect(again.text.contains("New: 0, changed: 0, unchanged: 2."))
      #expect(browser.hidden("confirmed", of: again.text) == nil)
    }
  }

  @Test("a form that was sent twice says twice that all is imported, and a file's line breaks stay")
  func twice() async throws {
    try await run { server, browser in
      let preview = try await send(
        "id,title:en,description:en\r\ncom.example.a,One,\"First\r\nsecond\"\r\n", browser)
      for _ in 0..<2 {
        #expect(try await confirm(preview.text, browser).location == "/console/products?notice=imported")
      }
      let made: OperatorProduct = try await server.operatorAPI.get("/v1/operator/products/com.example.a")
      #expect(made.product.localizations["en"]?.description == "First\r\nsecond")
    }
  }

  @Test("what others changed meanwhile is kept, and the changes are worked out anew")
  func late() async throws {
    try await run { server, browser in
      try await change("com.example.a", "Old", server)
      let preview = try await send(Self.sheet, browser)
      try await change("com.example.a", "Theirs", server)
      let late = try await confirm(preview.text, browser)
      #expect(late.status == 412)
      #expect(late.text.contains("Others changed something meanwhile") && late.text.contains("Theirs"))
      #expect(try await title("com.example.a", server) == "Theirs")
      #expect(try await confirm(late.text, browser).location == "/console/products?notice=imported")
      #expect(try await title("com.example.a", server) == "One")
    }
  }

  @Test("a change of what the file does not name refuses nothing")
  func others() async throws {
    try await run { server, browser in
      let preview = try await send(Self.sheet, browser)
      try await change("com.example.other", "Theirs", server)
      #expect(try await confirm(preview.text, browser).location == "/console/products?notice=imported")
    }
  }

  @Test(
    "faults are shown beside their lines, those of the file and those of the interface, and nothing is changed"
  )
  func faults() async throws {
    try await run { server, browser in
      let malformed = try await send("id,price:FRA\ncom.example.a,4.99\ncom.example.b,2.99 EUR\n", browser)
      #expect(malformed.status == 422)
      #expect(malformed.text.contains("com.example.a,4.99") && malformed.text.contains("price:FRA"))
      let refused = try await send(
        "id,priceTier\ncom.example.b,\ncom.example.a,none-such\n", browser)
      #expect(refused.status == 422)
      #expect(refused.text.contains("there is no price tier none-such"))
      #expect(refused.text.contains("com.example.a,none-such"))
      #expect(!refused.text.contains("com.example.b,</code>"))
      #expect(try await server.audit([("action", "product.create")]).isEmpty)
    }
  }

  @Test("a file beyond the bound is refused, and so is a form of another session")
  func bounds() async throws {
    try await run { server, browser in
      let long = try await send("id\n" + String(repeating: "a", count: 1 << 20), browser)
      #expect(long.status == 413)
      let foreign = try await browser.upload(
        Self.path, [("token", "none"), ("format", "csv")], file: Array(Self.sheet.utf8), named: "a.csv")
      #expect(foreign.status == 403)
    }
  }

  @Test("the plan of an import tells what the import would do, and its tag that nothing was changed since")
  func plan() async throws {
    try await run { server, _ in
      let items = CatalogImport(products: [try CatalogImportTests.product("com.example.a")])
      let plan = try await server.operatorAPI.call(
        "POST", "/v1/operator/catalog/preview", body: items, as: CatalogImportPlan.self)
      #expect(plan.value.report == CatalogImportReport(created: 1, changed: 0, unchanged: 0))
      #expect(plan.value.changes.map(\.id) == ["com.example.a"] && plan.value.changes.first?.isNew == true)
      let tag = try #require(plan.head.headers["ETag"])
      let done = try await server.operatorAPI.call(
        "POST", "/v1/operator/catalog", body: items, headers: [("If-Match", tag)],
        as: CatalogImportReport.self)
      #expect(done.value.created == 1)
      let late = try await server.problem {
        _ = try await server.operatorAPI.call(
          "POST", "/v1/operator/catalog", body: items, headers: [("If-Match", tag)],
          as: CatalogImportReport.self)
      }
      #expect(late.code == .preconditionFailed)
    }
  }
}
