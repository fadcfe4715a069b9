import Commerce
import ContentPackage
import ContentPacking
import CoreTypes
import Crypto
import Files
import Foundation
import HTTPClient
import PullboxAPI
import PullboxAPIClient
import PullboxTesting
import ServiceAPI
import ServiceRuntime
import SystemCalls
import Testing

@testable import DeliveryService

/// docs/catalogue-feeds.md.
@Suite("The catalog for readers' applications over HTTP")
struct CatalogFeedRouteTests {
  private static let issue = "com.example.issue1"
  private static let start: [UInt8] = [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]
  private static let cover = start + (0..<5000).map { UInt8(truncatingIfNeeded: $0 &* 5) }
  private static let page = start + (0..<7000).map { UInt8(truncatingIfNeeded: $0 &* 11 / 3) }

  /// Runs a server whose shop is open, with an issue of two pictures; without `prices` it costs nothing.
  private static func run(
    options: [String] = ["--catalog-feeds-public"], prices: [String: String] = [:],
    title: String = "One & only", _ body: @escaping (ServerHarness) async throws -> Void
  ) async throws {
    try await ServerHarness.run(options: options) { server in
      let description = ProductDescription(
        localizations: ["en-US": Product.Localization(title: title, description: "First")],
        prices: try prices.mapValues { try #require(Price(amount: $0, currency: "EUR")) },
        publication: ProductIdentifier("com.example.series"),
        publicationDate: Timestamp(rfc3339: "2026-09-01T00:00:00Z"), samples: ["images/page-2.png"])
      _ = try await server.operatorAPI.call(
        "PUT", "/v1/operator/products/\(issue)", body: description, as: OperatorProduct.self)
      let packed = try packed()
      let submission = VersionSubmission(
        upload: try await server.upload(packed.bytes, name: "issue.zip"),
        version: try #require(ContentVersion("1.0")),
        manifest: Base64.encode(packed.manifest.canonicalBytes()))
      _ = try await server.operatorAPI.call(
        "POST", "/v1/operator/products/\(issue)/versions", body: submission, as: VersionRecord.self)
      for step in ["submit", "approve", "release"] { try await server.step(step, "1.0", ReasonBody()) }
      try await body(server)
    }
  }

  private static func packed() throws -> (bytes: [UInt8], manifest: Manifest) {
    let directory = try TemporaryDirectory()
    let folder = directory.path("issue")
    try FileSystem.createDirectories("\(folder)/images")
    for (name, bytes) in [("page-1.png", cover), ("page-2.png", page)] {
      try DurableFile.write(bytes.span, to: "\(folder)/images/\(name)")
    }
    let builder = PackageBuilder(
      product: try #require(ProductIdentifier(issue)), version: try #require(ContentVersion("1.0")))
    let packed = try builder.pack(folder: folder, to: directory.path("issue.zip"))
    return (try FileSystem.read(directory.path("issue.zip"), upTo: .mebibytes(1)), packed.manifest)
  }

  private static func package() throws -> [UInt8] { try packed().bytes }

  private func get(
    _ path: String, _ server: ServerHarness, method: String = "GET", headers: [(String, String)] = []
  ) async throws -> ClientResponse {
    try await server.client.send(ClientRequest(method: method, url: server.api.url(path), headers: headers))
  }

  private func text(_ path: String, _ server: ServerHarness) async throws -> String {
    let answer = try await get(path, server)
    #expect(answer.status == 200, "\(path)")
    return String(decoding: answer.body, as: UTF8.self)
  }

  private static let feeds = ["v1.2", "v2"].flatMap { form in
    [
      "", "/new", "/singles", "/publications", "/publications/com.example.series", "/search?q=one",
      "/products/com.example.issue1",
    ].map { "/opds/\(form)\($0)" }
  }
  private static let files = [
    "/opds", "/opds/cover.png", "/opds/v1.2/search.xml", "/opds/covers/com.example.issue1/1.0",
    "/opds/samples/com.example.issue1/1.0/1", "/opds/files/com.example.issue1/1.0/com.example.issue1.cbz",
  ]

  @Test("the shop is closed unless the operator opens it, but for the page on which a product is bought")
  func closed() async throws {
    try await Self.run(options: []) { server in
      for path in Self.feeds + Self.files {
        let answer = try await get(path, server)
        #expect(answer.status == 401, "\(path)")
        #expect(answer.headers["Content-Type"] == "application/opds-authentication+json")
        #expect(
          answer.headers.values(of: "WWW-Authenticate") == [
            "Basic realm=\"Pullbox catalog\", charset=\"UTF-8\"", "Bearer realm=\"Pullbox catalog\"",
          ])
      }
      #expect(try await get("/shop/com.example.issue1", server).status == 200)
    }
  }

  @Test("every document has its type and a validator, is kept by who has it, and answers HEAD")
  func documents() async throws {
    try await Self.run { server in
      for path in Self.feeds + Self.files {
        let answer = try await get(path, server)
        #expect(answer.status == 200, "\(path)")
        let tag = try #require(answer.headers["ETag"], "\(path)")
        let again = try await get(path, server, headers: [("If-None-Match", tag)])
        #expect(again.status == 304, "\(path)")
        let head = try await get(path, server, method: "HEAD")
        #expect(head.status == 200 && head.body.isEmpty && head.headers["ETag"] == tag, "\(path)")
        #expect(answer.headers["Set-Cookie"] == nil)
        let type = try #require(answer.headers["Content-Type"])
        if path.hasPrefix("/opds/v2/products") {
          #expect(type == "application/opds-publication+json")
        } else if path.hasPrefix("/opds/v2") {
          #expect(type == "application/opds+json")
        } else if path.hasPrefix("/opds/v1.2/search.xml") {
          #expect(type == "application/opensearchdescription+xml")
        } else if path.hasPrefix("/opds/v1.2") {
          #expect(type.hasPrefix("application/atom+xml;"))
        }
      }
    }
  }

  @Test("the start comes in the form that a request asks for, and in Atom where it asks for none")
  func accept() async throws {
    try await Self.run { server in
      for (accept, type) in [
        ("application/opds+json", "application/opds+json"),
        ("application/atom+xml;profile=opds-catalog", "application/atom+xml"),
        ("application/opds+json;q=0.9, application/atom+xml;q=0.8, */*;q=0.1", "application/opds+json"),
        ("application/opds+json;q=0.5, application/atom+xml", "application/atom+xml"),
        ("*/*", "application/atom+xml"), ("text/html,application/xhtml+xml", "application/atom+xml"),
      ] {
        let answer = try await get("/opds", server, headers: [("Accept", accept)])
        #expect(answer.headers["Content-Type"]?.hasPrefix(type) == true, "\(accept)")
        #expect(answer.headers["Vary"]?.contains("Accept,") == true)
      }
    }
  }

  @Test("what is free is sent under its title, in ranges, and from the package that was released")
  func openAccess() async throws {
    try await Self.run { server in
      let path = "/opds/files/com.example.issue1/1.0/com.example.issue1.cbz"
      #expect(try await text("/opds/v1.2/new", server).contains("href=\"\(path)\""))
      let package = try Self.package()
      let answer = try await get(path, server)
      #expect(answer.body == package)
      #expect(answer.headers["Content-Type"] == "application/vnd.comicbook+zip")
      #expect(
        answer.headers["Content-Disposition"]
          == "attachment; filename=\"com.example.issue1.cbz\"; filename*=UTF-8''One%20%26%20only.cbz")
      #expect(answer.headers["ETag"] == "\"\(SHA256Digest.of(package))\"")
      let part = try await get(path, server, headers: [("Range", "bytes=100-199")])
      #expect(part.status == 206)
      #expect(part.body == Array(package[100..<200]))
      #expect(try await get(path, server, headers: [("Range", "bytes=99999999-")]).status == 416)
      for other in [
        "/opds/files/com.example.issue1/1.0/other.cbz",
        "/opds/files/com.example.issue1/1.1/com.example.issue1.cbz",
      ] {
        #expect(try await get(other, server).status == 404)
      }
      try await server.step("withdraw", "1.0", ReasonBody())
      #expect(try await get(path, server).status == 404)
      #expect(try await !text("/opds/v1.2/new", server).contains("com.example.issue1"))
    }
  }

