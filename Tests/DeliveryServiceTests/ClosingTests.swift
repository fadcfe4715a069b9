import Commerce
import CoreTypes
import HTTPClient
import PullboxAPI
import PullboxAPIClient
import PullboxTesting
import Receipts
import Testing

@testable import DeliveryService

/// docs/entitlements.md: what a license or a publication's policy closes, although nothing is taken back.
@Suite("Content that closes with what paid for it")
struct ClosingTests {
  private static let day: Duration = .seconds(86_400)
  private static let plan = "com.example.heroes.plan"
  private static let issue = "com.example.heroes.1"
  private let package = (0..<1000).map { UInt8(truncatingIfNeeded: $0 &* 3) }

  private func open(on server: ServerHarness) async throws {
    let magazine = try #require(ProductIdentifier("com.example.heroes"))
    try await server.publish(
      package, as: Self.issue,
      description: ProductDescription(
        publication: magazine, publicationDate: server.clock.now() - Self.day))
    _ = try await server.operatorAPI.call(
      "PUT", "/v1/operator/products/\(Self.plan)",
      body: ProductDescription(
        type: .autoRenewableSubscription, publication: magazine, period: BillingPeriod("P1M"), onSale: true),
      as: OperatorProduct.self)
  }

  private func put(keepsIssues: Bool?, on server: ServerHarness) async throws {
    _ = try await server.operatorAPI.call(
      "PUT", "/v1/operator/publications/com.example.heroes",
      body: PublicationDescription(
        policy: keepsIssues.map { SubscriptionPolicy(keepsIssuesAfterLapse: $0) }),
      as: OperatorPublication.self)
  }

  private func subscribe(
    for duration: Duration, id: String, _ device: Device, on server: ServerHarness
  ) async throws -> GrantResponse {
    let plan = server.purchase(of: Self.plan, id: id, expires: server.clock.now() + duration)
    let receipt = try server.store.receipt(of: [plan], device: device.id)
    return try await server.grant(Self.issue, receipt: receipt, device: device).value
  }

  private func code(_ response: ClientResponse) throws -> ProblemCode? {
    try APIJSON.decode(Problem.self, from: response.body).code
  }

