import Commerce
import CoreTypes
import Crypto
import HTTPClient
import PullboxAPI
import PullboxAPIClient
import PullboxTesting
import Receipts
import ServiceAPI
import ServiceRuntime
import Synchronization
import Testing

@testable import ContentDelivery
@testable import ContentGrants
@testable import DeliveryService
@testable import PaymentStores

@Suite("Refunds of what is being sent, which nothing tells of", .timeLimit(.minutes(2)))
struct RefundPollTests {
  /// More than all buffers between the server and a slow reader hold together.
  private static let large = [UInt8](repeating: 7, count: 24 << 20)

  private func receipt(_ server: ServerHarness, cancelled: Timestamp? = nil) throws -> String {
    try server.store.receipt(of: [server.purchase(cancelled: cancelled)], device: server.device.id)
  }

  /// Lets the store say of every receipt from now on that it is refunded.
  private func refund(_ server: ServerHarness) throws {
    let refunded = try receipt(server, cancelled: server.clock.now())
    let answer = server.store.verify(VerifyReceiptRequest(receiptData: refunded, password: nil))
    server.store.state.withLock { $0.answer = answer }
  }

  private func remainder(_ reader: RawConnection) async -> Int {
    var count = 0
    while let bytes = try? await reader.receive(), !bytes.isEmpty { count += bytes.count }
    return count
  }

  @Test(
    "a poll ends the body of a purchase that was refunded, although its store's last word is still believed")
  func ended() async throws {
    try await ServerHarness.run { server in
      try await server.publish(Self.large)
      let proof = try receipt(server)
      let grant = try await server.grant(receipt: proof).value
      let reader = try await server.slowReader(of: grant)
      server.clock.advance(by: .seconds(1))
      try refund(server)
      // The store's word of a moment ago is believed by requests.
      #expect(try await server.grant(receipt: proof).value.grant == grant.grant)
      #expect(server.store.state.withLock { $0.questions } == 1)
      try await server.server.refundPoll.pass()
      #expect(server.store.state.withLock { $0.questions } == 2)
      #expect(await remainder(reader) < Self.large.count - 1000)
      #expect(try await server.fetch(grant).status == 403)
      let refused = try await server.problem { _ = try await server.grant(receipt: proof) }
      #expect(refused.code == .entitlementRevoked)
    }
  }

  @Test("where no body runs, no store is asked; a body of a purchase that holds goes on")
  func unasked() async throws {
    try await ServerHarness.run { server in
      try await server.publish(Self.large)
      let grant = try await server.grant(receipt: try receipt(server)).value
      try await server.server.refundPoll.pass()
      #expect(server.store.state.withLock { $0.questions } == 1)
      let reader = try await server.slowReader(of: grant)
      for count in 2...3 {
        try await server.server.refundPoll.pass()
        #expect(server.store.state.withLock { $0.questions } == count)
      }
      let rest = try await reader.receive(exactly: Self.large.count - 1000)
      #expect(rest.count == Self.large.count - 1000)
    }
  }

  @Test("several bodies on one proof are one question")
  func shared() async throws {
    try await ServerHarness.run { server in
      try await server.publish(Self.large)
      let grant = try await server.grant(receipt: try receipt(server)).value
      let readers = [try await server.slowReader(of: grant), try await server.slowReader(of: grant)]
      try await server.server.refundPoll.pass()
      #expect(server.store.state.withLock { $0.questions } == 2)
      #expect(readers.count == 2)
    }
  }

  @Test("a store that is away, or refuses the proof itself, ends no body; the next poll asks again")
  func away() async throws {
    try await ServerHarness.run { server in
      try await server.publish(Self.large)
      let grant = try await server.grant(receipt: try receipt(server)).value
      let reader = try await server.slowReader(of: grant)
      server.store.state.withLock { $0.isDown = true }
      try await server.server.refundPoll.pass()
      server.store.state.withLock { state in
        state.isDown = false
        state.answer = VerifyReceiptResponse(status: .notAuthentic)
      }
      try await server.server.refundPoll.pass()
      #expect(try await server.fetch(grant, headers: [("Range", "bytes=0-9")]).status == 206)
      server.clock.advance(by: .seconds(1))
      try refund(server)
      try await server.server.refundPoll.pass()
      #expect(await remainder(reader) < Self.large.count - 1000)
    }
  }