  @Test("what costs something is not sent, and says its price in the territory alone")
  func priced() async throws {
    try await Self.run(prices: ["FRA": "2.99"]) { server in
      let file = "/opds/files/com.example.issue1/1.0/com.example.issue1.cbz"
      #expect(try await get(file, server).status == 402)
      let french = try await text("/opds/v1.2/new?territory=FRA", server)
      #expect(french.contains("<opds:price currencycode=\"EUR\">2.99</opds:price>"))
      #expect(french.contains("href=\"/shop/com.example.issue1?territory=FRA\""))
      #expect(try await !text("/opds/v1.2/new", server).contains("opds:price"))
      #expect(try await !text("/opds/v2/new?territory=DEU", server).contains("com.example.issue1"))
      let page = try await get("/shop/com.example.issue1?territory=FRA", server)
      #expect(page.headers["Content-Type"] == "text/html; charset=utf-8")
      #expect(page.headers["Content-Security-Policy"]?.hasPrefix("default-src 'none'") == true)
      #expect(page.headers["Referrer-Policy"] == "no-referrer")
      #expect(String(decoding: page.body, as: UTF8.self).contains("pullbox:buy?product=com.example.issue1"))
    }
  }

  @Test("covers and samples lie beside the feeds")
  func pictures() async throws {
    try await Self.run { server in
      for (path, bytes) in [
        ("covers/com.example.issue1/1.0", Self.cover),
        ("covers/com.example.issue1/1.0?width=240", Self.cover),
        ("samples/com.example.issue1/1.0/1", Self.page),
      ] {
        let answer = try await get("/opds/\(path)", server)
        #expect(answer.body == bytes, "\(path)")
      }
      for n in ["-1", "0", "2", "9223372036854775808", "1e3", "%D9%A1"] {
        let answer = try await get("/opds/samples/com.example.issue1/1.0/\(n)", server)
        #expect(answer.status == 404, "\(n)")
      }
      for width in ["0", "-1", "9223372036854775808", "x"] {
        let answer = try await get("/opds/covers/com.example.issue1/1.0?width=\(width)", server)
        #expect(answer.status == 400, "\(width)")
      }
    }
  }

