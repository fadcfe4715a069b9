import Commerce
import CoreTypes
import PullboxAPI
import PullboxAPIClient
import ServiceAPI
import Testing

@testable import DeliveryService

@Suite("Products and publications, edited in the console", .timeLimit(.minutes(2)))
struct ConsoleEditTests {
  private static let product = "com.example.issue1"
  private static let path = "/console/products/\(product)/edit"

  private func run(_ body: (ServerHarness, ConsoleBrowser) async throws -> Void) async throws {
    try await ServerHarness.run(options: ["--console", "everywhere"]) { server in
      let price = try #require(Price(amount: "4.99", currency: "EUR"))
      _ = try await server.operatorAPI.call(
        "PUT", "/v1/operator/products/\(Self.product)",
        body: ProductDescription(
          localizations: ["en": .init(title: "Issue <1>", description: "First")], prices: ["FRA": price],
          publication: ProductIdentifier("com.example.magazine")),
        as: OperatorProduct.self)
      let browser = ConsoleBrowser(server)
      try await browser.signIn()
      try await body(server, browser)
    }
  }

  private func hidden(_ page: String, _ browser: ConsoleBrowser) throws -> [(String, String)] {
    try ["token", "tag"].map { name in
      (name, try #require(browser.hidden(name, of: page)).replacing("&quot;", with: "\""))
    }
  }

  private func product(_ server: ServerHarness) async throws -> Product {
    let record: OperatorProduct = try await server.operatorAPI.get("/v1/operator/products/\(Self.product)")
    return record.product
  }

  @Test("every change is shown before it is made, and nothing is made until then")
  func preview() async throws {
    try await run { server, browser in
      let page = try await browser.get(Self.path)
      #expect(page.status == 200)
      #expect(page.text.contains("value=\"Issue &lt;1&gt;\"") && page.text.contains("FRA 4.99 EUR"))
      let typed = [
        ("title.en", "Issue 1"), ("description.en", "First"), ("language", "de"), ("newtitle", "Heft 1"),
        ("prices", "FRA 5.99 EUR\r\nUSA 6.99 USD"), ("from", "2026-12-24 18:00"),
      ]
      let preview = try await browser.post(Self.path, try hidden(page.text, browser) + typed)
      #expect(preview.status == 200)
      #expect(preview.text.contains("What would change"))
      for text in ["Issue &lt;1&gt;", "Heft 1", "FRA 5.99 EUR", "2026-12-24 18:00"] {
        #expect(preview.text.contains(text), "\(text)")
      }
      #expect(try await product(server).prices["FRA"]?.amount == "4.99")

      let confirmed = try hidden(preview.text, browser) + typed + [("confirmed", "yes")]
      // Sent twice, it changes once.
      for _ in 0..<2 {
        let answer = try await browser.post(Self.path, confirmed)
        #expect(answer.location == "/console/products/\(Self.product)?notice=edited")
      }
      let product = try await product(server)
      #expect(
        product.localizations["en"]?.title == "Issue 1" && product.localizations["de"]?.title == "Heft 1")
      #expect(product.prices.mapValues(\.amount) == ["FRA": "5.99", "USA": "6.99"])
      #expect(product.availableFrom == Timestamp(rfc3339: "2026-12-24T18:00:00Z"))
      #expect(try await server.audit([("action", "product.change")]).count == 1)
    }
  }

