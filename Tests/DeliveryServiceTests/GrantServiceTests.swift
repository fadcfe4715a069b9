import Commerce
import CoreTypes
import Crypto
import HTTPClient
import PullboxAPI
import PullboxAPIClient
import PullboxTesting
import Receipts
import ServiceAPI
import Synchronization
import Testing

@testable import DeliveryService

@Suite("Receipt to grant to finished transaction")
struct GrantServiceTests {
  private static let package = (0..<300_000).map { UInt8(truncatingIfNeeded: $0 &* 31 >> 3) }
  let package = Self.package

  @Test("a purchase becomes a grant, bytes, a completion and a finished transaction")
  func chain() async throws {
    try await ServerHarness.run { server in
      try await server.publish(package)
      let receipt = try server.store.receipt(of: [server.purchase()], device: server.device.id)
      let answer = try await server.grant(receipt: receipt)
      #expect(answer.status == 201)
      let grant = answer.value
      #expect(grant.download.digest == SHA256Digest.of(package))
      let response = try await server.fetch(grant)
      #expect(response.status == 200)
      #expect(response.body == package)
      let completion = try await server.complete(grant)
      #expect(completion.status == 200)
      #expect(completion.value.state == .finished)
      #expect(server.store.state.withLock { $0.finished } == ["2000000000000001"])
      let status = try await server.status(grant)
      #expect(status.history.map(\.state) == [.granted, .completed, .finished])
      #expect(status.bytesDelivered == ByteCount(package.count))
    }
  }

  @Test("the same proof, product and device again is the same grant, however often")
  func sameGrant() async throws {
    try await ServerHarness.run { server in
      try await server.publish(package)
      let receipt = try server.store.receipt(of: [server.purchase()], device: server.device.id)
      let first = try await server.grant(receipt: receipt)
      for _ in 0..<3 {
        let again = try await server.grant(receipt: receipt)
        #expect(again.status == 200)
        #expect(again.value.grant == first.value.grant)
      }
    }
  }

  @Test("without a purchase there is no grant: 402")
  func noPurchase() async throws {
    try await ServerHarness.run { server in
      try await server.publish(package)
      let receipt = try server.store.receipt(of: [], device: server.device.id)
      let problem = try await server.problem { _ = try await server.grant(receipt: receipt) }
      #expect(problem.code == .purchaseRequired)
    }
  }

  @Test("a refunded purchase opens nothing")
  func refunded() async throws {
    try await ServerHarness.run { server in
      try await server.publish(package)
      let receipt = try server.store.receipt(
        of: [server.purchase(cancelled: server.clock.now())], device: server.device.id)
      let problem = try await server.problem { _ = try await server.grant(receipt: receipt) }
      #expect(problem.code == .entitlementRevoked)
    }
  }

  @Test("a receipt of another application, device or environment is refused by name")
  func foreignReceipts() async throws {
    try await ServerHarness.run { server in
      try await server.publish(package)
      let purchase = server.purchase()
      let other = try #require(DeviceIdentifier("another-device"))
      let cases: [(String, ProblemCode)] = [
        (
          try server.store.receipt(of: [purchase], device: server.device.id, bundle: "com.example.other"),
          .receiptWrongApplication
        ),
        (try server.store.receipt(of: [purchase], device: other), .receiptNotAuthentic),
        (
          try server.store.receipt(of: [purchase], device: server.device.id, environment: "Production"),
          .receiptWrongEnvironment
        ),
      ]
      for (receipt, code) in cases {
        let problem = try await server.problem { _ = try await server.grant(receipt: receipt) }
        #expect(problem.code == code)
      }
    }
  }

  @Test("an empty receipt, noise and what is no base 64 are malformed, and the store is not asked")
  func malformedReceipts() async throws {
    try await ServerHarness.run { server in
      try await server.publish(package)
      var generator = SystemRandomNumberGenerator()
      let noise = (0..<1 << 20).map { _ in UInt8.random(in: 0...255, using: &generator) }
      for receipt in ["", "AAAA", "no base 64 at all", Base64.encode(noise)] {
        let problem = try await server.problem { _ = try await server.grant(receipt: receipt) }
        #expect(problem.code == .receiptMalformed)
      }
      #expect(server.store.state.withLock { $0.verifications } == 0)
    }
  }

