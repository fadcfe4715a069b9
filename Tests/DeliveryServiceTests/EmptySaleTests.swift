import Commerce
import CoreTypes
import HTTPClient
import PullboxAPI
import PullboxAPIClient
import PullboxTesting
import Receipts
import ServiceAPI
import Synchronization
import Testing

@testable import DeliveryService

@Suite("Sales that leave nothing to deliver, at stores that are told of the end", .timeLimit(.minutes(1)))
struct EmptySaleTests {
  private static let first = "2000000000000001"
  private static let renewal = "2000000000000002"
  private static let month = Duration.seconds(30 * 86_400)

  /// Two periods of a month, of which the first one opens the issue that was the latest at its beginning.
  private func subscribe(_ server: ServerHarness) async throws -> [InAppPurchase] {
    let magazine = ProductIdentifier("com.example.magazine")
    let start = server.clock.now().wholeSecond
    try await server.publish(
      Array("an issue".utf8), as: "com.example.latest",
      description: ProductDescription(publication: magazine, publicationDate: start - .seconds(86_400)))
    _ = try await server.operatorAPI.call(
      "PUT", "/v1/operator/products/com.example.monthly",
      body: ProductDescription(
        type: .autoRenewableSubscription, publication: magazine, period: BillingPeriod("P1M")),
      as: OperatorProduct.self)
    var renewal = server.purchase(
      of: "com.example.monthly", id: Self.renewal, expires: start + Self.month * 2)
    renewal.purchaseDate = start + Self.month
    return [
      server.purchase(of: "com.example.monthly", id: Self.first, expires: start + Self.month), renewal,
    ]
  }

  private func ask(
    _ server: ServerHarness, _ purchases: [InAppPurchase], waiting: [String]?, on device: Device? = nil
  ) async throws -> EntitlementsResponse {
    let device = device ?? server.device
    let receipt = try server.store.receipt(of: purchases, device: device.id)
    return try await server.api.call(
      "POST", "/v1/entitlements",
      body: EntitlementsRequest(
        proof: Proof(store: "sandbox", receipt: receipt), device: device,
        waiting: waiting.map { $0.compactMap { TransactionIdentifier($0) } }),
      as: EntitlementsResponse.self
    ).value
  }

  @Test(
    "one that opened nothing new is finished at the store at once, and one whose issue is not here is not")
  func finished() async throws {
    try await ServerHarness.run { server in
      let purchases = try await subscribe(server)
      let both = [Self.first, Self.renewal]
      server.clock.advance(by: Self.month + .seconds(86_400))
      #expect(try await ask(server, purchases, waiting: nil).settled == nil, "nothing waits")
      #expect(try await server.outboxDepth() == 0)
      let answer = try await ask(server, purchases, waiting: both)
      #expect(answer.settled?.map(\.description) == [Self.renewal])
      let paying = answer.products.filter { $0.product.description == "com.example.latest" }
      #expect(paying.map(\.transaction.description) == [Self.first])
      await server.store.waitForFinished()
      server.clock.advance(by: Self.month)
      #expect(try await ask(server, purchases, waiting: both).settled?.map(\.description) == [Self.renewal])
      #expect(server.store.state.withLock { $0.finished } == [Self.renewal], "the store is told once")
    }
  }

