import Commerce
import CoreTypes
import Database
import DeliveryModel
import Foundation
import HTTPClient
import PullboxAPI
import PullboxAPIClient
import PullboxTesting
import ServiceAPI
import Synchronization
import Testing

@testable import ContentGrants
@testable import DeliveryRecords
@testable import DeliveryService
@testable import Receipts

@Suite("A store that asks what was delivered", .timeLimit(.minutes(2)))
struct ConsumptionTests {
  private let package = (0..<3000).map { UInt8(truncatingIfNeeded: $0 &* 31 >> 3) }
  private let apple: FakeAppleStore

  init() throws {
    apple = try FakeAppleStore()
  }

  private func run(
    api: Bool = true, timer: ManualMonotonicClock = ManualMonotonicClock(),
    _ body: (ServerHarness) async throws -> Void
  ) async throws {
    let transaction = apple.transaction()
    apple.state.withLock { $0.history["2000000000000001"] = [transaction] }
    try await ServerHarness.run(options: apple.option(api: api), timer: timer) { server in
      try await server.publish(package)
      try await body(server)
    }
    await apple.stop()
  }

  private func grant(_ server: ServerHarness, consent: Bool?) async throws -> GrantResponse {
    let request = GrantRequest(
      proof: Proof(store: "apple", signedTransaction: try apple.sign(apple.transaction())),
      product: try #require(ProductIdentifier("com.example.issue1")), device: server.device,
      consent: consent.map { Consent(consumption: $0) })
    return try await server.api.call("POST", "/v1/grants", body: request, as: GrantResponse.self).value
  }

  private func request(_ server: ServerHarness, late: Duration = .zero) async throws {
    let payload = try apple.notification(
      "CONSUMPTION_REQUEST", apple.transaction(), at: apple.clock.now())
    apple.clock.advance(by: late)
    server.clock.advance(by: late)
    _ = try await server.api.call(
      "POST", "/v1/notifications/apple", body: StoreNotification(signedPayload: payload),
      as: NotificationReceipt.self)
  }

  /// The reports that the store was told, once it was told so many.
  private func told(_ count: Int = 1) async -> [JSONConsumption] {
    while apple.state.withLock({ $0.consumption.count }) < count { await Task.yield() }
    return apple.state.withLock { $0.consumption }
  }

  private func calls(_ server: ServerHarness) async throws -> Int { try await outbox(server).count }

  private func outbox(_ server: ServerHarness) async throws -> [OutboxCall] {
    // Not by the interface, which bounds how often it is asked.
    try await server.server.grants.outbox.page(
      after: nil, matching: OutboxTable.Filter(kind: OutboxEntry.Kind.consumption.rawValue), limit: 10
    ).items
  }

  @Test("with the customer's consent it is told what was sent, and again what it is when it asks again")
  func consented() async throws {
    try await run { server in
      let grant = try await grant(server, consent: true)
      try await request(server)
      #expect(
        await told() == [JSONConsumption(deliveryStatus: "UNDELIVERED_OTHER", consumptionPercentage: 0)])
      #expect(try await server.fetch(grant, headers: [("Range", "bytes=0-1499")]).status == 206)
      try await request(server)
      #expect(
        await told(2).last
          == JSONConsumption(deliveryStatus: "UNDELIVERED_OTHER", consumptionPercentage: 50_000))
      #expect(try await server.fetch(grant, headers: [("Range", "bytes=1500-")]).status == 206)
      _ = try await server.complete(grant)
      try await request(server)
      #expect(
        await told(3).last == JSONConsumption(deliveryStatus: "DELIVERED", consumptionPercentage: 100_000))
      #expect(try await calls(server) == 1)
    }
  }

  @Test("without consent, and after it is taken back, it is told nothing", arguments: [nil, false, true])
  func refused(consent: Bool?) async throws {
    try await run { server in
      _ = try await grant(server, consent: consent)
      if consent == true { _ = try await grant(server, consent: false) }
      // A request that does not speak of it leaves it as it is.
      _ = try await grant(server, consent: nil)
      try await request(server)
      #expect(try await calls(server) == 0)
    }
  }

  @Test("a question that is older than 12 hours is not answered, nor one of a store without a key")
  func late() async throws {
    try await run { server in
      _ = try await grant(server, consent: true)
      try await request(server, late: .seconds(12 * 3600))
      #expect(try await calls(server) == 0)
    }
  }

  @Test("an answer that the store has not taken within 12 hours of its question is dropped by name")
  func overdue() async throws {
    let timer = ManualMonotonicClock()
    try await run(timer: timer) { server in
      _ = try await grant(server, consent: true)
      // The server reads the history of notifications by itself when it starts.
      let failure = (status: 429, body: "", retryAfter: "40" as String?)
      apple.state.withLock { $0.failures = [failure, failure, failure] }
      try await request(server)
      while try await outbox(server).first?.lastError == nil { await Task.yield() }
      apple.state.withLock { $0.failures = [] }
      apple.clock.advance(by: .seconds(12 * 3600))
      server.clock.advance(by: .seconds(12 * 3600))
      var call = try #require(try await outbox(server).first)
      while call.state == .waiting {
        timer.advance(by: .seconds(1))
        call = try #require(try await outbox(server).first)
      }
      try #require(call.state == .dropped)
      #expect(apple.state.withLock { $0.consumption } == [])
      let entries = try await server.audit([("action", "outbox.expire")])
      #expect(entries.map(\.actor) == ["server"])
      #expect(entries.first?.subject == "\(call.id) apple consumption 2000000000000001")
      let page = try await server.api.exchange("GET", "/metrics")
      let samples = try PrometheusPage(String(decoding: page.body, as: UTF8.self)).samples
      #expect(samples["pullbox_outbox_expired_total"] == 1)
      // An operator who asks for it again hears the same, and a new question is answered.
      _ = try await server.operatorAPI.call(
        "POST", "/v1/operator/outbox/\(call.id)/retry", body: EmptyBody?.none, as: OutboxCall.self)
      while try await outbox(server).first?.state != .dropped { await Task.yield() }
      #expect(try await server.audit([("action", "outbox.expire")]).count == 2)
      try await request(server)
      #expect(await told().count == 1)
    }
  }

  @Test("without a key to the store's interface there is nobody to tell")
  func keyless() async throws {
    try await run(api: false) { server in
      _ = try await grant(server, consent: true)
      try await request(server)
      #expect(try await calls(server) == 0)
    }
  }
}

/// The body of `PUT /inApps/v2/transactions/consumption/{id}`.
struct JSONConsumption: Codable, Hashable, Sendable {
  var customerConsented = true
  var sampleContentProvided = false
  var deliveryStatus: String
  var consumptionPercentage: Int
}
