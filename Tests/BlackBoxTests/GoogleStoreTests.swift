import Commerce
import CoreTypes
import PullboxAPI
import PullboxTesting
import ServiceAPI
import Testing

/// The built server as it would be set up for Google Play, against the sandbox store.
@Suite("A store of the kind google, from outside", .serialized, .timeLimit(.minutes(5)))
struct GoogleStoreTests {
  private static let product = "com.example.bought"
  private static let device = "device-of-the-reader"

  private func run(_ body: @Sendable (Stack, StoreTransaction, String) async throws -> Void) async throws {
    var options = Stack.Options(parts: [.store, .server])
    options.asksAsGoogle = true
    try await Stack.with(options) { stack in
      let file = try await Material.file("file.cbz", length: 300_000, in: stack.directory)
      try await stack.publish(file, as: Self.product)
      let transaction = try await stack.buy(Self.product, device: Self.device)
      try await body(stack, transaction, try await stack.purchaseToken(of: transaction))
    }
  }

  private func grant(_ token: String, in stack: Stack) async throws -> GrantResponse {
    let answer = try await stack.askForGrant(of: Self.product, purchaseToken: token, device: Self.device)
    guard answer.status == 201 else { throw Stack.Failure(description: answer.text) }
    return try answer.decoded()
  }

  private func fetch(_ grant: GrantResponse, in stack: Stack) async throws -> Answer {
    try await stack.server.get(
      grant.download.contentURL, headers: [("Authorization", "Bearer \(grant.download.ticket)")])
  }

  private func complete(_ grant: GrantResponse, in stack: Stack) async throws -> Answer {
    let report = CompletionReport(
      digest: grant.download.digest, version: grant.download.version, length: grant.download.length,
      placedAt: Timestamp(millisecondsSinceEpoch: 0), grant: grant.grant,
      device: DeviceIdentifier(Self.device))
    return try await stack.device(holding: grant).post("/v1/grants/\(grant.grant)/completion", report)
  }

  @Test("bought, granted, delivered and acknowledged; not acknowledged before the completion")
  func delivered() async throws {
    try await run { stack, transaction, token in
      let grant = try await grant(token, in: stack)
      #expect(try await fetch(grant, in: stack).body.count == 300_000)
      // Acknowledged, a transaction leaves the store's queue.
      #expect(try await stack.unfinishedTransactions().map(\.id) == [transaction.id])
      #expect(try await complete(grant, in: stack).status == 200)
      #expect(try await stack.unfinishedTransactions().isEmpty)
    }
  }

