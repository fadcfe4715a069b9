import Commerce
import CoreTypes
import Database
import HTTPClient
import PullboxAPI
import PullboxAPIClient
import PullboxTesting
import Receipts
import Synchronization
import Testing

@testable import DeliveryService

@Suite("While a store is away, what it said before serves", .timeLimit(.minutes(2)))
struct StoreGraceTests {
  private func run(
    _ options: [String] = [], _ body: (ServerHarness, ManualMonotonicClock) async throws -> Void
  ) async throws {
    let timer = ManualMonotonicClock()
    try await ServerHarness.run(options: options, timer: timer) { server in
      try await server.publish([1, 2, 3])
      try await body(server, timer)
    }
  }

  /// What the store said is forgotten, and it is away.
  private func goAway(_ server: ServerHarness, _ timer: ManualMonotonicClock) {
    timer.advance(by: VerdictCache.lifetime)
    server.store.state.withLock { $0.isDown = true }
  }

  private func comeBack(_ server: ServerHarness, _ timer: ManualMonotonicClock) {
    server.store.state.withLock { $0.isDown = false }
    timer.advance(by: CircuitBreaker.longestPause)
  }

  private func operatorGrant(_ grant: GrantResponse, _ server: ServerHarness) async throws -> OperatorGrant {
    try await server.operatorAPI.get(
      "/v1/operator/grants/\(try server.shortName(of: grant))", as: OperatorGrant.self)
  }

  private func proofs(_ server: ServerHarness) async throws -> Int {
    try await server.server.grants.grantStore.database.read {
      try UnconfirmedTable.waiting(after: 0, limit: 10, in: $0).count
    }
  }

  @Test(
    "an owner goes on for 72 hours and is marked, also with a version that came meanwhile; then it is 503")
  func ownersGoOn() async throws {
    try await run { server, timer in
      let receipt = try server.store.receipt(of: [server.purchase()], device: server.device.id)
      let grant = try await server.grant(receipt: receipt).value
      #expect(try await operatorGrant(grant, server).unconfirmed == nil)
      goAway(server, timer)
      let again = try await server.grant(receipt: receipt).value
      #expect(again.grant == grant.grant)
      #expect(try await server.fetch(again).status == 200)
      #expect(try await operatorGrant(grant, server).unconfirmed == server.clock.now())
      try await server.approve([4, 5, 6], "1.1")
      try await server.release("1.1")
      let newer = try await server.grant(receipt: receipt).value
      #expect(newer.download.version == ContentVersion("1.1"))
      #expect(try await operatorGrant(newer, server).unconfirmed != nil)
      let owned = try await server.api.call(
        "POST", "/v1/entitlements",
        body: EntitlementsRequest(proof: Proof(store: "sandbox", receipt: receipt), device: server.device),
        as: EntitlementsResponse.self)
      #expect(owned.value.products.count == 1)
      #expect(try await proofs(server) == 1)
      server.clock.advance(by: .seconds(72 * 3600 + 1))
      let problem = try await server.problem { _ = try await server.grant(receipt: receipt) }
      #expect(problem.code == .verificationUndetermined)
    }
  }

