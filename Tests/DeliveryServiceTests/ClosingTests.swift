import Commerce
import CoreTypes
import HTTPClient
import PullboxAPI
import PullboxAPIClient
import PullboxTesting
import Receipts
import ServiceAPI
import ServiceRuntime
import Testing

@testable import ContentDelivery
@testable import ContentGrants
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

  @Test(
    "a refund of the running period ends the tickets of what an earlier one paid for, and leaves another customer's"
  )
  func refunded() async throws {
    try await ServerHarness.run(options: ["--ticket-lifetime", "1h"]) { server in
      try await open(on: server)
      try await put(keepsIssues: false, on: server)
      let other = Device(id: try #require(DeviceIdentifier("subscriber")))
      let running = try await subscribe(for: Self.day, id: "9", other, on: server)
      let first = server.purchase(of: Self.plan, id: "1", expires: server.clock.now() + .seconds(600))
      _ = try await server.grant(
        Self.issue, receipt: try server.store.receipt(of: [first], device: server.device.id))
      server.clock.advance(by: .seconds(600))
      func second(cancelled: Timestamp? = nil) -> InAppPurchase {
        var renewal = server.purchase(
          of: Self.plan, id: "2", expires: server.clock.now() + Self.day, cancelled: cancelled)
        renewal.originalTransactionIdentifier = "1"
        return renewal
      }
      let both = try server.store.receipt(of: [first, second()], device: server.device.id)
      let grant = try await server.grant(Self.issue, receipt: both).value
      #expect(grant.transaction.description == "1")
      #expect(try await server.fetch(grant).body == package)
      server.clock.advance(by: .seconds(1))
      let refund = try server.store.receipt(
        of: [first, second(cancelled: server.clock.now())], device: server.device.id)
      _ = try? await server.grant(Self.issue, receipt: refund)
      #expect(try code(try await server.fetch(grant)) == .ticketExpired)
      #expect(try await server.problem { _ = try await server.renew(grant) }.code == .entitlementRevoked)
      #expect(try await server.fetch(running).body == package)
    }
  }

  @Test(
    "what a change of policy has closed is closed after a restart, too, while tickets may be out, also those of a longer lifetime",
    arguments: [("1h", 121), ("1m", 1200)])
  func restart(lifetime: String, seconds: Int) async throws {
    let directory = try TemporaryDirectory()
    let kept = Locked<[GrantResponse]>([])
    try await ServerHarness.run(options: ["--ticket-lifetime", "1h"], in: directory) { server in
      try await open(on: server)
      let other = Device(id: try #require(DeviceIdentifier("subscriber")))
      let lapsed = try await subscribe(for: .seconds(60), id: "1", server.device, on: server)
      let running = try await subscribe(for: Self.day, id: "2", other, on: server)
      server.clock.advance(by: .seconds(120))
      try await put(keepsIssues: false, on: server)
      kept.withLock { $0 = [lapsed, running] }
    }
    let grants = kept.current
    try await ServerHarness.run(options: ["--ticket-lifetime", lifetime], in: directory) { server in
      server.clock.advance(by: .seconds(seconds))
      await server.server.grants.closeAfterStart(log: Log(level: .error))
      let refused = try await server.fetch(grants[0])
      #expect(try code(refused) == .ticketExpired)
      let served = try await server.fetch(grants[1])
      #expect(served.body == package)
      #expect(server.server.revocations.closedCount == 1)
    }
  }

  @Test("what is refused says which period ended when")
  func reasons() async throws {
    try await ServerHarness.run { server in
      try await open(on: server)
      try await put(keepsIssues: false, on: server)
      let end = server.clock.now() + .seconds(600)
      let plan = server.purchase(of: Self.plan, id: "1", expires: end)
      let receipt = try server.store.receipt(of: [plan], device: server.device.id)
      _ = try await server.grant(Self.issue, receipt: receipt)
      server.clock.advance(by: .seconds(601))
      let closed = try await server.problem { _ = try await server.grant(Self.issue, receipt: receipt) }
      #expect(closed.code == .entitlementExpired)
      #expect(
        closed.detail
          == "\(Self.issue): The publication closes its issues when a subscription ends: it ended on \(end).")
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
      // The price of having it for good.
      let shown: ProductsResponse = try await server.api.get(
        "/v1/products", query: [("id", "com.example.issue1"), ("territory", "FRA")])
      #expect(shown.products.map(\.price?.amount) == ["2.99"])
      let bought = server.purchase(id: "2000000000000002")
      let paid = try server.store.receipt(of: [bought], device: server.device.id)
      #expect(try await server.fetch(try await server.grant(receipt: paid).value).body == package)
    }
  }
}
