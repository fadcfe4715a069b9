import Commerce
import CoreTypes
import Database
import DeliveryTesting
import Foundation
import HTTPClient
import PullboxAPI
import PullboxAPIClient
import ServiceAPI
import Testing

@testable import DeliveryService

@Suite("Pages of the console", .timeLimit(.minutes(2)))
struct ConsolePageTests {
  private static let everywhere = ["--console", "everywhere"]
  private static let pages = [
    "", "products", "publications", "deliveries", "customers", "stores", "money", "house", "audit",
  ]
  private let package = (0..<10_000).map { UInt8(truncatingIfNeeded: $0 &* 29 >> 3) }

  private func signedIn(_ server: ServerHarness) async throws -> ConsoleBrowser {
    let browser = ConsoleBrowser(server)
    try await browser.signIn()
    return browser
  }

  @Test("every page has one heading, landmarks, its reading and its command, in both languages")
  func everyPage() async throws {
    try await ServerHarness.run(options: Self.everywhere) { server in
      try await server.publish(package)
      _ = try await server.grantForPurchase()
      let browser = try await signedIn(server)
      for language in ["en", "de"] {
        for name in Self.pages + ["products/com.example.issue1", "products/com.example.issue1/1.0"] {
          let page = try await browser.get("/console/\(name)")
          #expect(page.status == 200, "\(name)")
          #expect(page.headers["Content-Type"] == "text/html; charset=utf-8")
          #expect(page.text.contains("<html lang=\"\(language)\">"))
          for landmark in ["<header", "<nav", "<main", "<footer", "<h1>"] {
            #expect(page.text.components(separatedBy: landmark).count >= 2, "\(name): \(landmark)")
          }
          #expect(page.text.components(separatedBy: "<h1>").count == 2)
          if name != "customers" {
            #expect(page.text.contains("/console/json/v1/operator/"), "\(name)")
            #expect(page.text.contains("pullbox "), "\(name)")
          }
          #expect(
            !page.text.contains("style=") && !page.text.contains("onclick") && !page.text.contains("<style"))
        }
        let token = try #require(browser.hidden("token", of: try await browser.get("/console/").text))
        #expect(
          try await browser.post("/console/language", [("token", token), ("language", "de")]).status == 303)
      }
    }
  }

  @Test("a package without a cover is shown by a picture that says so, and what there is not by none")
  func withoutCover() async throws {
    try await ServerHarness.run(options: Self.everywhere) { server in
      try await server.publish(package)
      let browser = try await signedIn(server)
      let cover = try await browser.get("/console/pictures/com.example.issue1/cover?version=1.0&width=320")
      #expect(cover.status == 200 && cover.headers["Content-Type"] == "image/svg+xml")
      #expect(try await browser.get("/console/pictures/com.example.issue1/samples/1").status == 404)
    }
  }

  @Test("a page as JSON is what the interface answers, and no other address is shown so")
  func asJSON() async throws {
    try await ServerHarness.run(options: Self.everywhere) { server in
      try await server.publish(package)
      let browser = try await signedIn(server)
      let shown = try await browser.get("/console/json/v1/operator/products?limit=1")
      #expect(shown.headers["Content-Type"] == "application/json")
      let response = try await server.operatorAPI.exchange("GET", "/v1/operator/products?limit=1")
      #expect(shown.text == String(decoding: response.body, as: UTF8.self))
      for path in [
        "/console/json/metrics", "/console/json/v1/products", "/console/json/v1/operator/../products",
      ] {
        #expect(try await browser.get(path).status == 404, "\(path)")
      }
      #expect(try await ConsoleBrowser(server).get("/console/json/v1/operator/audit").status == 401)
    }
  }

  @Test("a parameter that is there twice, or that no page has, is refused on a page")
  func parameters() async throws {
    try await ServerHarness.run(options: Self.everywhere) { server in
      let browser = try await signedIn(server)
      for path in Self.pages {
        for query in ["notice=revoked&notice=revoked", "after=1&after=2", "nothing=1", "after=%00"] {
          let page = try await browser.get("/console/\(path)?\(query)")
          #expect(page.status == 400 || page.status == 200, "\(path)?\(query): \(page.status)")
          if query != "after=%00" { #expect(page.status == 400, "\(path)?\(query)") }
        }
      }
      let cursor = try await browser.get("/console/deliveries?after=-9223372036854775809")
      #expect(cursor.status == 200)
      #expect(cursor.text.contains("class=\"problem\""))
    }
  }

  @Test("a grant is revoked behind a question, once, with its reason, in the operator's name")
  func revocation() async throws {
    try await ServerHarness.run(options: Self.everywhere) { server in
      try await server.publish(package)
      let grant = try await server.grantForPurchase()
      let name = try server.shortName(of: grant)
      let browser = try await signedIn(server)
      let page = try await browser.get("/console/deliveries/\(name)")
      #expect(page.text.contains("/console/deliveries/\(name)/revoke"))
      let question = try await browser.get("/console/deliveries/\(name)/revoke")
      #expect(question.status == 200)
      #expect(question.text.contains("1 device"))
      let form = try browser.state(of: question.text) + [("reason", "a <b>letter</b>")]
      for _ in 0..<2 {
        let answer = try await browser.post("/console/deliveries/\(name)/revoke", form)
        #expect(answer.status == 303)
        #expect(answer.location == "/console/deliveries/\(name)?notice=revoked")
      }
      let entries = try await server.audit([("action", "grant.revoke")])
      #expect(entries.map(\.actor) == ["operator"])
      #expect(entries.first?.detail?.contains("a <b>letter</b>") == true)
      let after = try await browser.get("/console/deliveries/\(name)?notice=revoked")
      #expect(after.text.contains("role=\"status\""))
      #expect(after.text.contains("&lt;b&gt;letter") && !after.text.contains("<b>letter"))
      #expect(after.text.contains("/reinstate"))
    }
  }

  @Test("all grants of a transaction are revoked behind one question, which says how many they are")
  func revocationOfMany() async throws {
    try await ServerHarness.run(options: Self.everywhere) { server in
      try await server.publish(package)
      let grants = [
        try await server.grantForPurchase(), try await server.grantForPurchase(device: ServerHarness.early),
      ]
      let browser = try await signedIn(server)
      let page = try await browser.get("/console/customers?transaction=2000000000000001")
      #expect(page.text.contains("/console/customers/revoke?transaction=2000000000000001"))
      let question = try await browser.get("/console/customers/revoke?transaction=2000000000000001")
      #expect(question.text.contains("Grants that end: 2, on devices: 2"))
      let form =
        try browser.state(of: question.text) + [
          ("transaction", "2000000000000001"), ("reason", "a letter"),
        ]
      for _ in 0..<2 {
        let answer = try await browser.post("/console/customers/revoke", form)
        #expect(answer.location == "/console/customers?transaction=2000000000000001&notice=revoked")
      }
      for grant in grants { #expect(try await server.status(grant).state == .revoked) }
      #expect(try await server.audit([("action", "grant.revoke")]).count == 2)
      #expect(try await browser.get("/console/customers/revoke").status == 400)
      #expect(try await browser.get("/console/customers/revoke?transaction=1&device=2").status == 400)
    }
  }

  @Test("grants that were made after the question are not revoked by its answer, which is asked again")
  func revocationOfOthers() async throws {
    try await ServerHarness.run(options: Self.everywhere) { server in
      try await server.publish(package)
      let grants = [try await server.grantForPurchase()]
      let browser = try await signedIn(server)
      let question = try await browser.get("/console/customers/revoke?transaction=2000000000000001")
      let tag = try #require(browser.hidden("tag", of: question.text)).replacing("&quot;", with: "\"")
      let later = try await server.grantForPurchase(device: ServerHarness.early)
      let again = try await browser.post(
        "/console/customers/revoke",
        [
          ("token", try #require(browser.hidden("token", of: question.text))), ("tag", tag),
          ("transaction", "2000000000000001"),
        ])
      #expect(again.status == 412 && again.text.contains("Grants that end: 2, on devices: 2"))
      for grant in grants + [later] { #expect(try await server.status(grant).state != .revoked) }
    }
  }

  @Test(
    "a form that does not say which state it is about is refused with words, and keeps what was typed",
    arguments: [
      "/console/customers/revoke", "/console/deliveries/GRANT/revoke", "/console/deliveries/GRANT/reinstate",
      "/console/products/com.example.issue1/withdraw", "/console/products/com.example.issue1/1.0/withdraw",
      "/console/products/com.example.issue1/1.0/reject",
    ])
  func withoutState(path: String) async throws {
    try await ServerHarness.run(options: Self.everywhere) { server in
      try await server.publish(package)
      let grant = try await server.grantForPurchase()
      let path = path.replacing("GRANT", with: try server.shortName(of: grant))
      let browser = try await signedIn(server)
      let page = try await browser.get("/console/customers?transaction=2000000000000001")
      let named = path.contains("1.0") ? "com.example.issue1 1.0" : "com.example.issue1"
      let refused = try await browser.post(
        path,
        [
          ("token", try #require(browser.hidden("token", of: page.text))), ("once", "abc"),
          ("transaction", "2000000000000001"), ("typed", named), ("reason", "what a reader wrote"),
        ])
      #expect(refused.status == 400)
      #expect(refused.text.contains("The form does not say which state it is about."))
      // A grant that stands has no form for its reinstatement but the one that was sent; a released version has none for a refusal.
      if !path.hasSuffix("reject") { #expect(refused.text.contains("what a reader wrote")) }
      #expect(try await server.status(grant).state == .granted)
      #expect(try await server.audit().allSatisfy { !$0.action.contains("withdraw") })
    }
  }

  @Test("a grant that another operator has decided on meanwhile is not decided on by a form from before")
  func lateDecision() async throws {
    try await ServerHarness.run(options: Self.everywhere) { server in
      try await server.publish(package)
      let grant = try await server.grantForPurchase()
      let name = try server.shortName(of: grant)
      let browser = try await signedIn(server)
      let path = "/console/deliveries/\(name)/revoke"
      let form = try browser.state(of: try await browser.get(path).text) + [("reason", "a letter")]
      for step in ["revoke", "reinstate"] {
        _ = try await server.operatorAPI.call(
          "POST", "/v1/operator/grants/\(name)/\(step)", body: ReasonBody(), as: OperatorGrant.self)
      }
      let late = try await browser.post(path, form)
      #expect(late.status == 412 && late.text.contains("a letter"))
      #expect(try await server.status(grant).state == .granted)
    }
  }

  @Test("what a scope does not allow is not drawn, and refused all the same")
  func scopes() async throws {
    let reader = "{name: 'ada', key: 'a-key-that-only-reads-here', scopes: ['read']}"
    try await ServerHarness.run(options: Self.everywhere + ["--named-operator-key", reader]) { server in
      try await server.publish(package)
      let grant = try await server.grantForPurchase()
      let name = try server.shortName(of: grant)
      let browser = ConsoleBrowser(server)
      try await browser.signIn("a-key-that-only-reads-here")
      let page = try await browser.get("/console/deliveries/\(name)")
      #expect(page.text.contains("Signed in as ada"))
      #expect(!page.text.contains("/revoke"))
      #expect(!(try await browser.get("/console/products/com.example.issue1/1.0")).text.contains("/withdraw"))
      let token = try #require(browser.hidden("token", of: page.text))
      let refused = try await browser.post(
        "/console/deliveries/\(name)/revoke", [("token", token), ("once", "abc"), ("tag", "\"a\"")])
      #expect(refused.status == 403)
      #expect(refused.text.contains("lacks the scope admin"))
      #expect(try await server.status(grant).state == .granted)
    }
  }

  @Test("a version is submitted, approved, released to a share and withdrawn by its typed name")
  func review() async throws {
    try await ServerHarness.run(options: Self.everywhere) { server in
      _ = try await server.operatorAPI.call(
        "PUT", "/v1/operator/products/com.example.issue1", body: ProductDescription(),
        as: OperatorProduct.self)
      _ = try await server.submit(package, as: "com.example.issue1", version: "1.0")
      let browser = try await signedIn(server)
      let path = "/console/products/com.example.issue1/1.0"
      func take(_ step: String, _ fields: [(String, String)] = []) async throws -> ConsoleBrowser.Answer {
        let page = try await browser.get(path)
        let hidden = try ["token", "once", "tag"].map { name in
          (name, try #require(browser.hidden(name, of: page.text)).replacing("&quot;", with: "\""))
        }
        return try await browser.post("\(path)/\(step)", hidden + fields)
      }
      #expect(try await take("submit").location == "\(path)?notice=submitted")
      #expect(try await browser.get("/console/").text.contains("waits for a review"))
      #expect(try await take("approve").location == "\(path)?notice=approved")
      let wrong = try await take("release", [("percentage", "101")])
      #expect(wrong.status == 400)
      #expect(wrong.text.contains("value=\"101\""))
      #expect(try await take("release", [("percentage", "100")]).location == "\(path)?notice=released")
      #expect(try await take("withdraw", [("typed", "something else")]).status == 400)
      #expect(
        try await take("withdraw", [("typed", "com.example.issue1 1.0")]).location
          == "\(path)?notice=withdrawn")
      let record: VersionRecord = try await server.operatorAPI.get(server.path("com.example.issue1", "1.0"))
      #expect(record.state == .withdrawn)
    }
  }

  @Test("a file from the browser becomes a draft, and a refused one says why and keeps what was typed")
  func upload() async throws {
    try await ServerHarness.run(options: Self.everywhere) { server in
      _ = try await server.operatorAPI.call(
        "PUT", "/v1/operator/products/com.example.issue1", body: ProductDescription(),
        as: OperatorProduct.self)
      let browser = try await signedIn(server)
      let page = try await browser.get("/console/upload?product=com.example.issue1")
      #expect(page.text.contains("multipart/form-data") && page.text.contains("value=\"com.example.issue1\""))
      let token = ("token", try #require(browser.hidden("token", of: page.text)))
      // More than is handed on at once.
      let long = (0..<9_000_000).map { UInt8(truncatingIfNeeded: $0 &* 31 >> 5) }
      for (version, content) in [("1.0", package), ("1.1", long)] {
        let answer = try await browser.upload(
          "/console/upload", [token, ("product", "com.example.issue1"), ("version", version)], file: content,
          named: "issue.cbz")
        #expect(answer.status == 303, "\(answer.text.prefix(3000))")
        #expect(answer.location == "/console/products/com.example.issue1/\(version)?notice=uploaded")
        let record: VersionRecord = try await server.operatorAPI.get(
          server.path("com.example.issue1", version))
        #expect(record.state == .draft)
        #expect(record.length == ByteCount(content.count))
      }
      let unknown = try await browser.upload(
        "/console/upload", [token, ("product", "com.example.nothing"), ("version", "1.0")], file: package,
        named: "a.cbz")
      #expect(unknown.status == 404)
      #expect(unknown.text.contains("value=\"com.example.nothing\""))
      let odd = try await browser.upload(
        "/console/upload", [token, ("product", "com.example.issue1"), ("version", "one")], file: package,
        named: "a.cbz")
      #expect(odd.status == 400)
      for fields in [[], [("token", "0123456789abcdef0123456789abcdef")]] {
        let foreign = try await browser.upload(
          "/console/upload", fields + [("product", "com.example.issue1"), ("version", "1.2")], file: package,
          named: "a.cbz")
        #expect(foreign.status == 403)
      }
      let other = try await browser.upload(
        "/console/upload", [token, ("more", "1"), ("product", "com.example.issue1"), ("version", "1.2")],
        file: package, named: "a.cbz")
      #expect(other.status == 400)
      let late = try await browser.upload(
        "/console/upload", [("product", "com.example.issue1"), ("version", "1.2")], file: package,
        named: "a.cbz")
      #expect(late.status == 403)
    }
  }

  @Test("a form that comes too late says who changed what meanwhile, and keeps what was typed")
  func tooLate() async throws {
    try await ServerHarness.run(options: Self.everywhere) { server in
      _ = try await server.operatorAPI.call(
        "PUT", "/v1/operator/products/com.example.issue1", body: ProductDescription(),
        as: OperatorProduct.self)
      _ = try await server.submit(package, as: "com.example.issue1", version: "1.0")
      try await server.step("submit", "1.0")
      let browser = try await signedIn(server)
      let path = "/console/products/com.example.issue1/1.0"
      let page = try await browser.get(path)
      let hidden = try ["token", "once", "tag"].map { name in
        (name, try #require(browser.hidden(name, of: page.text)).replacing("&quot;", with: "\""))
      }
      try await server.step("approve", "1.0")
      let late = try await browser.post("\(path)/reject", hidden + [("reason", "the cover is of last month")])
      #expect(late.status == 412)
      #expect(late.text.contains("Meanwhile:"))
      #expect(late.text.contains("approved a version"))
      #expect(late.text.contains("the cover is of last month"))
    }
  }

  @Test("titles of ten thousand characters, with markup and overrides of direction, stay titles")
  func hostileTitles() async throws {
    try await ServerHarness.run(options: Self.everywhere) { server in
      let hostile = "</title><script>alert(1)</script>\u{202E}]]>'\""
      for (id, title) in [("com.example.a", hostile), ("com.example.b", String(repeating: "x", count: 250))] {
        let description = ProductDescription(
          localizations: ["en": .init(title: title, description: hostile)])
        _ = try await server.operatorAPI.call(
          "PUT", "/v1/operator/products/\(id)", body: description, as: OperatorProduct.self)
      }
      let browser = try await signedIn(server)
      for path in ["products", "products/com.example.a", "audit"] {
        let page = try await browser.get("/console/\(path)")
        #expect(page.status == 200)
        #expect(!page.text.contains("<script>"))
      }
      let page = try await browser.get("/console/products/com.example.a")
      #expect(page.text.contains("&lt;script&gt;alert(1)&lt;/script&gt;\u{202E}]]&gt;&#39;&quot;</bdi>"))
      let odd = [
        "products/%3Cscript%3E", "deliveries/..", "products/a%0Ab", "products/%2E%2E/1.0", "pictures/a/cover",
        "publications/%22",
      ]
      for path in odd {
        let page = try await browser.get("/console/\(path)")
        #expect(page.status >= 400 && page.status < 500 || page.status == 200, "\(path): \(page.status)")
        #expect(!page.text.contains("<script>"))
      }
    }
  }
}
