import Commerce
import CoreTypes
import Database
import DeliveryModel
import HTTPClient
import PullboxAPI
import PullboxAPIClient
import PullboxTesting
import ServiceAPI
import Testing

@testable import CatalogFeeds
@testable import ContentGrants
@testable import DeliveryRecords
@testable import DeliveryService

/// docs/catalogue-feeds.md, "Feeds" and "Limits".
@Suite("What a customer of many purchases owns", .timeLimit(.minutes(2)))
struct OwnedFeedTests {
  private static let file = "/opds/files/\(ReaderShop.issue)/1.0/\(ReaderShop.issue).cbz"
  private static let content = (0..<5000).map { UInt8(truncatingIfNeeded: $0 &* 7 / 3) }

  private func changes(of key: NewReaderKey, on server: ServerHarness) async throws -> Int64 {
    let found = try await server.server.grants.grantStore.database.read {
      try ReaderKeyTable.find(key.name, in: $0)
    }
    return try #require(found).changes
  }

  /// Gives the customer so many later purchases of what the catalog does not have.
  private func buyMore(_ count: Int, on server: ServerHarness) async throws {
    try await server.server.grants.grantStore.database.write(locking: [.everything]) { connection in
      try connection.execute(
        """
        WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < ?)
        INSERT INTO transactions (store, environment, transaction_id, as_of, original_id, product, purchased, quantity,
          customer)
        SELECT store, environment, 'later-' || n, as_of, 'later-' || n, 'com.example.gone', purchased + n, 1, customer
        FROM transactions JOIN numbers ON transaction_id = '2000000000000001'
        """, [.integer(count)])
    }
  }

  @Test("what changes twice within a second is told by its tag, and by no date") func dates() async throws {
    try await ReaderShop.run(Self.content) { shop in
      let key = try await shop.add()
      for path in [
        "/opds/v2/owned", "/opds/v1.2/products/\(ReaderShop.issue)", "/opds/manifest/\(ReaderShop.issue)/1.0",
      ] {
        let answer = try await shop.send(path, as: key)
        #expect(answer.status == 200 && answer.headers["Last-Modified"] == nil, "\(path)")
        let tag = try #require(answer.headers["ETag"])
        let basic = ReaderShop.basic(key)
        let again = try await shop.send(path, headers: [basic, ("If-None-Match", tag)])
        #expect(again.status == 304)
        let dated = ("If-Modified-Since", "Thu, 31 Dec 2099 23:59:59 GMT")
        #expect(try await shop.send(path, headers: [basic, dated]).status == 200)
      }
    }
  }

  @Test("what was bought before the latest 2,000 purchases is in the feed, and is sent")
  func many() async throws {
    try await ReaderShop.run(Self.content) { shop in
      let key = try await shop.add()
      try await buyMore(2_500, on: shop.server)
      for form in ["v1.2", "v2"] {
        let owned = try await shop.text("/opds/\(form)/owned", as: key)
        #expect(owned.contains(Self.file))
      }
      let sent = try await shop.send(Self.file, as: key)
      #expect(sent.status == 200 && sent.body == Self.content)
      try await shop.refund()
      #expect(try await !shop.text("/opds/v2/owned", as: key).contains(Self.file))
      #expect(try await shop.send(Self.file, as: key).status == 402)
    }
  }

  @Test("a purchase and a refund count as changes of the ledger, and a proof that is shown again does not")
  func ledger() async throws {
    try await ReaderShop.run(Self.content) { shop in
      let (server, key) = (shop.server, try await shop.add())
      let start = try await changes(of: key, on: server)
      _ = try await shop.add("Another")
      #expect(try await changes(of: key, on: server) == start)
      try await buyMore(1, on: server)
      #expect(try await changes(of: key, on: server) == start + 1)
      try await shop.refund()
      let refunded = try await changes(of: key, on: server)
      #expect(refunded > start + 1)
      try await shop.refund()
      #expect(try await changes(of: key, on: server) == refunded)
    }
  }

  @Test("a grant that an operator has revoked opens nothing, also where its purchase stands")
  func revoked() async throws {
    try await ReaderShop.run(Self.content) { shop in
      let (server, key) = (shop.server, try await shop.add())
      #expect(try await shop.send(Self.file, as: key).status == 200)
      let page: PullboxAPI.Page<OperatorGrant> = try await server.operatorAPI.get("/v1/operator/deliveries")
      let grant = try #require(page.items.first).grant
      _ = try await server.operatorAPI.call(
        "POST", "/v1/operator/grants/\(grant)/revoke", body: ReasonBody(), as: OperatorGrant.self)
      #expect(try await shop.send(Self.file, as: key).status == 403)
      _ = try await server.operatorAPI.call(
        "POST", "/v1/operator/grants/\(grant)/reinstate", body: ReasonBody(), as: OperatorGrant.self)
      #expect(try await shop.send(Self.file, as: key).status == 200)
    }
  }
}