  @Test(
    "a renewal whose latest issue the device has from before is finished, and for another device it is not")
  func deliveredBefore() async throws {
    try await ServerHarness.run { server in
      var purchases = try await subscribe(server)
      // A lapse lies between: both runs open the issue.
      purchases[1].purchaseDate = purchases[1].purchaseDate + .seconds(86_400)
      let receipt = try server.store.receipt(of: [purchases[0]], device: server.device.id)
      try await server.deliver(
        try await server.grant("com.example.latest", receipt: receipt).value, to: server.device)
      await server.store.waitForFinished()
      server.clock.advance(by: Self.month + .seconds(86_400 * 2))
      #expect(try await ask(server, purchases, waiting: [Self.renewal], on: ServerHarness.late).settled == [])
      #expect(
        try await ask(server, purchases, waiting: [Self.renewal]).settled?.map(\.description) == [
          Self.renewal
        ])
    }
  }

  @Test("a period whose date the server's clock has not come to is left alone until then")
  func ahead() async throws {
    try await ServerHarness.run { server in
      let purchases = try await subscribe(server)
      #expect(try await ask(server, purchases, waiting: [Self.renewal]).settled == [])
      server.clock.advance(by: Self.month + .seconds(86_400))
      #expect(
        try await ask(server, purchases, waiting: [Self.renewal]).settled?.map(\.description) == [
          Self.renewal
        ])
    }
  }

  @Test("what was withdrawn before it was delivered is owed no more, and what it leaves is finished")
  func withdrawn() async throws {
    try await ServerHarness.run { server in
      let purchases = try await subscribe(server)
      #expect(try await ask(server, purchases, waiting: [Self.first]).settled == [])
      try await server.step("withdraw", "1.0", of: "com.example.latest", ReasonBody(reason: "a fault"))
      #expect(
        try await ask(server, purchases, waiting: [Self.first]).settled?.map(\.description) == [Self.first])
    }
  }

  @Test("a number that a transaction of another store has as well is left alone")
  func sameNumber() async throws {
    let apple = try FakeAppleStore()
    try await ServerHarness.run(options: apple.option()) { server in
      let purchases = try await subscribe(server)
      server.clock.advance(by: Self.month * 3)
      // The word of the certificates' issuer is of that day as well.
      apple.clock.advance(by: Self.month * 3)
      let receipt = try server.store.receipt(of: purchases, device: server.device.id)
      let signed = try apple.sign(apple.transaction(Self.renewal, product: "com.example.latest"))
      let proofs = [
        Proof(store: "sandbox", receipt: receipt), Proof(store: "apple", signedTransaction: signed),
      ]
      for (count, settled) in [(2, []), (1, [Self.renewal])] {
        var request = EntitlementsRequest(
          proof: Proof(), device: server.device, waiting: [try #require(TransactionIdentifier(Self.renewal))])
        request.proofs = try #require(ProofList(Array(proofs.prefix(count))))
        let answer: EntitlementsResponse = try await server.api.call(
          "POST", "/v1/entitlements", body: request
        ).value
        #expect(answer.problems == nil)
        #expect(answer.settled?.map(\.description) == settled)
      }
    }
    await apple.stop()
  }

  @Test("an issue of its time that has no released version yet is owed, and keeps it open")
  func unreleased() async throws {
    try await ServerHarness.run { server in
      let purchases = try await subscribe(server)
      _ = try await server.operatorAPI.call(
        "PUT", "/v1/operator/products/com.example.late",
        body: ProductDescription(
          publication: ProductIdentifier("com.example.magazine"),
          publicationDate: server.clock.now() + Self.month + .seconds(86_400)),
        as: OperatorProduct.self)
      server.clock.advance(by: Self.month * 3)
      #expect(try await ask(server, purchases, waiting: [Self.renewal]).settled == [])
    }
  }

  @Test("what was taken back, or is no period, is left alone")
  func others() async throws {
    try await ServerHarness.run { server in
      var purchases = try await subscribe(server)
      purchases[1].cancellationDate = purchases[1].purchaseDate
      purchases.append(server.purchase(of: "com.example.coins", id: "2000000000000003"))
      server.clock.advance(by: Self.month * 3)
      let waiting = [Self.renewal, "2000000000000003", "2000000000000009"]
      #expect(try await ask(server, purchases, waiting: waiting).settled == [])
    }
  }
}

extension Timestamp {
  fileprivate var wholeSecond: Timestamp { Timestamp(millisecondsSinceEpoch: secondsSinceEpoch * 1000) }
}
