import Commerce
import CoreTypes
import Crypto
import Database
import DeliveryTesting
import HTTPClient
import PullboxAPI
import PullboxAPIClient
import PullboxTesting
import Receipts
import ServiceAPI
import SystemCalls
import Testing

@testable import ContentGrants
@testable import DeliveryRecords
@testable import DeliveryService

/// docs/delivery.md, "Licenses".
@Suite("Licenses of devices")
struct LicenseTests {
  private let feeds = FeedTests()
  private let key = SigningKey().verificationKey
  private static let serial = "AAECAwQFBgcICQoLDA0ODw"

  private func license(
    _ feed: FeedReference, device: DeviceIdentifier? = nil, of server: ServerHarness
  ) async throws -> LicenseResponse {
    try await server.api.call(
      "GET", "/v1/license",
      query: [
        ("device", (device ?? server.device.id).description), ("key", key.text), ("serial", Self.serial),
      ], body: EmptyBody?.none,
      headers: [("Authorization", "Bearer \(feed.token)")]
    ).value
  }

  private func read(_ answer: LicenseResponse) throws -> License {
    try License(answer.license, verifiedWith: answer.keys.map(\.key))
  }

  @Test(
    "a license says what is owned, because of what and until when, for the device and its key, for 30 days")
  func owned() async throws {
    try await ServerHarness.run { server in
      let subscription = try await feeds.subscribe(on: server)
      try await server.publish(feeds.package, as: "com.example.issue1")
      let single = server.purchase(id: "2000000000000077")
      let feed = try await feeds.show([subscription, single], to: server)
      let answer = try await license(feed, of: server)
      #expect(answer.keys.map(\.number) == [1] && answer.keys.first?.endorsement == nil)
      let now = server.clock.now()
      let read = try read(answer)
      #expect(read.device == server.device.id && read.deviceKey == key && read.isWhole)
      #expect(read.serial == Self.serial, "the name by which it was asked for")
      #expect(read.issued == now && read.expires == now + .seconds(30 * 86_400))
      #expect(
        read.owned == [
          License.Owned(
            product: try #require(ProductIdentifier(feeds.issue(0))), because: "unlocked-at-start"),
          License.Owned(
            product: try #require(ProductIdentifier(FeedTests.subscription)), because: "purchased",
            until: subscription.expiresDate),
          License.Owned(
            product: try #require(ProductIdentifier("com.example.issue1")), because: "purchased"),
        ])
      #expect(read.ended.isEmpty)
      let other = try await self.read(license(feed, of: server))
      #expect(other.customer == read.customer && read.customer?.count == 32)
      let keys: LicenseKeysResponse = try await server.api.get("/v1/license/keys")
      #expect(keys.keys == answer.keys)
    }
  }

  @Test(
    "a refund and a lapse are in the next license, each by its rule, and the publisher's word on the content")
  func ended() async throws {
    try await ServerHarness.run { server in
      for (name, keeps) in [("com.example.issue1", nil), ("com.example.issue2", true)] {
        try await server.publish(
          feeds.package + Array(name.utf8), as: name,
          description: ProductDescription(keepRevoked: keeps))
      }
      var bought = [
        server.purchase(of: "com.example.issue1", id: "2000000000000001"),
        server.purchase(of: "com.example.issue2", id: "2000000000000002"),
      ]
      var feed = try await feeds.show(bought, to: server)
      let cursor = try await feeds.read(feed, of: server).cursor
      #expect(try await read(license(feed, of: server)).owned.count == 2)
      for index in bought.indices { bought[index].cancellationDate = server.clock.now() }
      feed = try await feeds.show(bought, to: server)
      let told = try await feeds.read(feed, after: cursor, of: server)
      #expect(Set(feeds.kinds(told)) == ["revoked issue1", "revoked issue2"])
      #expect(
        Dictionary(uniqueKeysWithValues: told.entries.map { ($0.product.description, $0.keep) })
          == ["com.example.issue1": nil, "com.example.issue2": true])
      let read = try await read(license(feed, of: server))
      #expect(read.owned.isEmpty)
      #expect(read.ended.map(\.because) == ["revoked", "revoked"])
      #expect(read.ended.map(\.keep) == [nil, true])
    }
  }

