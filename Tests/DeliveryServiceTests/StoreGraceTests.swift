import Commerce
import CoreTypes
import Database
import DeliveryModel
import DeliveryTesting
import HTTPClient
import PullboxAPI
import PullboxAPIClient
import PullboxTesting
import Receipts
import ServiceAPI
import Synchronization
import Testing

@testable import ContentDelivery
@testable import ContentGrants
@testable import DeliveryRecords
@testable import DeliveryService
@testable import PaymentStores

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

  /// Lets the server forget what the store said, and the store go away.
  private func goAway(_ server: ServerHarness, _ timer: ManualMonotonicClock) {
    timer.advance(by: VerdictCache.lifetime)
    server.store.state.withLock { $0.isDown = true }
  }

  private func comeBack(_ server: ServerHarness, _ timer: ManualMonotonicClock) {
    server.store.state.withLock { $0.isDown = false }
    timer.advance(by: CircuitBreaker.longestPause)
  }

  /// The looks are the test's alone: another process holds the lease, before the server asks for it. The wall clock stands still.
  private func holdLease(_ server: ServerHarness) async throws {
    let now = server.clock.now()
    let isHeld = try await server.server.grants.grantStore.database.write(locking: [.lease("confirmation")]) {
      try LeaseTable.take(
        "confirmation", for: "another", until: now + LeaseMachine.duration, at: now, in: $0)
    }
    #expect(isHeld)
  }

  private func operatorGrant(_ grant: GrantResponse, _ server: ServerHarness) async throws -> OperatorGrant {
    try await server.operatorAPI.get(
      "/v1/operator/grants/\(try server.shortName(of: grant))", as: OperatorGrant.self)
  }

  private func proofs(_ server: ServerHarness) async throws -> Int {
    try await server.server.grants.grantStore.database.read {
      Int(try CounterTable.unconfirmed(in: $0).proofs)
    }
  }

  /// Proofs that nothing can be done with, as many as `rows`, of that length each.
  private func fill(
    _ rows: Int, of store: String, length: Int, lengthNoted: Int64? = nil, _ server: ServerHarness
  ) async throws {
    try await server.server.grants.grantStore.database.write(locking: [.everything]) { connection in
      try connection.execute(
        """
        WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?)
        INSERT INTO unconfirmed_proofs (store, digest, proof, length, since)
        SELECT ?, randomblob(32), zeroblob(?), ?, 0 FROM n
        """,
        [.integer(rows), .text(store), .integer(length), .integer(lengthNoted ?? Int64(length))])
    }
  }

  /// Returns the steps of the statements about unconfirmed proofs, by their text.
  private func steps(
    _ server: ServerHarness, _ body: () async throws -> Void
  ) async throws -> [String: Int] {
    let database = server.server.grants.grantStore.database
    _ = try await database.read { $0.takeSteps() }
    try await body()
    let taken = try await database.read { $0.takeSteps() }
    return Dictionary(
      taken.filter { $0.sql.contains("unconfirmed_") }.map { ($0.sql, $0.steps) }, uniquingKeysWith: +)
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

  @Test("what a store said while the clock was ahead serves no longer than what it says afterwards")
  func clockWasAhead() async throws {
    try await run { server, timer in
      let receipt = try server.store.receipt(of: [server.purchase()], device: server.device.id)
      server.clock.advance(by: .seconds(10 * 86_400))
      let grant = try await server.grant(receipt: receipt).value
      server.clock.set(ServerHarness.start)
      goAway(server, timer)
      let problem = try await server.problem { _ = try await server.grant(receipt: receipt) }
      #expect(problem.code == .verificationUndetermined)
      comeBack(server, timer)
      #expect(try await server.grant(receipt: receipt).value.grant == grant.grant)
      goAway(server, timer)
      #expect(try await server.grant(receipt: receipt).value.grant == grant.grant)
      server.clock.advance(by: .seconds(72 * 3600 + 1))
      let later = try await server.problem { _ = try await server.grant(receipt: receipt) }
      #expect(later.code == .verificationUndetermined)
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

  @Test(
    "what a proof that is served costs does not grow with those that wait, however long they are",
    .enabled(if: !TestDatabase.isOnServer))
  func cost() async throws {
    try await run { server, timer in
      let receipt = try server.store.receipt(of: [server.purchase()], device: server.device.id)
      server.clock.advance(by: .seconds(5))
      let other = try server.store.receipt(of: [server.purchase()], device: server.device.id)
      for receipt in [receipt, other] { _ = try await server.grant(receipt: receipt) }
      goAway(server, timer)
      let few = try await steps(server) { _ = try await server.grant(receipt: receipt) }
      try await fill(1000, of: "elsewhere", length: 20_000, server)
      let many = try await steps(server) { _ = try await server.grant(receipt: other) }
      #expect(few.contains { $0.key.hasPrefix("INSERT INTO unconfirmed_proofs") })
      for (sql, steps) in many {
        #expect(steps <= (few[sql] ?? 0) + 20, "\(sql)")
      }
    }
  }

  @Test(
    "beyond the bound of proofs that wait, or of their bytes, a store that is away serves no further proof",
    .enabled(if: !TestDatabase.isOnServer),
    arguments: [true, false])
  func bound(isOfCount: Bool) async throws {
    try await run { server, timer in
      let known = try server.store.receipt(of: [server.purchase()], device: server.device.id)
      server.clock.advance(by: .seconds(5))
      let other = try server.store.receipt(of: [server.purchase()], device: server.device.id)
      for receipt in [known, other] { _ = try await server.grant(receipt: receipt) }
      goAway(server, timer)
      _ = try await server.grant(receipt: known)
      if isOfCount {
        try await fill(UnconfirmedTable.maximumCount - 1, of: "elsewhere", length: 1, server)
      } else {
        let free = UnconfirmedTable.maximumLength - ByteCount(1000)
        try await fill(1, of: "elsewhere", length: 1, lengthNoted: free.rawValue, server)
      }
      let problem = try await server.problem { _ = try await server.grant(receipt: other) }
      #expect(problem.code == .verificationUndetermined && problem.retryAfterSeconds != nil)
      // The one that waits already goes on.
      _ = try await server.grant(receipt: known)
    }
  }

  @Test(
    "while a store is away one proof of it is read in each look, and none of its others",
    .enabled(if: !TestDatabase.isOnServer))
  func looks() async throws {
    try await run { server, timer in
      try await fill(300, of: "sandbox", length: 20_000, server)
      try await fill(300, of: "unknown", length: 20_000, server)
      try await server.server.grants.grantStore.database.write(locking: [.everything]) { connection in
        // A proof of a store that is away, as this program writes it.
        let proof = try APIJSON.encode(Proof(store: "unknown", receipt: "a"))
        try connection.execute(
          "UPDATE unconfirmed_proofs SET proof = ? WHERE store = 'unknown'", [.blob(Array(proof))])
      }
      // A text that is no proof is refused at once.
      try await server.server.confirmation.pass()
      for _ in 0..<3 {
        let found = try await steps(server) { try await server.server.confirmation.pass() }
        #expect(found.contains { $0.key.hasPrefix("SELECT store, digest, proof") })
        #expect(found.values.reduce(0, +) < 300)
      }
      #expect(try await proofs(server) == 300)
    }
  }

  @Test("a proof that its store never answers keeps the others from nothing")
  func silent() async throws {
    try await run { server, timer in
      try await holdLease(server)
      let receipt = try server.store.receipt(of: [server.purchase()], device: server.device.id)
      let bad = try (1...3).map { number in
        try server.store.receipt(
          of: [server.purchase(id: "300000000000000\(number)")], device: server.device.id)
      }
      for receipt in bad + [receipt] { _ = try await server.grant(receipt: receipt) }
      goAway(server, timer)
      for receipt in bad + [receipt] { _ = try await server.grant(receipt: receipt) }
      #expect(try await proofs(server) == 4)
      server.store.state.withLock { $0.fails = Set(bad) }
      comeBack(server, timer)
      for _ in 0..<4 {
        try await server.server.confirmation.pass()
        timer.advance(by: GrantConfirmation.interval)
      }
      #expect(try await proofs(server) == 3)
      server.store.state.withLock { $0.fails = [] }
      timer.advance(by: CircuitBreaker.longestPause)
      try await server.server.confirmation.pass()
      #expect(try await proofs(server) == 0)
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
      try await holdLease(server)
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

  /// A newer version, granted while the store is away: nothing but what the store said before speaks for it.
  private func grantInAbsence(
    _ receipt: String, _ server: ServerHarness, _ timer: ManualMonotonicClock
  ) async throws -> GrantResponse {
    try await server.approve([4, 5, 6], "1.1")
    try await server.release("1.1")
    goAway(server, timer)
    return try await server.grant(receipt: receipt).value
  }

  @Test(
    "a grant made in a store's absence is renewed for the grace, and then once the store vouches for it")
  func graceEnds() async throws {
    try await run { server, timer in
      try await holdLease(server)
      let receipt = try server.store.receipt(of: [server.purchase()], device: server.device.id)
      _ = try await server.grant(receipt: receipt)
      server.clock.advance(by: .seconds(3600))
      goAway(server, timer)
      let vouched = try await server.grant(receipt: receipt).value
      #expect(try await operatorGrant(vouched, server).unconfirmed != nil)
      let made = try await grantInAbsence(receipt, server, timer)
      #expect(made.download.version == ContentVersion("1.1"))
      // 72 hours after the store's word, and not after the grant.
      server.clock.advance(by: .seconds(71 * 3600 - 60))
      let last = try await server.renew(made)
      #expect(last.ticketExpires <= server.clock.now() + .seconds(61))
      server.clock.advance(by: .seconds(60))
      let problem = try await server.problem { _ = try await server.renew(made) }
      #expect(problem.code == .verificationUndetermined && problem.status == 503)
      #expect(problem.retryAfterSeconds != nil)
      // The store had vouched for this one when it was made.
      _ = try await server.renew(vouched)
      comeBack(server, timer)
      try await server.server.confirmation.pass()
      _ = try await server.renew(made)
    }
  }

  @Test("what this server's own configuration refuses is renewed for the grace, and revoked by nothing")
  func graceEndsForRefusedHere() async throws {
    try await run { server, timer in
      try await holdLease(server)
      let receipt = try server.store.receipt(of: [server.purchase()], device: server.device.id)
      _ = try await server.grant(receipt: receipt)
      let made = try await grantInAbsence(receipt, server, timer)
      server.store.state.withLock { $0.answer = VerifyReceiptResponse(status: .productionReceipt) }
      comeBack(server, timer)
      let refusal = try await server.problem { _ = try await server.grant(receipt: receipt) }
      #expect(refusal.code == .receiptWrongEnvironment)
      try await server.server.confirmation.pass()
      // The owner is not locked out by a configuration that is wrong.
      server.clock.advance(by: .seconds(71 * 3600))
      _ = try await server.renew(made)
      server.clock.advance(by: .seconds(2 * 3600))
      let problem = try await server.problem { _ = try await server.renew(made) }
      #expect(problem.code == .verificationUndetermined)
      #expect(try await operatorGrant(made, server).state == .granted)
      #expect(try await proofs(server) == 1)
      server.store.state.withLock { $0.answer = nil }
      timer.advance(by: .seconds(3600))
      try await server.server.confirmation.pass()
      _ = try await server.renew(made)
    }
  }

  @Test("a grant rests on no earlier word once the store vouches for its purchase by another proof")
  func vouchedByAnotherProof() async throws {
    try await run { server, timer in
      try await holdLease(server)
      let receipt = try server.store.receipt(of: [server.purchase()], device: server.device.id)
      _ = try await server.grant(receipt: receipt)
      let made = try await grantInAbsence(receipt, server, timer)
      comeBack(server, timer)
      server.clock.advance(by: .seconds(60))
      let another = try server.store.receipt(of: [server.purchase()], device: server.device.id)
      #expect(another != receipt)
      let again = try await server.grant(receipt: another).value
      #expect(again.grant == made.grant)
      #expect(try await proofs(server) == 0)
      #expect(try await operatorGrant(made, server).unconfirmed == nil)
      server.clock.advance(by: .seconds(80 * 3600))
      _ = try await server.renew(made)
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
