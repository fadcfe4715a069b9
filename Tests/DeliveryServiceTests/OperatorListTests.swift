import Commerce
import CoreTypes
import HTTPClient
import PullboxAPI
import PullboxAPIClient
import PullboxTesting
import ServiceAPI
import Testing

@testable import ContentCatalog
@testable import ContentDelivery
@testable import DeliveryService

@Suite("Operators' lists")
struct OperatorListTests {
  private let package = (0..<1000).map { UInt8(truncatingIfNeeded: $0 &* 13) }

  /// Every page of a list, one after the other.
  private func pages<Item: Codable & Sendable>(
    _ server: ServerHarness, _ path: String, limit: Int, _ query: [(String, String)] = [], of type: Item.Type
  ) async throws -> [[Item]] {
    var pages: [[Item]] = []
    var after: String?
    repeat {
      let cursor = after.map { [("after", $0)] } ?? []
      let page = try await server.operatorAPI.get(
        path, query: query + [("limit", String(limit))] + cursor, as: Page<Item>.self)
      pages.append(page.items)
      after = page.next
    } while after != nil
    return pages
  }

  private func describe(
    _ server: ServerHarness, _ product: String, _ description: ProductDescription = ProductDescription()
  ) async throws {
    _ = try await server.operatorAPI.call(
      "PUT", "/v1/operator/products/\(product)", body: description, as: OperatorProduct.self)
  }