  @Test("a publication's policy leaves the content of its issues too")
  func publication() async throws {
    try await ServerHarness.run { server in
      let bought = try await feeds.subscribe(on: server)
      let policy = PublicationDescription(policy: SubscriptionPolicy(keepsRevokedIssues: true))
      _ = try await server.operatorAPI.call(
        "PUT", "/v1/operator/publications/com.example.heroes", body: policy, as: OperatorPublication.self)
      var refunded = bought
      refunded.cancellationDate = server.clock.now()
      let feed = try await feeds.show([bought], to: server)
      let cursor = try await feeds.read(feed, of: server).cursor
      _ = try await feeds.show([refunded], to: server)
      let told = try await feeds.read(feed, after: cursor, of: server).entries.filter { $0.known == .revoked }
      #expect(told.map(\.keep) == [true] && told.map(\.product.description) == [feeds.issue(0)])
      let ended = try await read(license(feed, of: server)).ended
      #expect(ended.first { $0.product.description == feeds.issue(0) }?.keep == true)
      #expect(ended.first { $0.product.description == FeedTests.subscription }?.because == "revoked")
    }
  }

  @Test("a license is given for the token of the device's own feed, and for nothing else")
  func refusals() async throws {
    try await ServerHarness.run { server in
      try await server.publish(feeds.package, as: "com.example.issue1")
      let feed = try await feeds.show([server.purchase()], to: server)
      let other = try #require(DeviceIdentifier("another-device"))
      let forbidden = try await server.problem { _ = try await license(feed, device: other, of: server) }
      #expect(forbidden.code == .forbidden)
      let query = [
        ("device", server.device.id.description), ("key", key.text), ("serial", Self.serial),
      ]
      let missing = try await server.problem {
        _ = try await server.api.exchange("GET", "/v1/license", query: query)
      }
      #expect(missing.code == .unauthorized)
      for query in [
        [query[0], query[2]], [query[1], query[2]], [query[0], ("key", "AAAA"), query[2]],
        [query[0], query[1]],
        [query[0], query[1], ("serial", "AAAA")],
      ] {
        let malformed = try await server.problem {
          _ = try await server.api.exchange("GET", "/v1/license", query: query)
        }
        #expect(malformed.code == .requestMalformed)
      }
    }
  }

  /// Where records lie in PostgreSQL, its clock says when a new key signs, and not the test's.
  @Test(
    "the key outlives the server, and a rotated one is endorsed by it and signs after its delay",
    .disabled(if: TestDatabase.isOnServer, "PostgreSQL's clock counts"))
  func rotation() async throws {
    let directory = try TemporaryDirectory()
    func ask(_ server: ServerHarness) async throws -> LicenseResponse {
      let feed = try await feeds.show([server.purchase()], to: server)
      return try await license(feed, of: server)
    }
    var before: LicenseResponse?
    try await ServerHarness.run(in: directory) { server in
      try await server.publish(feeds.package, as: "com.example.issue1")
      before = try await ask(server)
    }
    let first = try #require(before)
    try await ServerHarness.run(in: directory) { server in
      #expect(try await ask(server).keys == first.keys)
      let keys = LicenseKeys(database: server.server.components.infrastructure.database)
      let now = server.clock.now()
      let number = try await BlockingPool.shared.run { try keys.rotate(at: now) }
      #expect(number == 2)
      var answer = try await ask(server)
      #expect(answer.keys.map(\.number) == [2, 1])
      // The license is still the first key's.
      _ = try License(answer.license, verifiedWith: first.keys.map(\.key))
      #expect(try #require(answer.keys.first).isEndorsed(by: first.keys.map(\.key)))
      #expect(try #require(answer.keys.first).isEndorsed(by: [key]) == false)
      server.clock.advance(by: LicenseKeys.delay)
      answer = try await ask(server)
      _ = try License(answer.license, verifiedWith: [try #require(answer.keys.first).key])
      #expect(throws: LicenseError.self) {
        try License(answer.license, verifiedWith: first.keys.map(\.key))
      }
      // The secret of the first is forgotten once a third comes.
      let later = server.clock.now()
      _ = try await BlockingPool.shared.run { try keys.rotate(at: later) }
      let rows = try await server.server.components.infrastructure.database.read {
        try LicenseKeyTable.all(in: $0)
      }
      #expect(rows.map { $0.secret != nil } == [true, true, false])
    }
  }

  @Test("its days are configured, and applied at a reload")
  func days() async throws {
    try await ServerHarness.run(options: ["--license-days", "7"]) { server in
      try await server.publish(feeds.package, as: "com.example.issue1")
      let feed = try await feeds.show([server.purchase()], to: server)
      let read = try await read(license(feed, of: server))
      #expect(read.expires - read.issued == .seconds(7 * 86_400))
    }
  }
}