  @Test("a receipt with one byte flipped, wherever, never opens anything and never breaks the server")
  func flippedReceipts() async throws {
    try await ServerHarness.run { server in
      try await server.publish(package)
      let genuine = try #require(
        Base64.decode(try server.store.receipt(of: [server.purchase()], device: server.device.id)))
      for position in stride(from: 0, to: genuine.count, by: 97) {
        var flipped = genuine
        flipped[position] ^= 0x10
        let problem = try await server.problem {
          _ = try await server.grant(receipt: Base64.encode(flipped))
        }
        let expected: Set<ProblemCode> = [
          .receiptMalformed, .receiptNotAuthentic, .receiptWrongApplication, .receiptWrongEnvironment,
        ]
        #expect(problem.code.map(expected.contains) == true, "byte \(position): \(problem)")
      }
    }
  }

  @Test("while the store is down a grant is undetermined, not refused, and says when to come again")
  func storeDown() async throws {
    try await ServerHarness.run { server in
      try await server.publish(package)
      let receipt = try server.store.receipt(of: [server.purchase()], device: server.device.id)
      server.store.state.withLock { $0.isDown = true }
      let problem = try await server.problem { _ = try await server.grant(receipt: receipt) }
      #expect(problem.code == .verificationUndetermined)
      // Chance adds up to half.
      #expect((7...10).contains(problem.retryAfterSeconds ?? 0))
      server.store.state.withLock { $0.isDown = false }
      #expect(try await server.grant(receipt: receipt).status == 201)
    }
  }

  @Test(
    "however long a store says to wait, clients are told 1 s to 15 minutes and chance's part, and the server goes on",
    arguments: [(Int.max, 900), (1_795_250_000_000, 900), (0, 1), (Int.min, 1)])
  func absurdRetryAfter(said: Int, handedOn: Int) async throws {
    try await ServerHarness.run { server in
      try await server.publish(package)
      let receipt = try server.store.receipt(of: [server.purchase()], device: server.device.id)
      server.store.state.withLock {
        $0.isDown = true
        $0.retryAfterSeconds = said
      }
      let problem = try await server.problem { _ = try await server.grant(receipt: receipt) }
      #expect(problem.code == .verificationUndetermined)
      #expect((handedOn...handedOn + max(1, handedOn / 2)).contains(problem.retryAfterSeconds ?? 0))
      server.store.state.withLock { $0.isDown = false }
      #expect(try await server.grant(receipt: receipt).status == 201)
    }
  }

  @Test("a completion before the bytes were sent lacks the delivery, and the transaction stays unfinished")
  func completionWithoutBytes() async throws {
    try await ServerHarness.run { server in
      try await server.publish(package)
      let grant = try await server.grantForPurchase()
      let problem = try await server.problem { _ = try await server.complete(grant) }
      #expect(problem.code == .completionMismatch)
      #expect(problem.missingStep == "delivery")
      #expect(server.store.state.withLock { $0.finished }.isEmpty)
      #expect(try await server.status(grant).state == .granted)
    }
  }

  @Test("a completion that names another digest, version or device is refused, and changes nothing")
  func wrongCompletions() async throws {
    try await ServerHarness.run { server in
      try await server.publish(package)
      let grant = try await server.grantForPurchase()
      _ = try await server.fetch(grant)
      var digest = server.report(grant)
      digest.digest = SHA256Digest.of([])
      var version = server.report(grant)
      version.version = try #require(ContentVersion("9"))
      var device = server.report(grant)
      device.device = DeviceIdentifier("another-device")
      for (report, step) in [(digest, "digest"), (version, "version"), (device, "device")] {
        let problem = try await server.problem { _ = try await server.complete(grant, report) }
        #expect(problem.code == .completionMismatch)
        #expect(problem.missingStep == step)
      }
      #expect(server.store.state.withLock { $0.finished }.isEmpty)
      #expect(try await server.complete(grant).value.state == .finished)
    }
  }

  @Test("a device that gave a key completes with its signature only")
  func signedCompletion() async throws {
    try await ServerHarness.run { server in
      try await server.publish(package)
      let key = SigningKey()
      let device = Device(id: server.device.id, publicKey: key.verificationKey)
      let grant = try await server.grantForPurchase(device: device)
      _ = try await server.fetch(grant)
      let plain = try await server.problem { _ = try await server.complete(grant) }
      #expect(plain.missingStep == "device-signature")
      func send(_ key: SigningKey) async throws -> CompletionResponse {
        let token = try JSONWebSignature(signing: APIJSON.encode(server.report(grant)), with: key)
        return try await server.api.call(
          "POST", "/v1/grants/\(grant.grant)/completion", bytes: Array(token.text.utf8),
          mediaType: "application/jose", as: CompletionResponse.self
        ).value
      }
      let forged = try await server.problem { _ = try await send(SigningKey()) }
      #expect(forged.missingStep == "device-signature")
      #expect(try await send(key).state == .finished)
    }
  }

  @Test("a completion while the store is down is accepted, and finished by the outbox when it is back")
  func outbox() async throws {
    try await ServerHarness.run { server in
      try await server.publish(package)
      let grant = try await server.grantForPurchase()
      _ = try await server.fetch(grant)
      server.store.state.withLock { $0.isDown = true }
      let answer = try await server.complete(grant)
      #expect(answer.status == 202)
      #expect(answer.value.state == .completed)
      server.store.state.withLock { $0.isDown = false }
      server.clock.advance(by: .seconds(60))
      // The same report again makes the call at once; the worker may make it too, in its own time: finishing is
      // idempotent at the store.
      #expect(try await server.complete(grant).value.state == .finished)
      #expect(Set(server.store.state.withLock { $0.finished }) == ["2000000000000001"])
    }
  }

  @Test("a subscription's transaction is finished when every issue it pays for is complete")
  func subscription() async throws {
    try await ServerHarness.run { server in
      let now = server.clock.now()
      let magazine = ProductIdentifier("com.example.magazine")
      func issue(_ published: Timestamp) -> ProductDescription {
        ProductDescription(publication: magazine, publicationDate: published)
      }
      try await server.publish(
        package, as: "com.example.old", description: issue(now - .seconds(60 * 86_400)))
      try await server.publish(
        package + [1], as: "com.example.latest", description: issue(now - .seconds(86_400)))
      try await server.publish(
        package + [2], as: "com.example.during", description: issue(now + .seconds(86_400)))
      _ = try await server.operatorAPI.call(
        "PUT", "/v1/operator/products/com.example.monthly",
        body: ProductDescription(
          type: .autoRenewableSubscription, publication: magazine, period: BillingPeriod("P1M")),
        as: OperatorProduct.self)
      let purchase = server.purchase(of: "com.example.monthly", expires: now + .seconds(30 * 86_400))
      server.clock.advance(by: .seconds(2 * 86_400))
      let receipt = try server.store.receipt(of: [purchase], device: server.device.id)
      let plan = try await server.api.call(
        "POST", "/v1/entitlements",
        body: EntitlementsRequest(proof: Proof(receipt: receipt), device: server.device),
        as: EntitlementsResponse.self
      ).value
      #expect(plan.products.map(\.product.description) == ["com.example.during", "com.example.latest"])
      #expect(plan.products.map(\.because) == ["published-during-subscription", "unlocked-at-start"])

      let first = try await server.grant("com.example.latest", receipt: receipt).value
      _ = try await server.fetch(first)
      let waiting = try await server.complete(first)
      #expect(waiting.status == 202)
      #expect(waiting.value.remaining?.map(\.description) == ["com.example.during"])
      #expect(try await server.status(first).remaining?.map(\.description) == ["com.example.during"])
      #expect(server.store.state.withLock { $0.finished }.isEmpty)

      let second = try await server.grant("com.example.during", receipt: receipt).value
      _ = try await server.fetch(second)
      #expect(try await server.complete(second).value.state == .finished)
      #expect(try await server.status(first).state == .finished)
      #expect(try await server.status(first).remaining == nil)
      let refused = try await server.problem {
        _ = try await server.grant("com.example.old", receipt: receipt)
      }
      #expect(refused.code == .purchaseRequired)
    }
  }

  @Test("a ticket is renewed without a receipt, for a grant that exists")
  func renewal() async throws {
    try await ServerHarness.run { server in
      try await server.publish(package)
      let grant = try await server.grantForPurchase()
      server.clock.advance(by: .seconds(3600))
      let expired = try await server.fetch(grant)
      #expect(expired.status == 403)
      #expect(try APIJSON.decode(Problem.self, from: expired.body).code == .ticketExpired)
      let renewed = try await server.renew(grant)
      #expect(try await server.fetch(grant, ticket: renewed.ticket).body == package)
      let unknown = try await server.problem {
        _ = try await server.api.call(
          "POST", "/v1/grants/00000000000000000000000000000000/tickets", bytes: nil, mediaType: "",
          as: TicketResponse.self)
      }
      #expect(unknown.code == .grantUnknown)
    }
  }
}
