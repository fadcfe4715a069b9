import Commerce
import CoreTypes
import PullboxAPI
import PullboxAPIClient
import PullboxTesting
import Receipts
import ServiceAPI
import Testing

@testable import DeliveryService

/// Issues that appear while a subscription runs are its own, by the later of their date and their first release.
@Suite("Issues that are released behind their dates", .timeLimit(.minutes(1)))
struct LateReleaseTests {
  private static let monthly = "com.example.monthly"
  private static let issue = "com.example.late"
  private static let month = Duration.seconds(30 * 86_400)

  private func run(_ body: (ServerHarness) async throws -> Void) async throws {
    try await ServerHarness.run { server in
      let magazine = ProductIdentifier("com.example.magazine")
      _ = try await server.operatorAPI.call(
        "PUT", "/v1/operator/products/\(Self.monthly)",
        body: ProductDescription(
          type: .autoRenewableSubscription, publication: magazine, period: BillingPeriod("P1M")),
        as: OperatorProduct.self)
      try await server.publish(
        Array("the issue before".utf8), as: "com.example.before",
        description: ProductDescription(publication: magazine, publicationDate: server.clock.now()))
      server.clock.advance(by: .seconds(86_400))
      _ = try await server.operatorAPI.call(
        "PUT", "/v1/operator/products/\(Self.issue)",
        body: ProductDescription(publication: magazine, publicationDate: server.clock.now()),
        as: OperatorProduct.self)
      _ = try await server.submit(Array("the issue".utf8), as: Self.issue, version: "1.0")
      for step in ["submit", "approve"] { try await server.step(step, "1.0", of: Self.issue) }
      try await body(server)
    }
  }

  private func subscription(_ server: ServerHarness, _ id: String) -> InAppPurchase {
    server.purchase(of: Self.monthly, id: id, expires: server.clock.now() + Self.month)
  }

  /// Why the device of the purchase has it; nil where it does not.
  private func reason(
    _ purchase: InAppPurchase, of product: String = issue, _ server: ServerHarness
  ) async throws -> String? {
    try await owned([purchase], server).first { $0.product.description == product }?.because
  }

  private func owned(
    _ purchases: [InAppPurchase], _ server: ServerHarness
  ) async throws -> [EntitledProduct] {
    let receipt = try server.store.receipt(of: purchases, device: server.device.id)
    return try await server.api.call(
      "POST", "/v1/entitlements",
      body: EntitlementsRequest(proof: Proof(store: "sandbox", receipt: receipt), device: server.device),
      as: EntitlementsResponse.self
    ).value.products
  }

  @Test("one is granted to who subscribed between its date and its release, and the release says to how many")
  func betweenDateAndRelease() async throws {
    try await run { server in
      let first = subscription(server, "2000000000000001")
      #expect(try await reason(first, server) == nil, "it is not released")
      server.clock.advance(by: .seconds(86_400))
      let second = subscription(server, "2000000000000002")
      #expect(try await reason(second, server) == nil)
      let latest = try await reason(second, of: "com.example.before", server)
      #expect(latest == "unlocked-at-start", "what has only a date is not the latest that can be had")
      server.clock.advance(by: .seconds(86_400))
      let released = try await server.release("1.0", of: Self.issue)
      #expect(released.lateRelease?.laterSubscribers == 1)
      #expect(released.lateRelease?.publicationDate == server.clock.now() - .seconds(2 * 86_400))
      #expect(try await reason(first, server) == "published-during-subscription")
      // It was the latest by its date when that subscription began.
      #expect(try await reason(second, server) == "unlocked-at-start")
      server.clock.advance(by: .seconds(86_400))
      #expect(try await server.release("1.0", of: Self.issue).lateRelease == nil, "that was no first release")
    }
  }

  @Test(
    "one with an earlier date than another that a subscription began with opens by its release, and by no later one"
  )
  func backDated() async throws {
    try await run { server in
      // Another issue of a later date is the latest when the subscriptions begin.
      server.clock.advance(by: .seconds(86_400))
      try await server.publish(
        Array("a later issue".utf8), as: "com.example.later",
        description: ProductDescription(
          publication: ProductIdentifier("com.example.magazine"), publicationDate: server.clock.now()))
      server.clock.advance(by: .seconds(86_400))
      let running = subscription(server, "2000000000000001")
      #expect(try await reason(running, server) == nil)
      server.clock.advance(by: .seconds(86_400))
      #expect(try await server.release("1.0", of: Self.issue, to: 10).lateRelease?.laterSubscribers == 1)
      try await server.release("1.0", of: Self.issue)
      #expect(try await reason(running, server) == "released-during-subscription")
      server.clock.advance(by: .seconds(86_400))
      let after = subscription(server, "2000000000000003")
      try await server.approve(Array("corrected".utf8), "1.1", of: Self.issue)
      try await server.release("1.1", of: Self.issue)
      #expect(try await reason(after, server) == nil, "another version is no other appearance")
    }
  }

  @Test(
    "a release opens also to who subscribes without renewals since its date, and not to whose season was over or ran then"
  )
  func withoutRenewals() async throws {
    try await run { server in
      let magazine = ProductIdentifier("com.example.magazine")
      let (season, week, free) = ("com.example.season", "com.example.week", "com.example.free")
      let plans: [(String, ProductType, BillingPeriod?)] = [
        (season, .nonRenewingSubscription, .month), (week, .nonRenewingSubscription, BillingPeriod("P1W")),
        (free, .freeSubscription, nil),
      ]
      for (id, type, period) in plans {
        _ = try await server.operatorAPI.call(
          "PUT", "/v1/operator/products/\(id)",
          body: ProductDescription(type: type, publication: magazine, period: period),
          as: OperatorProduct.self)
      }
      // One who has a season at the date, and buys the next one behind it.
      let early = server.purchase(of: week, id: "2000000000000001")
      _ = try await reason(early, server)
      server.clock.advance(by: .seconds(86_400))
      let next = server.purchase(of: season, id: "2000000000000002")
      _ = try await owned([early, next], server)
      for (id, product) in [(3, season), (4, week), (5, free)] {
        _ = try await reason(server.purchase(of: product, id: "200000000000000\(id)"), server)
      }
      _ = try await reason(subscription(server, "2000000000000006"), server)
      // Long enough for a week to be over.
      server.clock.advance(by: .seconds(10 * 86_400))
      let released = try await server.release("1.0", of: Self.issue)
      #expect(released.lateRelease?.laterSubscribers == 3, "a season, a free subscription, one that renews")
      let record = try await server.operatorAPI.get(
        server.path(Self.issue, "1.0"), as: VersionRecord.self)
      #expect(record.lateRelease == nil)
      let date = try #require(released.lateRelease?.publicationDate)
      #expect(
        record.history?.first?.detail
          == "to all devices; opens to 3 subscribers more than at its date, \(date)")
    }
  }
}