  @Test("versions are listed the newest first by number, not by letter, and the last page has no next")
  func versions() async throws {
    try await ServerHarness.run { server in
      try await describe(server, "com.example.a")
      for (number, version) in ["1.9", "1.10", "1.2", "2", "1.10.1", "0.9"].enumerated() {
        _ = try await server.submit(package + [UInt8(number)], as: "com.example.a", version: version)
      }
      for (limit, counts) in [(2, [2, 2, 2]), (4, [4, 2]), (6, [6]), (100, [6])] {
        let pages = try await pages(
          server, "/v1/operator/products/com.example.a/versions", limit: limit, of: VersionRecord.self)
        #expect(pages.map(\.count) == counts)
        #expect(
          pages.flatMap { $0 }.map(\.version.description) == ["2", "1.10.1", "1.10", "1.9", "1.2", "0.9"])
      }
    }
  }

  @Test("products are listed by name, by publication and by the state of their versions")
  func products() async throws {
    try await ServerHarness.run { server in
      let publication = try #require(ProductIdentifier("com.example.series"))
      for name in ["d", "b", "a", "c"] {
        let isIssue = name == "a" || name == "c"
        try await describe(
          server, "com.example.\(name)", ProductDescription(publication: isIssue ? publication : nil))
      }
      let path = "/v1/operator/products"
      func names(_ limit: Int, _ query: [(String, String)] = []) async throws -> [[String]] {
        try await pages(server, path, limit: limit, query, of: OperatorProduct.self)
          .map { $0.map { String($0.product.id.description.suffix(1)) } }
      }
      #expect(try await names(3) == [["a", "b", "c"], ["d"]])
      #expect(try await names(4) == [["a", "b", "c", "d"]])
      #expect(try await names(1, [("publication", "com.example.series")]) == [["a"], ["c"]])
      for name in ["a", "b", "d"] {
        try await server.approve(package, "1.0", of: "com.example.\(name)")
      }
      #expect(try await names(2, [("state", "approved")]) == [["a", "b"], ["d"]])
      #expect(try await names(2, [("state", "approved"), ("publication", "com.example.series")]) == [["a"]])
      #expect(try await names(2, [("type", "non-consumable"), ("state", "draft")]) == [[]])
    }
  }

  @Test(
    "products are listed by their latest change: a description or a release is one, a draft is none"
  )
  func latestChange() async throws {
    try await ServerHarness.run { server in
      let publication = try #require(ProductIdentifier("com.example.series"))
      for name in ["b", "d", "a", "c"] {
        let isIssue = name == "a" || name == "d"
        try await describe(
          server, "com.example.\(name)", ProductDescription(publication: isIssue ? publication : nil))
      }
      func names(_ limit: Int, _ query: [(String, String)] = []) async throws -> [[String]] {
        try await pages(
          server, "/v1/operator/products", limit: limit, query + [("order", "changed")],
          of: OperatorProduct.self
        ).map { $0.map { String($0.product.id.description.suffix(1)) } }
      }
      #expect(try await names(3) == [["c", "a", "d"], ["b"]])
      try await server.approve(package, "1.0", of: "com.example.b")
      #expect(try await names(4) == [["c", "a", "d", "b"]])
      _ = try await server.operatorAPI.call(
        "POST", "/v1/operator/products/com.example.b/versions/1.0/release", body: ReasonBody(),
        as: VersionRecord.self)
      #expect(try await names(1) == [["b"], ["c"], ["a"], ["d"]])
      #expect(try await names(1, [("publication", "com.example.series")]) == [["a"], ["d"]])
      #expect(try await names(4, [("state", "released")]) == [["b"]])
      // A page goes on where the one before ended, although what that ended with has changed since.
      let first = try await server.operatorAPI.get(
        "/v1/operator/products", query: [("order", "changed"), ("limit", "2")],
        as: Page<OperatorProduct>.self)
      try await describe(server, "com.example.c", ProductDescription(onSale: false))
      let second = try await server.operatorAPI.get(
        "/v1/operator/products",
        query: [("order", "changed"), ("limit", "2"), ("after", try #require(first.next))],
        as: Page<OperatorProduct>.self)
      #expect(second.items.map(\.product.id.description) == ["com.example.a", "com.example.d"])
      #expect(second.next == nil)
      for (name, value) in [
        ("order", "size"), ("after", "com.example.a"), ("after", "1.com.example.z"), ("after", "x"),
      ] {
        await #expect(throws: APICallError.self) {
          _ = try await names(2, [(name, value)])
        }
      }
    }
  }

  @Test(
    "a product is shown with its newest versions and those that are released, and says how many there are")
  func manyVersions() async throws {
    try await ServerHarness.run { server in
      try await server.publish(package, as: "com.example.a", version: "0.1")
      for number in 1...Catalog.maximumVersions + 1 {
        _ = try await server.submit(package + [UInt8(number)], as: "com.example.a", version: "\(number)")
      }
      let product = try await server.operatorAPI.get(
        "/v1/operator/products/com.example.a", as: OperatorProduct.self)
      #expect(product.versionCount == Catalog.maximumVersions + 2)
      #expect(product.versions.first?.version.description == String(Catalog.maximumVersions + 1))
      #expect(product.versions.count == Catalog.maximumVersions + 1)
      #expect(product.versions.last?.version.description == "0.1")
      #expect(product.clearedForSale)
    }
  }

  @Test("deliveries are listed the newest first, by product, device and state")
  func deliveries() async throws {
    try await ServerHarness.run { server in
      try await server.publish(package)
      var grants: [String] = []
      for device in [ServerHarness.early, ServerHarness.late, server.device] {
        grants.insert(try server.shortName(of: try await server.grant(to: device)), at: 0)
        server.clock.advance(by: .seconds(1))
      }
      func listed(_ query: [(String, String)] = []) async throws -> [String] {
        try await pages(server, "/v1/operator/deliveries", limit: 2, query, of: OperatorGrant.self)
          .flatMap { $0 }.map(\.grant.description)
      }
      #expect(try await listed() == grants)
      #expect(try await listed([("product", "com.example.issue1"), ("state", "granted")]) == grants)
      #expect(try await listed([("device", "device-1")]) == [grants[1]])
      #expect(try await listed([("state", "revoked")]) == [])
      for beside in [("product", "com.example.issue1"), ("transaction", "2000000000000001")] {
        #expect(try await listed([("version", "1.1"), beside]) == [])
        for spelling in ["1", "1.0", "1.0.0"] {
          #expect(try await listed([("version", spelling), beside]) == grants)
        }
      }
      let refused = try await server.problem { _ = try await listed([("version", "1.0")]) }
      #expect(refused.status == 400)
    }
  }

  @Test("the audit log is listed by product, key and action; an entry about no product has none")
  func audit() async throws {
    try await ServerHarness.run { server in
      try await describe(server, "com.example.a")
      try await server.approve(package, "1.0", of: "com.example.a")
      try await describe(server, "com.example.ab")
      let all = try await pages(server, "/v1/operator/audit", limit: 2, of: AuditEntry.self)
      #expect(all.map(\.count) == [2, 2, 1])
      let product = try await server.audit([("product", "com.example.a")])
      #expect(
        product.map(\.action) == ["version.approve", "version.submit", "version.create", "product.create"])
      #expect(try await server.audit([("action", "product.create")]).count == 2)
      #expect(try await server.audit([("actor", "somebody")]).isEmpty)
    }
  }

  @Test("each page but the last names the next in its Link, with the filters of the first")
  func links() async throws {
    try await ServerHarness.run { server in
      for name in ["a", "b", "c"] { try await describe(server, "com.example.\(name)") }
      var path: String? = "/v1/operator/products?limit=2&type=non-consumable"
      var names: [[String]] = []
      while let address = path {
        let response = try await server.operatorAPI.exchange("GET", address)
        let page = try APIJSON.decode(Page<OperatorProduct>.self, from: response.body)
        names.append(page.items.map(\.product.id.description))
        #expect((response.headers["Link"] != nil) == (page.next != nil))
        // RFC 8288 §3: <target>; rel="next".
        let link = response.headers["Link"]?.wholeMatch(of: /<([^>]*)>; rel="next"/)
        #expect((link != nil) == (page.next != nil))
        path = link.map { String($0.1) }
      }
      #expect(names == [["com.example.a", "com.example.b"], ["com.example.c"]])
    }
  }

  @Test("uploads are listed in pages, and a cursor stays good when its upload has gone")
  func uploads() async throws {
    try await ServerHarness.run { server in
      var ids: [String] = []
      for _ in 0..<5 {
        ids.append(try await server.upload(package))
        server.clock.advance(by: .seconds(1))
      }
      let path = "/v1/operator/uploads"
      let pages = try await pages(server, path, limit: 2, of: UploadRecord.self)
      #expect(pages.map { $0.map(\.upload) } == [Array(ids[0..<2]), Array(ids[2..<4]), [ids[4]]])
      let first = try await server.operatorAPI.get(
        path, query: [("limit", "2")], as: Page<UploadRecord>.self)
      _ = try await server.operatorAPI.exchange(
        "DELETE", "\(path)/\(ids[1])", headers: [("Tus-Resumable", "1.0.0")])
      let second = try await server.operatorAPI.get(
        path, query: [("limit", "2"), ("after", try #require(first.next))], as: Page<UploadRecord>.self)
      #expect(second.items.map(\.upload) == Array(ids[2..<4]))
    }
  }

  @Test("deliveries and the audit log are narrowed to a time: from since on, before until")
  func times() async throws {
    try await ServerHarness.run { server in
      try await server.publish(package)
      let start = server.clock.now()
      var grants: [String] = []
      for device in [ServerHarness.early, ServerHarness.late, server.device] {
        let grant = try server.shortName(of: try await server.grant(to: device))
        grants.append(grant)
        _ = try await server.operatorAPI.exchange("POST", "/v1/operator/grants/\(grant)/revoke")
        server.clock.advance(by: .seconds(10))
      }
      func query(_ since: Int?, _ until: Int?) -> [(String, String)] {
        [("since", since), ("until", until)].compactMap { name, seconds in
          seconds.map { (name, (start + .seconds($0)).description) }
        }
      }
      for (since, until, expected) in [
        (nil, nil, grants), (10, nil, Array(grants[1...])), (nil, 10, [grants[0]]), (10, 20, [grants[1]]),
        (11, 20, []), (20, 10, []),
      ] as [(Int?, Int?, [String])] {
        let listed = try await pages(
          server, "/v1/operator/deliveries", limit: 2, query(since, until), of: OperatorGrant.self)
        #expect(listed.flatMap { $0 }.map(\.grant.description) == expected.reversed())
        let entries = try await server.audit(query(since, until) + [("action", "grant.revoke")])
        #expect(entries.count == expected.count)
        let all = try await server.audit(query(since, until))
        #expect(all.filter { $0.action == "grant.revoke" }.count == expected.count)
      }
    }
  }

  @Test(
    "a parameter that a list does not have is refused by name",
    arguments: [
      ("/v1/operator/deliveries?typo=1", "typo"), ("/v1/operator/grants?limit=1&Product=a", "Product"),
      ("/v1/operator/audit?products=a", "products"), ("/v1/operator/products?stat=draft", "stat"),
      ("/v1/operator/products/com.example.issue1/versions?state=draft", "state"),
      ("/v1/operator/products/com.example.issue1?x", "x"), ("/v1/operator/uploads?owner=ada", "owner"),
      ("/v1/products?ids=a", "ids"), ("/products_v1.json?page=2", "page"),
    ])
  func unknownParameters(path: String, name: String) async throws {
    try await ServerHarness.run { server in
      try await server.publish(package)
      let problem = try await server.problem { _ = try await server.operatorAPI.exchange("GET", path) }
      #expect(problem.code == .requestMalformed)
      #expect(problem.detail?.hasPrefix("\(name): there is no such parameter") == true)
    }
  }

  @Test(
    "a parameter that occurs twice is refused by name, even with one value",
    arguments: [
      ("/v1/operator/deliveries?device=a&device=b", "device"),
      ("/v1/operator/grants?limit=1&limit=2", "limit"),
      ("/v1/operator/audit?actor=ada&limit=1&actor=ada", "actor"),
      ("/v1/operator/uploads?limit=1&limit=1", "limit"), ("/v1/operator/reports?store=a&store=b", "store"),
      ("/v1/products?id=a&id=b&locale=en&locale=de", "locale"), ("/v1/singles?device=a&device=b", "device"),
      ("/v1/feed?device=a&device=b", "device"), ("/v1/diagnostics?ticket=a&ticket=b", "ticket"),
    ])
  func doubledParameters(path: String, name: String) async throws {
    try await ServerHarness.run { server in
      let problem = try await server.problem { _ = try await server.operatorAPI.exchange("GET", path) }
      #expect(problem.code == .requestMalformed)
      #expect(problem.detail == "\(name) occurs more than once")
    }
  }

  @Test("several products are asked for at once, each with an id of its own")
  func repeatedIdentifiers() async throws {
    try await ServerHarness.run { server in
      let path = "/v1/products?id=com.example.one&id=com.example.two"
      let products = try await server.api.get(path, as: ProductsResponse.self)
      #expect(products.invalidProductIdentifiers == ["com.example.one", "com.example.two"])
      #expect(products.nearest == nil)
    }
  }

  @Test("a product that is not for sale is answered with the nearest that is, never with one that is not")
  func nearestProducts() async throws {
    try await ServerHarness.run { server in
      try await server.publish(package, as: "com.example.isobar.2026-09")
      let draft = ProductDescription(onSale: false)
      _ = try await server.operatorAPI.call(
        "PUT", "/v1/operator/products/com.example.isobar.2026-10", body: draft, as: OperatorProduct.self)
      func nearest(_ names: String...) async throws -> [String: ProductIdentifier]? {
        let query = names.map { ("id", $0) }
        return try await server.api.get("/v1/products", query: query, as: ProductsResponse.self).nearest
      }
      let near = try #require(try await nearest("com.example.isobar.2026-10", "com.example.isobar.2026-9"))
      #expect(
        near.mapValues(\.description) == [
          "com.example.isobar.2026-10": "com.example.isobar.2026-09",
          "com.example.isobar.2026-9": "com.example.isobar.2026-09",
        ])
      #expect(try await nearest("com.example.isobar.2026-09") == nil)
      #expect(try await nearest("com.example.isobar.2026-1234", "é/?", "") == nil)
      // Near names are looked for to the first four of many.
      let many = try await nearest("a", "b", "c", "d", "com.example.isobar.2026-9")
      #expect(many == nil)
    }
  }

  @Test("a price tier that there is not is answered with the nearest")
  func nearestTier() async throws {
    try await ServerHarness.run { server in
      let path = "/v1/operator/price-tiers/"
      let price = try #require(Price(amount: "2.99", currency: "EUR"))
      _ = try await server.operatorAPI.call(
        "PUT", path + "monthly", body: PriceTierDescription(prices: ["FRA": price]), as: PriceTier.self)
      for method in ["GET", "DELETE"] {
        let problem = try await server.problem {
          _ = try await server.operatorAPI.exchange(method, path + "montly")
        }
        #expect(problem.detail == "no price tier is named montly; did you mean monthly?")
      }
    }
  }

  @Test(
    "an invalid cursor or filter is refused, not ignored",
    arguments: [
      "/v1/operator/deliveries?after=00000000000000000000000000000000", "/v1/operator/audit?after=4711",
      "/v1/operator/products?after=com.example.none", "/v1/operator/uploads?after=x",
      "/v1/operator/products/com.example.issue1/versions?after=9.9", "/v1/operator/uploads?limit=0",
      "/v1/operator/deliveries?since=yesterday", "/v1/operator/audit?until=",
      "/v1/operator/deliveries?after=nothing", "/v1/operator/deliveries?state=lost",
      "/v1/operator/deliveries?product=../x", "/v1/operator/audit?after=x",
      "/v1/operator/products?after=../x",
      "/v1/operator/products?state=lost", "/v1/operator/products/com.example.issue1/versions?after=x",
      "/v1/operator/products?limit=0", "/v1/operator/audit?limit=201",
    ])
  func refusedQueries(path: String) async throws {
    try await ServerHarness.run { server in
      try await server.publish(package)
      let problem = try await server.problem {
        _ = try await server.operatorAPI.get(path, as: Page<AuditEntry>.self)
      }
      #expect(problem.code == .requestMalformed)
    }
  }
}