  @Test("a proof that was never shown, and a known one of another device, are undetermined")
  func unknown() async throws {
    try await run { server, timer in
      let receipt = try server.store.receipt(of: [server.purchase()], device: server.device.id)
      _ = try await server.grant(receipt: receipt)
      goAway(server, timer)
      let other = try server.store.receipt(of: [server.purchase()], device: server.device.id)
      let thief = Device(id: try #require(DeviceIdentifier("another-device")))
      for (proof, device) in [(other, server.device), (receipt, thief)] {
        let problem = try await server.problem {
          _ = try await server.grant(receipt: proof, device: device)
        }
        #expect(problem.code == .verificationUndetermined)
        #expect(problem.status == 503)
      }
      #expect(try await proofs(server) == 0)
    }
  }

  @Test("what is known to be revoked stays so: 403")
  func revoked() async throws {
    try await run { server, timer in
      let receipt = try server.store.receipt(of: [server.purchase()], device: server.device.id)
      _ = try await server.grant(receipt: receipt)
      server.clock.advance(by: .seconds(5))
      let refunded = try server.store.receipt(
        of: [server.purchase(cancelled: server.clock.now())], device: server.device.id)
      _ = try? await server.grant(receipt: refunded)
      goAway(server, timer)
      let problem = try await server.problem { _ = try await server.grant(receipt: receipt) }
      #expect(problem.code == .entitlementRevoked)
      #expect(problem.status == 403)
    }
  }

  @Test("once the store is back every marked grant is confirmed, and nothing is kept of the proof")
  func confirmed() async throws {
    try await run { server, timer in
      let receipt = try server.store.receipt(of: [server.purchase()], device: server.device.id)
      let grant = try await server.grant(receipt: receipt).value
      goAway(server, timer)
      _ = try await server.grant(receipt: receipt)
      try await server.server.confirmation.pass()
      #expect(try await proofs(server) == 1)
      comeBack(server, timer)
      try await server.server.confirmation.pass()
      #expect(try await proofs(server) == 0)
      let status = try await operatorGrant(grant, server)
      #expect(status.unconfirmed == nil)
      #expect(status.state == .granted)
    }
  }

  @Test("a store that is back and refuses the proof takes its grants back, and serves it no more")
  func refused() async throws {
    try await run { server, timer in
      let receipt = try server.store.receipt(of: [server.purchase()], device: server.device.id)
      _ = try await server.grant(receipt: receipt)
      goAway(server, timer)
      let grant = try await server.grant(receipt: receipt).value
      server.store.state.withLock { $0.answer = VerifyReceiptResponse(status: .notAuthentic) }
      comeBack(server, timer)
      try await server.server.confirmation.pass()
      #expect(try await proofs(server) == 0)
      #expect(try await operatorGrant(grant, server).state == .revoked)
      goAway(server, timer)
      let problem = try await server.problem { _ = try await server.grant(receipt: receipt) }
      #expect(problem.code == .verificationUndetermined)
    }
  }

  @Test(
    "a proof that this server's own configuration refuses when the store is back stays marked, and takes nothing back"
  )
  func refusedHere() async throws {
    try await run { server, timer in
      let receipt = try server.store.receipt(of: [server.purchase()], device: server.device.id)
      _ = try await server.grant(receipt: receipt)
      goAway(server, timer)
      let grant = try await server.grant(receipt: receipt).value
      // The store answers for another environment than the one that counts here.
      for status in [VerifyReceiptStatus.sandboxReceipt, .productionReceipt, .sharedSecretMismatch] {
        server.store.state.withLock { $0.answer = VerifyReceiptResponse(status: status) }
        comeBack(server, timer)
        try await server.server.confirmation.pass()
        #expect(try await proofs(server) == 1)
        #expect(try await operatorGrant(grant, server).state == .granted)
        goAway(server, timer)
      }
      server.store.state.withLock { $0.answer = nil }
      comeBack(server, timer)
      timer.advance(by: VerdictCache.lifetime)
      try await server.server.confirmation.pass()
      #expect(try await proofs(server) == 0)
    }
  }

  @Test(
    "what this server refuses by itself is asked about after one, two, four minutes, and at last once an hour"
  )
  func refusedHereAgain() async throws {
    try await run { server, timer in
      let receipt = try server.store.receipt(of: [server.purchase()], device: server.device.id)
      _ = try await server.grant(receipt: receipt)
      goAway(server, timer)
      _ = try await server.grant(receipt: receipt)
      server.store.state.withLock { $0.answer = VerifyReceiptResponse(status: .productionReceipt) }
      comeBack(server, timer)
      func asked() -> Int { server.store.state.withLock { $0.verifications } }
      try await server.server.confirmation.pass()
      var last = asked()
      #expect(last > 1)
      var questions: [Int] = []
      for second in stride(from: 30, through: 4 * 3600, by: 30) {
        timer.advance(by: .seconds(30))
        try await server.server.confirmation.pass()
        if asked() > last { questions.append(second) }
        last = asked()
      }
      #expect(Array(questions.prefix(7)) == [60, 180, 420, 900, 1860, 3780, 7380])
      #expect(try await proofs(server) == 1)
    }
  }

  @Test("without grace what the store said is good for five minutes")
  func none() async throws {
    try await run(["--store-grace", "0s"]) { server, timer in
      let receipt = try server.store.receipt(of: [server.purchase()], device: server.device.id)
      _ = try await server.grant(receipt: receipt)
      goAway(server, timer)
      let problem = try await server.problem { _ = try await server.grant(receipt: receipt) }
      #expect(problem.code == .verificationUndetermined)
    }
  }

  @Test("a license that a later receipt ended opens nothing by an earlier one of the same purchases")
  func license() async throws {
    try await run { server, timer in
      let before = try server.store.receipt(of: [server.purchase()], device: server.device.id)
      _ = try await server.grant(receipt: before)
      server.clock.advance(by: .seconds(60))
      let withdrawn = try server.store.receipt(
        of: [server.purchase()], device: server.device.id,
        expiring: server.clock.now() + .seconds(30 * 86_400))
      _ = try await server.grant(receipt: withdrawn)
      server.clock.advance(by: .seconds(29 * 86_400))
      timer.advance(by: VerdictCache.lifetime)
      _ = try await server.grant(receipt: before)
      server.clock.advance(by: .seconds(2 * 86_400))
      timer.advance(by: VerdictCache.lifetime)
      let problem = try await server.problem { _ = try await server.grant(receipt: before) }
      #expect(problem.code == .entitlementExpired)
    }
  }
}