  @Test("a search reads spaces however an application writes them")
  func search() async throws {
    try await Self.run { server in
      for question in ["one+only", "one%20only", "ONLY", "on"] {
        let found = try await text("/opds/v2/search?q=\(question)", server)
        #expect(found.contains("com.example.issue1"), "\(question)")
      }
      for question in ["one%2Bx", "", "%26"] {
        let found = try await text("/opds/v2/search?q=\(question)", server)
        #expect(!found.contains("com.example.issue1"), "\(question)")
      }
      #expect(try await get("/opds/v2/search", server).status == 200)
    }
  }

  @Test("a parameter that is unknown, wrong or there twice is refused, and so are the cursors of others")
  func refusals() async throws {
    try await Self.run { server in
      for query in [
        "x=1", "after=com.example.nothing", "after=", "price=dear", "territory=XXX",
        "territory=FRA&territory=FRA",
        "locale=a&locale=a", "locale=not%20a%20tag", "after=com.example.issue1&after=com.example.issue1",
        "price=free&price=free", "application=a&application=a", "application=%00", "q=1",
      ] {
        for form in ["v1.2", "v2"] {
          let answer = try await get("/opds/\(form)/new?\(query)", server)
          #expect(answer.status == 400, "\(query)")
        }
      }
      for path in [
        "/opds/v2/search?q=a&q=b", "/opds?territory=FRA&territory=CHE", "/shop/com.example.issue1?x",
      ] {
        let answer = try await get(path, server)
        #expect(answer.status == 400, "\(path)")
      }
      for path in [
        "/opds/v2/publications/nothing", "/opds/v2/products/nothing", "/opds/v1.2/products/%C3%A9",
        "/shop/nothing",
        "/opds/covers/nothing/1.0", "/opds/covers/com.example.issue1/x", "/opds/v3",
      ] {
        let answer = try await get(path, server)
        #expect(answer.status == 404, "\(path)")
      }
      #expect(try await get("/opds/v2", server, method: "POST").status == 405)
    }
  }

  @Test("addresses begin with what a trusted proxy says, and with the public URL before that")
  func behindProxy() async throws {
    let fields = [("X-Forwarded-Proto", "https"), ("X-Forwarded-Host", "comics.example")]
    try await Self.run(options: ["--catalog-feeds-public", "--trusted-proxy", "127.0.0.1"]) { server in
      let answer = try await get("/opds/v2", server, headers: fields)
      #expect(String(decoding: answer.body, as: UTF8.self).contains("\"https://comics.example/opds/v2/new\""))
      #expect(try await text("/opds/v2", server).contains("\"/opds/v2/new\""))
    }
    try await Self.run(options: ["--catalog-feeds-public", "--public-url", "https://c.example/books/"]) {
      server in
      let feed = try await text("/opds/v1.2/new", server)
      #expect(feed.contains("href=\"https://c.example/books/opds/covers/com.example.issue1/1.0\""))
      #expect(feed.contains("href=\"https://c.example/books/opds/v1.2/search.xml\""))
    }
  }

  @Test("both forms and the list for apps tell of the same products at the same prices")
  func agreement() async throws {
    try await Self.run(prices: ["FRA": "2.99", "CHE": "3.50"]) { server in
      for territory in ["FRA", "CHE", "DEU"] {
        let listed = try await server.api.get(
          "/v1/products", query: [("id", Self.issue), ("territory", territory)], as: ProductsResponse.self
        ).products
        let atom = try await text("/opds/v1.2/new?territory=\(territory)", server)
        let json = try await text("/opds/v2/new?territory=\(territory)", server)
        #expect(atom.contains("urn:pullbox:product:\(Self.issue)") == !listed.isEmpty)
        #expect(json.contains("urn:pullbox:product:\(Self.issue)") == !listed.isEmpty)
        guard let price = listed.first?.price else { continue }
        #expect(atom.contains("<opds:price currencycode=\"\(price.currency)\">\(price.amount)</opds:price>"))
        let value = try #require(Double(price.amount))
        #expect(json.contains("\"price\":{\"currency\":\"\(price.currency)\",\"value\":\(value)}"))
      }
    }
  }

  @Test("settings that no catalog can have are refused")
  func settings() {
    for options in [
      ["--catalog-feeds-title", ""], ["--catalog-feeds-territory", "FR"],
      ["--catalog-feeds-shop-url", "https://shop.example/"],
    ] {
      #expect(throws: (any Error).self, "\(options)") {
        let parser = ArgumentParser(DeliveryConfiguration.command, environment: [:])
        guard case .run(let parsed) = try parser.parse(options) else { return }
        let configuration = try ConfigurationLoader.load(DeliveryConfiguration.self, arguments: parsed)
        _ = try configuration.catalogFeedSettings()
      }
    }
  }
}