  @Test(
    "whether content stays where a purchase is taken back is chosen, shown before it is made, and left alone by other changes"
  )
  func keepRevoked() async throws {
    try await run { server, browser in
      func change(_ fields: [(String, String)], _ shown: [String]) async throws -> Product {
        let page = try await browser.get(Self.path)
        let preview = try await browser.post(Self.path, try hidden(page.text, browser) + fields)
        for text in shown { #expect(preview.text.contains(text), "\(text)") }
        _ = try await browser.post(
          Self.path, try hidden(preview.text, browser) + fields + [("confirmed", "yes")])
        return try await product(server)
      }
      let kept = try await change([("keep", "yes")], ["Kept when taken back", "Yes", "No"])
      #expect(kept.keepRevoked == true)
      let renamed = try await change([("title.en", "Other")], ["Other"])
      #expect(renamed.keepRevoked == true && renamed.localizations["en"]?.title == "Other")
      #expect(try await change([("keep", "no")], ["Kept when taken back"]).keepRevoked == nil)
      let page = try await browser.get(Self.path)
      let wrong = try await browser.post(Self.path, try hidden(page.text, browser) + [("keep", "perhaps")])
      #expect(wrong.status == 400 && wrong.text.contains("cannot be perhaps"))
    }
  }

  @Test("a change that comes too late says who changed what meanwhile, and keeps what was typed")
  func late() async throws {
    try await run { server, browser in
      let page = try await browser.get(Self.path)
      let form = try hidden(page.text, browser) + [("title.en", "Mine"), ("confirmed", "yes")]
      _ = try await server.operatorAPI.call(
        "PUT", "/v1/operator/products/\(Self.product)",
        body: ProductDescription(localizations: ["en": .init(title: "Theirs", description: "")]),
        as: OperatorProduct.self)
      let answer = try await browser.post(Self.path, form)
      #expect(answer.status == 412)
      #expect(answer.text.contains("Meanwhile:") && answer.text.contains("value=\"Mine\""))
      #expect(try await product(server).localizations["en"]?.title == "Theirs")
    }
  }

  @Test(
    "what cannot be read is said beside its field, and keeps what was typed; without the scope nothing is changed"
  )
  func refused() async throws {
    try await run { server, browser in
      let page = try await browser.get(Self.path)
      let hidden = try hidden(page.text, browser)
      for (name, value) in [("prices", "FRA much EUR"), ("from", "soon"), ("publication", "a b")] {
        let answer = try await browser.post(Self.path, hidden + [(name, value)])
        #expect(answer.status == 400, "\(name)")
        #expect(answer.text.contains(value), "\(name)")
        // The sentence stands beside the field, which is called wrong, and no other one is.
        #expect(answer.text.contains("id=\"\(name)-problem\""), "\(name)")
        #expect(answer.text.matches(of: /aria-invalid/).count == 1, "\(name)")
      }
      #expect(try await browser.get("/console/products/com.example.none/edit").status == 404)
    }
  }

  @Test("the form of a publication that neither is described nor has products is not found, in words")
  func unknownPublication() async throws {
    try await run { server, browser in
      let page = try await browser.get("/console/publications/com.example.none/edit")
      #expect(page.status == 404)
      #expect(page.text.contains("There is no publication com.example.none"))
      #expect(!page.text.contains("name=\"newtitle\""))
      let token = try #require(browser.hidden("token", of: page.text))
      let sent = try await browser.post(
        "/console/publications/com.example.none/edit",
        [("token", token), ("language", "en"), ("newtitle", "None"), ("confirmed", "yes")])
      #expect(sent.status == 404)
      let unknown = try await server.problem {
        _ = try await server.operatorAPI.exchange("GET", "/v1/operator/publications/com.example.none")
      }
      #expect(unknown.code == .publicationUnknown)
    }
  }

  @Test("a publication that was never described is described by its form")
  func publication() async throws {
    try await run { server, browser in
      let path = "/console/publications/com.example.magazine/edit"
      let page = try await browser.get(path)
      #expect(page.status == 200)
      let token = ("token", try #require(browser.hidden("token", of: page.text)))
      let typed = [("language", "en"), ("newtitle", "The Magazine"), ("order", "3")]
      #expect(try await browser.post(path, [token] + typed).text.contains("The Magazine"))
      let answer = try await browser.post(path, [token] + typed + [("confirmed", "yes")])
      #expect(answer.location == "/console/publications/com.example.magazine?notice=edited")
      let record: OperatorPublication = try await server.operatorAPI.get(
        "/v1/operator/publications/com.example.magazine")
      #expect(record.localizations["en"]?.title == "The Magazine" && record.order == 3)
    }
  }

  @Test(
    "whether issues stay where they are taken back is chosen for a publication, and the rest of its policy is left alone"
  )
  func keepRevokedIssues() async throws {
    try await run { server, browser in
      let magazine = "com.example.magazine"
      let path = "/console/publications/\(magazine)/edit"
      _ = try await server.operatorAPI.call(
        "PUT", "/v1/operator/publications/\(magazine)",
        body: PublicationDescription(
          localizations: ["en": .init(title: "Magazine", description: "")],
          policy: SubscriptionPolicy(backIssues: 3)), as: OperatorPublication.self)
      func change(_ fields: [(String, String)], _ shown: [String]) async throws -> SubscriptionPolicy? {
        let page = try await browser.get(path)
        let preview = try await browser.post(path, try hidden(page.text, browser) + fields)
        for text in shown { #expect(preview.text.contains(text), "\(text)") }
        _ = try await browser.post(path, try hidden(preview.text, browser) + fields + [("confirmed", "yes")])
        let record: OperatorPublication = try await server.operatorAPI.get(
          "/v1/operator/publications/\(magazine)")
        return record.policy
      }
      let kept = try await change([("keep", "yes")], ["Issues kept when taken back", "Yes", "No"])
      #expect(kept == SubscriptionPolicy(backIssues: 3, keepsRevokedIssues: true))
      #expect(
        try await browser.get("/console/publications/\(magazine)").text.contains(
          "Issues kept when taken back"))
      #expect(try await change([("order", "2")], ["2"]) == kept)
      let none = try await change([("keep", "no")], ["Issues kept when taken back"])
      #expect(none == SubscriptionPolicy(backIssues: 3))
      let page = try await browser.get(path)
      let wrong = try await browser.post(path, try hidden(page.text, browser) + [("keep", "perhaps")])
      #expect(wrong.status == 400 && wrong.text.contains("cannot be perhaps"))
    }
  }

  @Test("who describes a publication that another one has described meanwhile changes nothing, and is told")
  func describedTwice() async throws {
    try await run { server, browser in
      let path = "/console/publications/com.example.magazine/edit"
      let page = try await browser.get(path)
      let token = ("token", try #require(browser.hidden("token", of: page.text)))
      _ = try await server.operatorAPI.call(
        "PUT", "/v1/operator/publications/com.example.magazine",
        body: PublicationDescription(localizations: ["en": .init(title: "Theirs", description: "")]),
        as: OperatorPublication.self)
      let form = [token, ("language", "de"), ("newtitle", "Meine"), ("confirmed", "yes")]
      let answer = try await browser.post(path, form)
      #expect(answer.status == 412)
      #expect(answer.text.contains("value=\"Meine\""))
      let record: OperatorPublication = try await server.operatorAPI.get(
        "/v1/operator/publications/com.example.magazine")
      #expect(record.localizations.mapValues(\.title) == ["en": "Theirs"])
    }
  }

  @Test("what was left as it was shown stays as another one has made it meanwhile, and the preview says so")
  func merged() async throws {
    try await run { server, browser in
      let page = try await browser.get(Self.path)
      #expect(page.text.contains(">\nFirst</textarea>"))
      let shown = [("description.en", "First"), ("prices", "FRA 4.99 EUR"), ("date", ""), ("until", "")]
      var form = try hidden(page.text, browser)
      for (name, value) in shown + [("title.en", "Mine")] {
        form.append(("shown.\(name)", try #require(browser.hidden("shown.\(name)", of: page.text))))
        form.append((name, value))
      }
      let theirs = try #require(Price(amount: "7.99", currency: "EUR"))
      _ = try await server.operatorAPI.call(
        "PUT", "/v1/operator/products/\(Self.product)",
        body: ProductDescription(
          localizations: ["en": .init(title: "Issue <1>", description: "Theirs")], prices: ["FRA": theirs]),
        as: OperatorProduct.self)
      let preview = try await browser.post(Self.path, form)
      #expect(preview.status == 200)
      #expect(preview.text.contains("Meanwhile:") && preview.text.contains("FRA 7.99 EUR"))
      // The hint alone.
      #expect(preview.text.ranges(of: "FRA 4.99 EUR").count == 1)
      let confirmed =
        try hidden(preview.text, browser) + [("title.en", "Mine"), ("confirmed", "yes")]
      #expect(try await browser.post(Self.path, confirmed).location?.hasSuffix("?notice=edited") == true)
      let product = try await product(server)
      #expect(product.localizations["en"]?.title == "Mine")
      #expect(product.localizations["en"]?.description == "Theirs")
      #expect(product.prices.mapValues(\.amount) == ["FRA": "7.99"])
    }
  }

  @Test("long texts are edited, and a form beyond 4 MiB is refused")
  func longTexts() async throws {
    try await run { server, browser in
      let page = try await browser.get(Self.path)
      let text = String(repeating: "漫", count: 6_600)
      let form =
        try hidden(page.text, browser) + [
          ("title.en", "Mine"), ("description.en", text), ("language", "ja"), ("newtitle", "漫"),
          ("newdescription", text),
        ]
      let preview = try await browser.post(Self.path, form)
      #expect(preview.status == 200)
      let confirmed = try hidden(preview.text, browser) + form.dropFirst(2) + [("confirmed", "yes")]
      let answer = try await browser.post(Self.path, confirmed)
      #expect(answer.location?.hasSuffix("?notice=edited") == true, "\(answer.status)")
      #expect(try await product(server).localizations["en"]?.description == text)
      let tooLong = [("privacy", String(repeating: "x", count: 4 << 20))]
      #expect(try await browser.post(Self.path, form + tooLong).status == 413)
    }
  }
}