  /// A grant on an app receipt of a store of the kind apple, with a key to its interface, and a reader in the middle of its body.
  private func withAppReceipt(
    _ body: (ServerHarness, FakeAppleStore, GrantResponse, RawConnection) async throws -> Void
  ) async throws {
    let apple = try FakeAppleStore()
    try await ServerHarness.run(options: apple.option(api: true)) { server in
      try await server.awaitFirstReading()
      try await server.publish(Self.large)
      apple.state.withLock { $0.verifyReceipt = { server.store.verify($0) } }
      let request = GrantRequest(
        proof: Proof(store: "apple", receipt: try receipt(server)),
        product: try #require(ProductIdentifier("com.example.issue1")), device: server.device)
      let grant = try await server.api.call("POST", "/v1/grants", body: request, as: GrantResponse.self).value
      let reader = try await server.slowReader(of: grant)
      let bought = apple.transaction("2000000000000001")
      apple.state.withLock { ($0.calls, $0.history["2000000000000001"]) = ([], [bought]) }
      try await server.server.refundPoll.pass()
      #expect(
        apple.state.withLock { $0.calls.filter { $0.hasPrefix("GET") } } == [
          "GET /inApps/v1/transactions/2000000000000001"
        ],
        "the receipt would tell what it told before")
      #expect(try await server.fetch(grant, headers: [("Range", "bytes=0-9")]).status == 206)
      server.clock.advance(by: .seconds(1))
      apple.clock.advance(by: .seconds(1))
      var refunded = apple.refund(bought, at: apple.clock.now())
      refunded.signedDate = SignedDate(apple.clock.now())
      let known = refunded
      apple.state.withLock { $0.history["2000000000000001"] = [known] }
      try await body(server, apple, grant, reader)
    }
    await apple.stop()
  }

  @Test(
    "of an app receipt the store is asked about the transaction itself: a refund of a single issue ends its body"
  )
  func appReceipt() async throws {
    try await withAppReceipt { server, apple, grant, reader in
      try await server.server.refundPoll.pass()
      #expect(await remainder(reader) < Self.large.count - 1000)
      #expect(try await server.fetch(grant).status == 403)
      #expect(apple.state.withLock { $0.calls.filter { $0.hasPrefix("GET") } }.count == 2)
    }
  }

  @Test(
    "in a publication that closes its issues, a refund of the running period ends the body of what an earlier one paid for"
  )
  func runningPeriod() async throws {
    let apple = try FakeAppleStore()
    try await ServerHarness.run(options: apple.option(api: true)) { server in
      let (issue, plan) = ("com.example.heroes.1", "com.example.heroes.plan")
      let magazine = try #require(ProductIdentifier("com.example.heroes"))
      try await server.publish(
        Self.large, as: issue,
        description: ProductDescription(
          publication: magazine, publicationDate: server.clock.now() - .seconds(60)))
      _ = try await server.operatorAPI.call(
        "PUT", "/v1/operator/products/\(plan)",
        body: ProductDescription(
          type: .autoRenewableSubscription, publication: magazine, period: BillingPeriod("P1M"), onSale: true),
        as: OperatorProduct.self)
      _ = try await server.operatorAPI.call(
        "PUT", "/v1/operator/publications/com.example.heroes",
        body: PublicationDescription(policy: SubscriptionPolicy(keepsIssuesAfterLapse: false)),
        as: OperatorPublication.self)
      apple.state.withLock { $0.verifyReceipt = { server.store.verify($0) } }
      let first = server.purchase(of: plan, id: "1", expires: server.clock.now() + .seconds(600))
      var second = server.purchase(of: plan, id: "2", expires: server.clock.now() + .seconds(86_400))
      second.originalTransactionIdentifier = "1"
      second.purchaseDate = server.clock.now() + .seconds(600)
      server.clock.advance(by: .seconds(601))
      apple.clock.advance(by: .seconds(601))
      let request = GrantRequest(
        proof: Proof(
          store: "apple", receipt: try server.store.receipt(of: [first, second], device: server.device.id)),
        product: try #require(ProductIdentifier(issue)), device: server.device)
      let grant = try await server.api.call("POST", "/v1/grants", body: request, as: GrantResponse.self).value
      #expect(grant.transaction.description == "1")
      let reader = try await server.slowReader(of: grant)
      func signed(_ id: String, _ purchase: InAppPurchase) -> SignedTransaction {
        var transaction = apple.transaction(id, original: "1", product: plan)
        transaction.type = "Auto-Renewable Subscription"
        transaction.purchaseDate = SignedDate(purchase.purchaseDate)
        transaction.expiresDate = purchase.expiresDate.map { SignedDate($0) }
        return transaction
      }
      let (early, late) = (signed("1", first), signed("2", second))
      apple.state.withLock { ($0.history["1"], $0.history["2"], $0.calls) = ([early], [late], []) }
      try await server.server.refundPoll.pass()
      #expect(
        Set(apple.state.withLock { $0.calls.filter { $0.hasPrefix("GET") } }) == [
          "GET /inApps/v1/transactions/1", "GET /inApps/v1/transactions/2",
        ])
      #expect(try await server.fetch(grant, headers: [("Range", "bytes=0-9")]).status == 206)
      server.clock.advance(by: .seconds(1))
      apple.clock.advance(by: .seconds(1))
      var refunded = apple.refund(late, at: apple.clock.now())
      refunded.signedDate = SignedDate(apple.clock.now())
      let known = refunded
      apple.state.withLock { $0.history["2"] = [known] }
      try await server.server.refundPoll.pass()
      #expect(await remainder(reader) < Self.large.count - 1000)
      #expect(try await server.fetch(grant).status == 403)
    }
    await apple.stop()
  }