  @Test(
    "a policy that closes issues ends the tickets that are out, of those whose subscription is over alone")
  func policy() async throws {
    try await ServerHarness.run(options: ["--ticket-lifetime", "1h"]) { server in
      try await open(on: server)
      let other = Device(id: try #require(DeviceIdentifier("subscriber")))
      let lapsed = try await subscribe(for: .seconds(60), id: "1", server.device, on: server)
      let running = try await subscribe(for: Self.day, id: "2", other, on: server)
      server.clock.advance(by: .seconds(120))
      #expect(try await server.fetch(lapsed).body == package)

      try await put(keepsIssues: false, on: server)
      let refused = try await server.fetch(lapsed)
      #expect(refused.status == 403)
      #expect(try code(refused) == .ticketExpired)
      let renewal = try await server.problem { _ = try await server.renew(lapsed) }
      #expect(renewal.code == .receiptNeeded)
      #expect(try await server.fetch(running).body == package)

      // Another policy gives it back, to the ticket of before as well.
      try await put(keepsIssues: nil, on: server)
      #expect(try await server.fetch(lapsed).body == package)
      _ = try await server.renew(lapsed)

      try await put(keepsIssues: false, on: server)
      #expect(try await server.fetch(lapsed).status == 403)
      // So does another subscription.
      let again = try await subscribe(for: Self.day, id: "3", server.device, on: server)
      #expect(try await server.fetch(again).body == package)
    }
  }

  @Test("under such a policy a ticket ends with the subscription, and none is made after it")
  func lapse() async throws {
    try await ServerHarness.run(options: ["--ticket-lifetime", "1h"]) { server in
      try await open(on: server)
      try await put(keepsIssues: false, on: server)
      let grant = try await subscribe(for: .seconds(600), id: "1", server.device, on: server)
      #expect(try await server.fetch(grant).body == package)
      server.clock.advance(by: .seconds(601))
      let refused = try await server.fetch(grant)
      #expect(try code(refused) == .ticketExpired)
      let renewal = try await server.problem { _ = try await server.renew(grant) }
      #expect(renewal.code == .receiptNeeded)
      #expect(renewal.detail?.hasPrefix("the subscription ended on ") == true)
      let receipt = try server.store.receipt(
        of: [
          server.purchase(of: Self.plan, id: "1", expires: server.clock.now() - .seconds(1))
        ], device: server.device.id)
      let refusal = try await server.problem { _ = try await server.grant(Self.issue, receipt: receipt) }
      #expect([402, 403].contains(refusal.status))
    }
  }

  @Test(
    "a subscription that its store has renewed unheard goes on with the next receipt, in the middle of an issue"
  )
  func renewed() async throws {
    try await ServerHarness.run(options: ["--ticket-lifetime", "1h"]) { server in
      try await open(on: server)
      try await put(keepsIssues: false, on: server)
      let grant = try await subscribe(for: .seconds(600), id: "1", server.device, on: server)
      server.clock.advance(by: .seconds(601))
      #expect(try code(try await server.fetch(grant)) == .ticketExpired)
      #expect(try await server.problem { _ = try await server.renew(grant) }.code == .receiptNeeded)
      let next = try await subscribe(for: Self.day, id: "2", server.device, on: server)
      #expect(try await server.fetch(next).body == package)
    }
  }

  @Test("an import closes issues as a single write does")
  func imported() async throws {
    try await ServerHarness.run(options: ["--ticket-lifetime", "1h"]) { server in
      try await open(on: server)
      let grant = try await subscribe(for: .seconds(60), id: "1", server.device, on: server)
      server.clock.advance(by: .seconds(120))
      let publication = PublicationDescription(
        id: ProductIdentifier("com.example.heroes"), policy: SubscriptionPolicy(keepsIssuesAfterLapse: false))
      _ = try await server.operatorAPI.call(
        "POST", "/v1/operator/catalog", body: CatalogImport(products: [], publications: [publication]),
        as: CatalogImportReport.self)
      #expect(try await server.fetch(grant).status == 403)
    }
  }

  @Test("a license of thirty days closes the content with its end, and what is for sale is offered then")
  func license() async throws {
    try await ServerHarness.run(options: ["--ticket-lifetime", "1h"]) { server in
      let price = try #require(Price(amount: "2.99", currency: "EUR"))
      try await server.publish(package, description: ProductDescription(prices: ["FRA": price]))
      let receipt = try server.store.receipt(
        of: [server.purchase()], device: server.device.id, expiring: server.clock.now() + Self.day * 30)
      server.clock.advance(by: Self.day * 30 - .seconds(600))
      let grant = try await server.grant(receipt: receipt).value
      #expect(try await server.fetch(grant).body == package)
      server.clock.advance(by: .seconds(601))
      #expect(try code(try await server.fetch(grant)) == .ticketExpired)
      let renewal = try await server.problem { _ = try await server.renew(grant) }
      #expect(renewal.code == .entitlementExpired)
      #expect(renewal.detail?.hasPrefix("the license ended on ") == true)
      #expect(renewal.detail?.hasSuffix("; com.example.issue1 is for sale") == true)
      // What it costs to have it for good.
      let shown: ProductsResponse = try await server.api.get(
        "/v1/products", query: [("id", "com.example.issue1"), ("territory", "FRA")])
      #expect(shown.products.map(\.price?.amount) == ["2.99"])
      let bought = server.purchase(id: "2000000000000002")
      let paid = try server.store.receipt(of: [bought], device: server.device.id)
      #expect(try await server.fetch(try await server.grant(receipt: paid).value).body == package)
    }
  }
}
