import Commerce
import CoreTypes
import Database
import DeliveryModel
import DeliveryTesting
import HTTPClient
import PullboxAPI
import PullboxAPIClient
import PullboxTesting
import ServiceAPI
import Synchronization
import Testing

@testable import ContentPublishing
@testable import DeliveryRecords
@testable import DeliveryService

@Suite("What operators write")
struct OperatorBodyTests {
  /// Each route that reads a body, with one whose other members are right.
  struct Route: Sendable, CustomTestStringConvertible {
    var method = "POST"
    /// Behind `/v1/operator`; `GRANT` stands for the grant's name, `CALL` for a call to the store, `UPLOAD` in the body for a
    /// complete upload.
    var path: String
    var body: String
    /// The member at fault.
    var member: String

    var testDescription: String { "\(method) \(path) \(member)" }
  }

  private static let versions = "/products/com.example.issue1/versions"

  static let routes = [
    Route(
      method: "PUT", path: "/products/com.example.issue1", body: #"{"type":"consumable","price":{}}"#,
      member: "price"),
    Route(
      method: "PUT", path: "/products/com.example.new",
      body: #"{"localizations":{"en-US":{"title":"A","description":"","subtitle":"B"}}}"#,
      member: "localizations.en-US.subtitle"),
    Route(
      method: "PUT", path: "/products/com.example.new",
      body: #"{"prices":{"USA":{"amount":"1.99","currency":"USD","tax":"0.20"}}}"#, member: "prices.USA.tax"),
    Route(path: versions, body: #"{"upload":"UPLOAD","version":"2.0","release":true}"#, member: "release"),
    Route(
      path: versions + "/1.2/reject", body: #"{"reason":"upside down","resaon":"upside down"}"#,
      member: "resaon"),
    Route(path: versions + "/1.1/release", body: #"{"percentag":10}"#, member: "percentag"),
    Route(path: versions + "/1.1/release", body: #"{"percentage":10,"on":"2036-12-24"}"#, member: "on"),
    Route(path: versions + "/1.0/withdraw", body: #"{"stopDownload":true}"#, member: "stopDownload"),
    Route(path: "/collection", body: #"{"dryrun":true,"graceSeconds":0}"#, member: "dryrun"),
    Route(path: "/grants/GRANT/revoke", body: #"{"because":"refund 4711"}"#, member: "because"),
    Route(path: "/grants/GRANT/reinstate", body: #"{"reason":"","Reason":"paid"}"#, member: "Reason"),
    Route(
      path: "/catalog",
      body: #"{"products":[{"id":"com.example.new"},{"id":"com.example.newer","titel":"A"}]}"#,
      member: "products.[1].titel"),
    Route(path: "/catalog", body: #"{"products":[],"priceTier":[]}"#, member: "priceTier"),
    Route(
      method: "PUT", path: "/publications/com.example.moss",
      body: #"{"localizations":{},"oder":1}"#, member: "oder"),
    Route(
      method: "PUT", path: "/price-tiers/tier1",
      body: #"{"prices":{"USA":{"amount":"1.99","currency":"USD"}},"Prices":{}}"#, member: "Prices"),
    Route(path: "/products/com.example.issue1/submit", body: #"{"note":"a"}"#, member: "note"),
    Route(path: "/products/com.example.issue1/reject", body: #"{"resaon":"upside down"}"#, member: "resaon"),
    Route(path: "/products/com.example.issue1/withdraw", body: #"{"because":"sold"}"#, member: "because"),
    Route(path: "/outbox/CALL/drop", body: #"{"reasons":"refunded"}"#, member: "reasons"),
  ]

  @Test("a member that a body does not have is refused by name, and nothing happens")
  func unknownMembers() async throws {
    try await ServerHarness.run { server in
      let package = (0..<5000).map { UInt8(truncatingIfNeeded: $0) }
      try await server.publish(package)
      try await server.approve(package + [1], "1.1")
      _ = try await server.submit(package + [2], as: "com.example.issue1", version: "1.2")
      try await server.step("submit", "1.2")
      let grant = try await server.grantForPurchase()
      let upload = try await server.upload(package + [3])
      server.store.state.withLock { $0.isDown = true }
      let now = server.clock.now()
      let standing = try await server.server.collector.database.write(locking: [.everything]) { connection in
        _ = try OutboxTable.add(.finish, of: TransactionKey.numbered(1), at: now, in: connection)
        return try OutboxTable.page(before: .max, matching: .init(), limit: 1, in: connection)
      }
      let call = try #require(standing.first).id
      let before = try await server.audit()

      for route in Self.routes {
        let path =
          "/v1/operator"
          + route.path.replacing("GRANT", with: try server.shortName(of: grant))
          .replacing("CALL", with: String(call))
        let body = route.body.replacing("UPLOAD", with: upload)
        let problem = try await server.problem {
          _ = try await server.operatorAPI.exchange(
            route.method, path, bytes: Array(body.utf8), mediaType: "application/json")
        }
        #expect(problem.code == .requestMalformed, "\(route.testDescription)")
        #expect(problem.status == 400)
        #expect(problem.detail == "\(route.member): there is no such member", "\(route.testDescription)")
      }

      let product = try await server.operatorAPI.get(
        "/v1/operator/products/com.example.issue1", as: OperatorProduct.self)
      #expect(product.product.type == .nonConsumable)
      #expect(product.sale == .cleared)
      let products = try await server.operatorAPI.get(
        "/v1/operator/products", as: Page<OperatorProduct>.self)
      #expect(products.items.map(\.product.id.description) == ["com.example.issue1"])
      let calls = try await server.operatorAPI.get("/v1/operator/outbox", as: Page<OutboxCall>.self)
      #expect(calls.items.map(\.state) == [.waiting])
      #expect(product.versions.map(\.version.description) == ["1.2", "1.1", "1.0"])
      #expect(product.versions.map(\.state) == [.submitted, .approved, .released])
      #expect(try await server.status(grant).state == .granted)
      #expect(try await server.audit().count == before.count)
      // The upload that was named waits for a body that is right.
      #expect(try await server.submit(upload: upload, as: "com.example.other").state == .draft)
    }
  }

  @Test("a reason is so long and no longer, wherever one is given")
  func reasons() async throws {
    try await ServerHarness.run { server in
      try await server.publish((0..<100).map { UInt8($0) })
      try await server.approve([1, 2, 3], "1.1")
      let grant = try server.shortName(of: try await server.grantForPurchase())
      for path in [
        "/grants/\(grant)/revoke", "/grants/\(grant)/reinstate", Self.versions + "/1.1/reject",
        Self.versions + "/1.1/withdraw",
      ] {
        func post(_ length: Int) async throws {
          // Each takes four bytes.
          let reason = String(repeating: "\u{1F4DA}", count: length)
          _ = try await server.operatorAPI.exchange(
            "POST", "/v1/operator" + path, bytes: try APIJSON.encode(ReasonBody(reason: reason)))
        }
        let problem = try await server.problem { try await post(501) }
        #expect(problem.code == .requestMalformed, "\(path)")
        #expect(problem.detail == "a reason has at most 500 characters")
        if !path.contains("versions") { try await post(500) }
      }
      #expect(try await server.audit().compactMap(\.detail).allSatisfy { $0.utf8.count <= 2000 })
    }
  }

  @Test(
    "a title is shown without what is not to be seen and makes it read as another",
    arguments: [
      ("Heroes \u{202E}1\u{202C}", "Heroes 1"), ("He\u{200B}roes\u{2066} 1\u{2069}", "Heroes 1"),
      ("\u{FEFF}Heroes\u{00AD} 1\u{E0041}", "Heroes 1"), ("قصه\u{200C}ها", "قصه\u{200C}ها"),
    ])
  func titles(written: String, shown: String) async throws {
    try await ServerHarness.run { server in
      let description = ProductDescription(localizations: ["en-US": .init(title: written, description: "")])
      try await server.publish([1, 2, 3], description: description)
      let path = "/v1/operator/products/com.example.issue1"
      let described = try await server.operatorAPI.get(path, as: OperatorProduct.self)
      #expect(described.product.localizations["en-US"].map { Array($0.title.utf8) } == Array(shown.utf8))
      let listed = try await server.api.get(
        "/v1/products", query: [("id", "com.example.issue1"), ("locale", "en-US")], as: ProductsResponse.self)
      #expect(listed.products.map { Array($0.title.utf8) } == [Array(shown.utf8)])
    }
  }

  @Test("a description without members is a free non-consumable of no publication and no date")
  func defaults() async throws {
    try await ServerHarness.run { server in
      let response = try await server.operatorAPI.exchange(
        "PUT", "/v1/operator/products/com.example.new", bytes: Array("{}".utf8), mediaType: "application/json"
      )
      let product = try APIJSON.decode(OperatorProduct.self, from: response.body).product
      let id = try #require(ProductIdentifier("com.example.new"))
      #expect(product == Product(id: id, type: .nonConsumable))
    }
  }

  @Test("what a device or a reader writes may have members of tomorrow")
  func clients() async throws {
    try await ServerHarness.run { server in
      try await server.publish([1, 2, 3])
      let receipt = try server.store.receipt(of: [server.purchase()], device: server.device.id)
      let body = """
        {"receipt":"\(receipt)","product":"com.example.issue1","later":1,
         "device":{"id":"\(server.device.id)","model":"tablet"}}
        """
      let response = try await server.api.exchange(
        "POST", "/v1/grants", bytes: Array(body.utf8), mediaType: "application/json")
      #expect(response.status == 201)
    }
  }
}