  @Test("so is one of which no proof is known: granted before this server began")
  func unknownProof() async throws {
    try await withAppReceipt { server, apple, grant, reader in
      let poll = server.server.refundPoll
      var grants = poll.grants
      grants.recentProofs = RecentProofs()
      try await RefundPoll(
        grants: grants, meters: poll.meters, refunds: poll.refunds, interval: poll.interval, log: poll.log
      ).pass()
      #expect(await remainder(reader) < Self.large.count - 1000)
      #expect(try await server.fetch(grant).status == 403)
    }
  }

  @Test("a store that does not answer about a transaction, or does not know it, ends no body")
  func unknownTransaction() async throws {
    try await withAppReceipt { server, apple, grant, reader in
      apple.state.withLock { state in
        state.failures = [(404, #"{"errorCode":4040010,"errorMessage":"x"}"#, nil)]
      }
      try await server.server.refundPoll.pass()
      apple.state.withLock { state in
        state.failures = Array(repeating: (503, "away", "60"), count: 3)
      }
      try await server.server.refundPoll.pass()
      let answer = try await server.fetch(grant, headers: [("Range", "bytes=0-9")])
      #expect(answer.status == 206, "\(String(decoding: answer.body.prefix(300), as: UTF8.self))")
      apple.state.withLock { $0.failures = [] }
      try await server.server.refundPoll.pass()
      #expect(await remainder(reader) < Self.large.count - 1000)
    }
  }

  @Test("of a store of the kind google the list of refunds is read as well")
  func googleList() async throws {
    let google = try FakeGoogleStore()
    google.sell(token: "token-1", order: "GPA.1")
    try await ServerHarness.run(options: google.option()) { server in
      try await server.publish(Self.large)
      let request = GrantRequest(
        proof: Proof(store: "google", purchaseToken: "token-1"),
        product: try #require(ProductIdentifier("com.example.issue1")), device: server.device)
      let grant = try await server.api.call("POST", "/v1/grants", body: request, as: GrantResponse.self).value
      let reader = try await server.slowReader(of: grant)
      google.state.withLock { $0.voided = [("token-1", "GPA.1", ServerHarness.start)] }
      try await server.server.refundPoll.pass()
      #expect(await remainder(reader) < Self.large.count - 1000)
      #expect(try await server.fetch(grant).status == 403)
    }
    await google.stop()
  }

  @Test("a proof is kept until the content is placed, and no longer")
  func placed() async throws {
    try await ServerHarness.run { server in
      try await server.publish([1, 2, 3])
      let proofs = server.server.components.grants.recentProofs
      let grant = try await server.grantForPurchase()
      #expect(proofs.length > .zero)
      _ = try await server.fetch(grant)
      _ = try await server.complete(grant)
      #expect(proofs.length == .zero)
    }
  }

  @Test("how often is asked is from a second to an hour", arguments: ["0s", "999ms", "3601s", "2h"])
  func interval(_ text: String) throws {
    let parser = ArgumentParser(DeliveryConfiguration.command, environment: [:])
    guard
      case .run(let parsed) = try parser.parse(["--store-credential", "secret", "--refund-poll", text])
    else { throw UsageError("help") }
    let configuration = try ConfigurationLoader.load(DeliveryConfiguration.self, arguments: parsed)
    let error = #expect(throws: ConfigurationError.self) { try configuration.refundPollInterval() }
    #expect(error?.subject == "refundPoll")
  }
}