  @Test("a refund is pushed and ends the grant; the token is refused then, and a forged push changes nothing")
  func refunded() async throws {
    try await run { stack, transaction, token in
      let grant = try await grant(token, in: stack)
      for (path, body) in [("", "{}"), ("", #"{"message":{"data":"e30=","messageId":"1"}}"#)] {
        let forged = try await stack.server.send(
          "POST", "/v1/notifications/google\(path)", headers: [("Authorization", "Bearer a.b.c")],
          body: Array(body.utf8))
        #expect(forged.status == 403)
        #expect(forged.problem?.code == .receiptNotAuthentic)
      }
      #expect(try await fetch(grant, in: stack).status == 200)
      let refund = try await stack.store().send("POST", "/sandbox/v1/google/test-notification")
      #expect(refund.status == 204)
      await stack.kill(.server)
      // It is told again until the server is there to be told.
      let voided = try await stack.store().post("/sandbox/v1/transactions/\(transaction.id)/revoke")
      #expect(voided.status == 200, "\(voided.text)")
      try await stack.start(.server)
      try await eventually { await isRefused(grant, in: stack) }
      let again = try await stack.askForGrant(of: Self.product, purchaseToken: token, device: Self.device)
      #expect(again.problem?.code == .entitlementRevoked)
    }
  }

  private func setMonth(_ month: String, in stack: Stack) async throws {
    let time = try await stack.store().send(
      "PUT", "/sandbox/v1/time", headers: [("Content-Type", "application/json")],
      body: try APIJSON.encode(StoreTime(month: month, renewals: 1)))
    #expect(time.status == 200)
  }

  @Test(
    "a subscription that is bought again, and of which every issue is here, is acknowledged without a report, and stands"
  )
  func boughtAgain() async throws {
    var options = Stack.Options(parts: [.store, .server])
    options.asksAsGoogle = true
    try await Stack.with(options) { stack in
      let monthly = "com.example.monthly"
      let file = try await Material.file("file.cbz", length: 100_000, in: stack.directory)
      let magazine = ProductIdentifier("com.example.magazine")
      try await stack.describe(
        Self.product,
        ProductDescription(publication: magazine, publicationDate: SystemWallClock().now() - .seconds(60)))
      try await stack.release(file, as: Self.product)
      try await stack.describe(
        monthly,
        ProductDescription(
          type: .autoRenewableSubscription, publication: magazine, period: BillingPeriod("P1M"), onSale: true)
      )
      // Half a minute to be delivered, and no renewal.
      try await setMonth("5m", in: stack)
      let first = try await stack.buy(monthly, device: Self.device)
      let grant = try await grant(try await stack.purchaseToken(of: first), in: stack)
      #expect(try await fetch(grant, in: stack).status == 200)
      #expect(try await complete(grant, in: stack).status == 200)
      let subscription = try await stack.store().send(
        "POST", "/sandbox/v1/subscriptions/\(first.originalId)/expire")
      #expect((200..<300).contains(subscription.status), "\(subscription.text)")
      let second = try await stack.buy(monthly, device: Self.device)
      #expect(second.id != first.id)
      let token = try await stack.purchaseToken(of: second)
      let shown = try await stack.server.post(
        "/v1/entitlements",
        EntitlementsRequest(
          proof: Proof(store: "google", purchaseToken: token),
          device: Device(id: try #require(DeviceIdentifier(Self.device)))))
      #expect(shown.status == 200, "\(shown.text)")
      // Acknowledged, it leaves the queue; taken back it would as well, and be cancelled.
      try await eventually { try await stack.unfinishedTransactions().isEmpty }
      let all = try await stack.store().get("/store/v1/transactions").decoded(TransactionsResponse.self)
      let sold = try #require(all.transactions.first { $0.id == second.id })
      #expect(sold.state == .purchased && sold.finishedDate != nil && sold.revocationDate == nil, "\(sold)")
    }
  }

  /// A body that the grant's end breaks off is no refusal yet.
  private func isRefused(_ grant: GrantResponse, in stack: Stack) async -> Bool {
    (try? await fetch(grant, in: stack).status) == 403
  }

  @Test("what is not delivered in time is given back by the store, and the grant ends")
  func forgotten() async throws {
    try await run { stack, _, token in
      let grant = try await grant(token, in: stack)
      let time = try await stack.store().send(
        "PUT", "/sandbox/v1/time", headers: [("Content-Type", "application/json")],
        body: try APIJSON.encode(StoreTime(month: "20s", renewals: 6)))
      #expect(time.status == 200)
      // The next purchase has two seconds to be delivered.
      let next = try await stack.buy(Self.product, device: "another-device")
      let second = try await stack.purchaseToken(of: next)
      #expect(second == token)
      #expect(try await fetch(grant, in: stack).status == 200)
      try await eventually { await isRefused(grant, in: stack) }
    }
  }

  @Test("a store that is away is asked again; what it said before serves meanwhile")
  func away() async throws {
    try await run { stack, _, token in
      let grant = try await grant(token, in: stack)
      _ = try await fetch(grant, in: stack)
      await stack.kill(.store)
      let answer = try await complete(grant, in: stack)
      #expect(answer.status == 202, "\(answer.text)")
      try await stack.restart(.server)
      let served = try await stack.askForGrant(of: Self.product, purchaseToken: token, device: Self.device)
      #expect(served.status == 200, "\(served.text)")
      let unknown = try await stack.askForGrant(of: Self.product, purchaseToken: "new", device: Self.device)
      #expect(unknown.problem?.code == .verificationUndetermined)
      try await stack.start(.store)
      try await eventually { try await stack.unfinishedTransactions().isEmpty }
    }
  }
}
