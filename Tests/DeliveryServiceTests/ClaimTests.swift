import Commerce
import CoreTypes
import Crypto
import Database
import DeliveryModel
import DeliveryTesting
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
@testable import DeliveryRecords
@testable import DeliveryService

@Suite("Claims, devices and what is irregular", .timeLimit(.minutes(2)))
struct ClaimTests {
  private func run(_ options: [String] = [], _ body: (ServerHarness) async throws -> Void) async throws {
    try await ServerHarness.run(options: options) { server in
      try await server.publish([1, 2, 3])
      try await server.publish([4, 5, 6], as: "com.example.issue2")
      try await body(server)
    }
  }

  /// The refusal's code; nil for a grant.
  private func ask(
    _ server: ServerHarness, _ proof: Proof, for account: String? = nil,
    product: String = "com.example.issue1", device: Device? = nil
  ) async throws -> ProblemCode? {
    let request = GrantRequest(
      proof: proof, product: try #require(ProductIdentifier(product)), device: device ?? server.device,
      account: account.flatMap { ApplicationAccount($0) })
    do {
      _ = try await server.api.call("POST", "/v1/grants", body: request, as: GrantResponse.self)
      return nil
    } catch {
      guard case APICallError.problem(let problem) = error else { throw error }
      return problem.code
    }
  }

  private func device(_ number: Int) throws -> Device {
    Device(id: try #require(DeviceIdentifier("device-\(number)")))
  }

  /// A receipt of both products, for that device.
  private func proof(_ server: ServerHarness, _ device: Device) throws -> Proof {
    let purchases = [
      server.purchase(), server.purchase(of: "com.example.issue2", id: "2000000000000002"),
    ]
    return Proof(store: "sandbox", receipt: try server.store.receipt(of: purchases, device: device.id))
  }

  private func irregularities(
    _ server: ServerHarness, _ query: [(String, String)] = []
  ) async throws -> [Irregularity] {
    try await server.operatorAPI.get(
      "/v1/operator/irregularities", query: query, as: Page<Irregularity>.self
    ).items
  }

  @Test("another account's claim is refused by name, listed once, audited and counted")
  func rejected() async throws {
    try await run { server in
      let proof = try proof(server, server.device)
      #expect(try await ask(server, proof, for: "ada") == nil)
      #expect(try await ask(server, proof, for: "ben") == .purchaseClaimed)
      #expect(try await ask(server, proof, for: "ben") == .purchaseClaimed)
      #expect(try await ask(server, proof, for: "ada") == nil)
      #expect(try await ask(server, proof) == nil)
      // The purchase that ben claims first is his.
      #expect(try await ask(server, proof, for: "ben", product: "com.example.issue2") == nil)
      let found = try await irregularities(server)
      #expect(found.map(\.kind) == [.otherAccount])
      #expect(found.first?.wasRefused == true)
      #expect(found.first?.transaction.description == "2000000000000001")
      #expect(found.first?.device == server.device.id)
      #expect(try await irregularities(server, [("kind", "many-devices")]).isEmpty)
      #expect(try await server.audit([("action", "irregularity.found")]).count == 1)
      let page = try await server.api.exchange("GET", "/metrics")
      let samples = try PrometheusPage(String(decoding: page.body, as: UTF8.self)).samples
      #expect(samples["pullbox_irregularities{kind=\"other-account\"}"] == 1)
      #expect(samples["pullbox_irregularities{kind=\"many-devices\"}"] == 0)
    }
  }

  @Test("with a limit of two, a third device is refused until one was silent for 90 days; known ones never")
  func devices() async throws {
    try await run(["--store-device-limit", "2"]) { server in
      let (first, second, third) = (try device(1), try device(2), try device(3))
      #expect(try await ask(server, try proof(server, first), device: first) == nil)
      #expect(try await ask(server, try proof(server, second), device: second) == nil)
      #expect(try await ask(server, try proof(server, third), device: third) == .deviceLimit)
      // Something it has not yet, on a device that is known.
      #expect(
        try await ask(server, try proof(server, first), product: "com.example.issue2", device: first) == nil)
      let found = try await irregularities(server)
      #expect(found.map(\.kind) == [.manyDevices])
      #expect(found.first?.device == third.id)

      server.clock.advance(by: .seconds(89 * 86_400))
      #expect(
        try await ask(server, try proof(server, second), product: "com.example.issue2", device: second) == nil
      )
      #expect(try await ask(server, try proof(server, third), device: third) == .deviceLimit)
      server.clock.advance(by: .seconds(2 * 86_400))
      #expect(try await ask(server, try proof(server, third), device: third) == nil)
      // The one whose place went has its grants all the same, and gets what is new.
      try await server.publish([7, 8, 9], version: "2.0")
      #expect(try await ask(server, try proof(server, first), device: first) == nil)
    }
  }

  @Test(
    "a device whose grants an operator revokes all leaves its place, and has it again once one stands again")
  func leaving() async throws {
    try await run(["--store-device-limit", "1"]) { server in
      let (lost, next) = (try device(1), try device(2))
      for product in ["com.example.issue1", "com.example.issue2"] {
        #expect(try await ask(server, try proof(server, lost), product: product, device: lost) == nil)
      }
      let grants = try await server.operatorAPI.get(
        "/v1/operator/grants", query: [("device", "device-1")], as: Page<OperatorGrant>.self
      ).items
      #expect(grants.count == 2)
      func step(_ step: String, _ grant: OperatorGrant) async throws {
        _ = try await server.operatorAPI.call(
          "POST", "/v1/operator/grants/\(grant.grant)/\(step)", body: ReasonBody(reason: "lost"),
          as: OperatorGrant.self)
      }
      try await step("revoke", grants[0])
      #expect(try await ask(server, try proof(server, next), device: next) == .deviceLimit)
      try await step("revoke", grants[1])
      #expect(try await ask(server, try proof(server, next), device: next) == nil)
      try await server.publish([7, 8, 9], version: "2.0")
      #expect(try await ask(server, try proof(server, lost), device: lost) == .deviceLimit)
      try await step("reinstate", grants[0])
      #expect(try await ask(server, try proof(server, lost), device: lost) == nil)
    }
  }

  @Test("a device that asks what it owns takes no place, and is told once there is none for it")
  func listing() async throws {
    try await run(["--store-device-limit", "1"]) { server in
      for number in 1...3 {
        let device = try device(number)
        let request = EntitlementsRequest(proof: try proof(server, device), device: device)
        let answer = try await server.api.call(
          "POST", "/v1/entitlements", body: request, as: EntitlementsResponse.self)
        #expect(answer.value.products.count == 2)
        #expect(answer.value.hasPlace == true)
      }
      let last = try device(3)
      #expect(try await ask(server, try proof(server, last), device: last) == nil)
      let first = try device(1)
      #expect(try await ask(server, try proof(server, first), device: first) == .deviceLimit)
      for (device, hasPlace) in [(first, false), (last, true)] {
        let request = EntitlementsRequest(proof: try proof(server, device), device: device)
        let answer = try await server.api.call(
          "POST", "/v1/entitlements", body: request, as: EntitlementsResponse.self)
        #expect(answer.value.hasPlace == hasPlace)
      }
    }
  }

  @Test(
    "whose the purchases of a proof are is one question to the ledger, however many there are",
    .enabled(if: !TestDatabase.isOnServer))
  func oneQuestion() async throws {
    try await run(["--store-device-limit", "1"]) { server in
      let (database, device) = (server.server.grants.grantStore.database, try device(1))
      let request = EntitlementsRequest(proof: try proof(server, device), device: device)
      for _ in 0..<2 {
        _ = try await database.read { $0.takeSteps() }
        let answer = try await server.api.call(
          "POST", "/v1/entitlements", body: request, as: EntitlementsResponse.self)
        #expect(answer.value.products.count == 2)
      }
      let asked = try await database.read { $0.takeSteps() }.map(\.sql)
      #expect(asked.count { $0.hasPrefix("SELECT customer FROM transactions") } == 1, "\(asked)")
    }
  }

  // MARK: Accounts that a store names

  private func signed(
    _ apple: FakeAppleStore, _ id: String, account: String?, product: String = "com.example.issue1"
  ) throws -> Proof {
    var transaction = apple.transaction(id, product: product)
    transaction.appAccountToken = account
    return Proof(store: "apple", signedTransaction: try apple.sign(transaction))
  }

  @Test(
    "who buys something naming another's account gets that, and nothing of theirs", arguments: [true, false])
  func anothersAccount(joins: Bool) async throws {
    let apple = try FakeAppleStore()
    try await run(apple.option(joins ? "claims: {share: 2}" : "")) { server in
      let (owner, other) = (try device(1), try device(2))
      let bought = try signed(apple, "1", account: "ada")
      #expect(try await ask(server, bought, device: owner) == nil)
      let cheap = try signed(apple, "2", account: "ada", product: "com.example.issue2")
      #expect(try await ask(server, cheap, product: "com.example.issue2", device: other) == nil)
      #expect(try await ask(server, cheap, device: other) == (joins ? nil : .purchaseRequired))
    }
    await apple.stop()
  }

  private func grant(
    _ server: ServerHarness, _ proof: Proof, for account: String?, product: String = "com.example.issue1",
    device: Device
  ) async throws -> GrantResponse {
    let request = GrantRequest(
      proof: proof, product: try #require(ProductIdentifier(product)), device: device,
      account: account.flatMap { ApplicationAccount($0) })
    return try await server.api.call("POST", "/v1/grants", body: request, as: GrantResponse.self).value
  }

  @Test(
    "a transfer ends the grants of the account that the purchase belonged to, and its return gives them back")
  func transferredGrants() async throws {
    let apple = try FakeAppleStore()
    try await run(apple.option("claims: 'transfer'")) { server in
      let proof = try signed(apple, "1", account: "ada")
      let (first, second) = (try device(1), try device(2))
      let adas = try await grant(server, proof, for: "ada", device: first)
      #expect(try await server.fetch(adas).status == 200)
      let bens = try await grant(server, proof, for: "ben", device: second)
      #expect(try await server.fetch(adas).status == 403)
      #expect(try await server.fetch(bens).status == 200)
      let audited = try await server.operatorAPI.get("/v1/operator/audit", as: Page<AuditEntry>.self).items
      #expect(
        audited.filter { $0.action == "grant.revoke" }.map(\.subject) == [try server.shortName(of: adas)])
      let again = try await grant(server, proof, for: "ada", device: first)
      #expect(again.grant == adas.grant)
      #expect(try await server.fetch(again).status == 200)
      #expect(try await server.fetch(bens).status == 403)
      #expect(try await ask(server, proof, for: "carl", device: second) == nil)
      #expect(try await server.fetch(again).status == 403)
    }
    await apple.stop()
  }

  @Test("what an operator revoked after a transfer, a transfer back does not give back")
  func operatorAfterTransfer() async throws {
    let apple = try FakeAppleStore()
    try await run(apple.option("claims: 'transfer'")) { server in
      let proof = try signed(apple, "1", account: "ada")
      let (first, second) = (try device(1), try device(2))
      let adas = try await grant(server, proof, for: "ada", device: first)
      _ = try await grant(server, proof, for: "ben", device: second)
      _ = try await server.operatorAPI.call(
        "POST", "/v1/operator/grants/\(server.shortName(of: adas))/revoke", body: ReasonBody(reason: "abuse"),
        as: OperatorGrant.self)
      #expect(try await ask(server, proof, for: "ada", device: first) == .entitlementRevoked)
      #expect(try await server.fetch(adas).status == 403)
    }
    await apple.stop()
  }

  /// Issue 1 of ada's, as the store tells of it; refunded now unless a date is given.
  private func tell(
    _ server: ServerHarness, isRefunded: Bool, at refund: Timestamp? = nil
  ) async throws {
    server.clock.advance(by: .seconds(10))
    let id = try #require(TransactionIdentifier("1"))
    let told = VerifiedTransaction(
      vouchedForBy: .apple, in: .sandbox, id: id, originalID: id,
      product: try #require(ProductIdentifier("com.example.issue1")), purchaseDate: ServerHarness.start,
      revokedDate: isRefunded ? refund ?? server.clock.now() : nil, account: ApplicationAccount("ada"),
      asOf: server.clock.now())
    _ = try await server.server.grants.applyRevocations(of: [told])
  }

  /// Another part of the same purchase.
  private func part(_ apple: FakeAppleStore) throws -> Proof {
    var other = apple.transaction("2", original: "1", product: "com.example.issue2")
    other.appAccountToken = "ada"
    return Proof(store: "apple", signedTransaction: try apple.sign(other))
  }

  @Test("a transfer ends grants that the store had revoked as well: it may vouch for them again")
  func transferDuringRefund() async throws {
    let apple = try FakeAppleStore()
    try await run(apple.option("claims: 'transfer'")) { server in
      let proof = try signed(apple, "1", account: "ada")
      let (first, second) = (try device(1), try device(2))
      let adas = try await grant(server, proof, for: "ada", device: first)
      try await tell(server, isRefunded: true)
      #expect(try await server.fetch(adas).status == 403)
      let bens = try await grant(
        server, try part(apple), for: "ben", product: "com.example.issue2", device: second)
      // A claim that is refused takes nothing from him.
      #expect(try await ask(server, proof, for: "ada", device: first) == .entitlementRevoked)
      #expect(try await server.fetch(bens).status == 200)
      try await tell(server, isRefunded: false)
      #expect(try await server.fetch(adas).status == 403)
      #expect(try await ask(server, proof, for: "ada", device: first) == nil)
      #expect(try await server.fetch(adas).status == 200)
      #expect(try await server.fetch(bens).status == 403)
    }
    await apple.stop()
  }

  @Test("a refund after a transfer, and its reversal, lift the store's reason alone")
  func refundAfterTransfer() async throws {
    let apple = try FakeAppleStore()
    try await run(apple.option("claims: 'transfer'")) { server in
      let proof = try signed(apple, "1", account: "ada")
      let adas = try await grant(server, proof, for: "ada", device: try device(1))
      let bens = try await grant(server, proof, for: "ben", device: try device(2))
      for (isRefunded, status) in [(true, 403), (false, 200), (true, 403), (false, 200)] {
        try await tell(server, isRefunded: isRefunded)
        #expect(try await server.fetch(bens).status == status)
        #expect(try await server.fetch(adas).status == 403)
      }
    }
    await apple.stop()
  }

  @Test(
    "a refund that an operator excused stays excused through a transfer and back, told again too; a later one counts",
    arguments: [false, true])
  func excusedBeforeTransfer(isReversed: Bool) async throws {
    let apple = try FakeAppleStore()
    try await run(apple.option("claims: 'transfer'")) { server in
      let (first, second) = (try device(1), try device(2))
      let adas = try await grant(server, try signed(apple, "1", account: "ada"), for: "ada", device: first)
      try await tell(server, isRefunded: true)
      let refund = server.clock.now()
      let path = "/v1/operator/grants/\(try server.shortName(of: adas))/reinstate"
      _ = try await server.operatorAPI.call(
        "POST", path, body: ReasonBody(reason: "courtesy"), as: OperatorGrant.self)
      #expect(try await server.fetch(adas).status == 200)
      for _ in 1...2 {
        let (bens, other) = (try part(apple), "com.example.issue2")
        #expect(try await ask(server, bens, for: "ben", product: other, device: second) == nil)
        #expect(try await server.fetch(adas).status == 403)
        // A refunded part cannot be asked for; it comes back with the rest of the purchase.
        #expect(try await ask(server, bens, for: "ada", product: other, device: first) == nil)
        #expect(try await server.fetch(adas).status == 200)
      }
      if isReversed { try await tell(server, isRefunded: false) }
      try await tell(server, isRefunded: true, at: refund)
      #expect(try await server.fetch(adas).status == 200)
      try await tell(server, isRefunded: true)
      #expect(try await server.fetch(adas).status == 403)
    }
    await apple.stop()
  }

  @Test("what an operator revoked before a transfer, neither a reversal nor a transfer back gives back")
  func operatorBeforeTransfer() async throws {
    let apple = try FakeAppleStore()
    try await run(apple.option("claims: 'transfer'")) { server in
      let proof = try signed(apple, "1", account: "ada")
      let adas = try await grant(server, proof, for: "ada", device: try device(1))
      _ = try await server.operatorAPI.call(
        "POST", "/v1/operator/grants/\(server.shortName(of: adas))/revoke", body: ReasonBody(reason: "abuse"),
        as: OperatorGrant.self)
      let bens = try await grant(server, proof, for: "ben", device: try device(2))
      for isRefunded in [true, false] {
        try await tell(server, isRefunded: isRefunded)
        #expect(try await server.fetch(adas).status == 403)
      }
      #expect(try await ask(server, proof, for: "ada", device: try device(1)) == .entitlementRevoked)
      #expect(try await server.fetch(bens).status == 200)
    }
    await apple.stop()
  }

  @Test(
    "a transfer frees the places of the devices whose grants it ends, and a transfer back takes them again")
  func placesOfTransferred() async throws {
    let apple = try FakeAppleStore()
    try await run(apple.option("claims: 'transfer', deviceLimit: 1")) { server in
      let proof = try signed(apple, "1", account: "ada")
      #expect(try await ask(server, proof, for: "ada", device: try device(1)) == nil)
      #expect(try await ask(server, proof, for: "ada", device: try device(2)) == .deviceLimit)
      #expect(try await ask(server, proof, for: "ben", device: try device(2)) == nil)
      #expect(try await ask(server, proof, for: "ben", device: try device(3)) == .deviceLimit)
      #expect(try await ask(server, proof, for: "ada", device: try device(1)) == nil)
      #expect(try await ask(server, proof, for: "ada", device: try device(3)) == .deviceLimit)
    }
    await apple.stop()
  }

  @Test("a device that comes back after a transfer finds its place taken by one that came before it")
  func placeOfReturned() async throws {
    let apple = try FakeAppleStore()
    try await run(apple.option("claims: 'transfer', deviceLimit: 1")) { server in
      let proof = try signed(apple, "1", account: "ada")
      #expect(try await ask(server, proof, for: "ada", device: try device(1)) == nil)
      #expect(try await ask(server, proof, for: "ben", device: try device(2)) == nil)
      #expect(try await ask(server, proof, for: "ada", device: try device(3)) == nil)
      #expect(try await ask(server, proof, for: "ada", device: try device(1)) == .deviceLimit)
    }
    await apple.stop()
  }

  @Test("an operator frees the place of a device whose grants the store has revoked before")
  func placeOfRefunded() async throws {
    try await run(["--store-device-limit", "1"]) { server in
      let (lost, next) = (try device(1), try device(2))
      #expect(try await ask(server, try proof(server, lost), device: lost) == nil)
      server.clock.advance(by: .seconds(60))
      let cancelled = try server.store.receipt(
        of: [server.purchase(cancelled: server.clock.now())], device: lost.id)
      let shown = Proof(store: "sandbox", receipt: cancelled)
      #expect(try await ask(server, shown, device: lost) == .entitlementRevoked)
      let other = try server.store.receipt(
        of: [server.purchase(of: "com.example.issue2", id: "2000000000000002")], device: next.id)
      func claim() async throws -> ProblemCode? {
        try await ask(
          server, Proof(store: "sandbox", receipt: other), product: "com.example.issue2", device: next)
      }
      // The store may take its refund back.
      #expect(try await claim() == .deviceLimit)
      let grants = try await server.operatorAPI.get(
        "/v1/operator/grants", query: [("device", "device-1")], as: Page<OperatorGrant>.self
      ).items
      #expect(grants.map(\.state) == [.revoked])
      for grant in grants {
        _ = try await server.operatorAPI.call(
          "POST", "/v1/operator/grants/\(grant.grant)/revoke", body: ReasonBody(reason: "lost"),
          as: OperatorGrant.self)
      }
      #expect(try await claim() == nil)
    }
  }

  @Test("a device that left its place has it again where its store takes a refund back")
  func placeOfVouchedAgain() async throws {
    try await run(["--store-device-limit", "1"]) { server in
      let (lost, next) = (try device(1), try device(2))
      for product in ["com.example.issue1", "com.example.issue2"] {
        #expect(try await ask(server, try proof(server, lost), product: product, device: lost) == nil)
      }
      func show(_ issue1: InAppPurchase) async throws {
        server.clock.advance(by: .seconds(60))
        let receipt = try server.store.receipt(of: [issue1], device: lost.id)
        let request = EntitlementsRequest(proof: Proof(store: "sandbox", receipt: receipt), device: lost)
        _ = try await server.api.call(
          "POST", "/v1/entitlements", body: request, as: EntitlementsResponse.self)
      }
      try await show(server.purchase(cancelled: server.clock.now()))
      let other = try await server.operatorAPI.get(
        "/v1/operator/grants", query: [("product", "com.example.issue2")], as: Page<OperatorGrant>.self
      ).items
      let name = try #require(other.first).grant
      _ = try await server.operatorAPI.call(
        "POST", "/v1/operator/grants/\(name)/revoke", body: ReasonBody(reason: "lost"),
        as: OperatorGrant.self)
      try await show(server.purchase())
      #expect(try await ask(server, try proof(server, next), device: next) == .deviceLimit)
    }
  }

  @Test("of a proof of many transactions, the purchase in question is looked at whatever stands before it")
  func knownAmongMany() async throws {
    try await run { server in
      let transaction = server.purchase()
      let receipt = try server.store.receipt(of: [transaction], device: server.device.id)
      let granted = try await server.grant(receipt: receipt).value
      let status = try await server.status(granted)
      let sold = VerifiedTransaction(
        vouchedForBy: .sandbox, in: .sandbox, id: status.transaction,
        originalID: status.transaction, product: status.product, purchaseDate: server.clock.now(),
        account: ApplicationAccount("ada"))
      let others = (1...FeedingTable.maximumCount).map { TransactionKey.numbered($0) }
      let now = server.clock.now()
      let noted = try await server.server.grants.grantStore.database.write(locking: [.everything]) {
        connection in
        try GrantStore.noteFeeding(
          by: sold, of: nil, shownWith: others, under: .reject, at: now, in: connection)
        return try connection.query("SELECT 1 AS found FROM account_feeds").count
      }
      #expect(noted == 0)
    }
  }

  @Test("a claim that is transferred takes the purchase from whom it belonged to, and is listed")
  func transferred() async throws {
    let apple = try FakeAppleStore()
    try await run(apple.option("claims: 'transfer'")) { server in
      let proof = try signed(apple, "1", account: "ada")
      let (ada, ben) = (try device(1), try device(2))
      #expect(try await ask(server, proof, device: ada) == nil)
      #expect(try await ask(server, proof, for: "ben", device: ben) == nil)
      #expect(try await ask(server, proof, device: ada) == .purchaseClaimed)
      #expect(try await ask(server, proof, for: "ada", device: ada) == nil)
      #expect(try await irregularities(server).map(\.kind) == [.otherAccount])
    }
    await apple.stop()
  }

  @Test("a purchase is shared by as many accounts as the store's rule says")
  func shared() async throws {
    let apple = try FakeAppleStore()
    try await run(apple.option("claims: {share: 2}")) { server in
      let proof = try signed(apple, "1", account: "ada")
      #expect(try await ask(server, proof) == nil)
      #expect(try await ask(server, proof, for: "ben") == nil)
      #expect(try await ask(server, proof, for: "carl") == .purchaseClaimed)
      #expect(try await ask(server, proof, for: "ada") == nil)
    }
    await apple.stop()
  }

  @Test(
    "three store accounts that begin to buy for one account in a day are listed, and refused where that is configured",
    arguments: [true, false])
  func payers(refuses: Bool) async throws {
    let apple = try FakeAppleStore()
    try await run(apple.option("refuseIrregular: \(refuses)")) { server in
      for number in 1...2 {
        #expect(try await ask(server, try signed(apple, "\(number)", account: "ada")) == nil)
      }
      #expect(try await irregularities(server).isEmpty)
      let third = try await ask(server, try signed(apple, "3", account: "ada"))
      #expect(third == (refuses ? .purchaseClaimed : nil))
      let found = try await irregularities(server)
      #expect(found.map(\.kind) == [.manyPayers])
      #expect(found.first?.wasRefused == refuses)
      // Another account, and another day, are another matter.
      #expect(try await ask(server, try signed(apple, "4", account: "ben")) == nil)
      server.clock.advance(by: .seconds(86_401))
      #expect(try await ask(server, try signed(apple, "5", account: "ada")) == nil)
    }
    await apple.stop()
  }

  @Test(
    "an account that requests name for the purchases of three store accounts is listed, and never refused")
  func named() async throws {
    try await run { server in
      func ask(_ number: Int, for account: String) async throws -> ProblemCode? {
        let device = try device(number)
        let receipt = try server.store.receipt(
          of: [server.purchase(id: "200000000000010\(number)")], device: device.id)
        return try await self.ask(
          server, Proof(store: "sandbox", receipt: receipt), for: account, device: device)
      }
      for number in 1...2 { #expect(try await ask(number, for: "ada") == nil) }
      // The same purchase again is no other payer, and another account another matter.
      #expect(try await ask(1, for: "ada") == nil)
      #expect(try await ask(4, for: "ben") == nil)
      #expect(try await irregularities(server).isEmpty)
      #expect(try await ask(3, for: "ada") == nil)
      let found = try await irregularities(server)
      #expect(found.map(\.kind) == [.namedByMany] && found.first?.wasRefused == false)
      #expect(try await ask(5, for: "ada") == nil)
    }
  }

  @Test(
    "a receipt in lines is the same proof; so is a device's key",
    arguments: [("\n", 64), ("\r\n", 76)])
  func lines(end: String, columns: Int) async throws {
    try await run { server in
      let whole = try #require(try proof(server, server.device).receipt)
      let characters = Array(whole)
      let text = stride(from: 0, to: characters.count, by: columns).map { start in
        String(characters[start..<min(start + columns, characters.count)]) + end
      }.joined()
      #expect(try await ask(server, Proof(store: "sandbox", receipt: text)) == nil)
      #expect(try await ask(server, Proof(store: "sandbox", receipt: whole + " ")) == .receiptMalformed)
      let key = SigningKey().verificationKey
      let device = try APIJSON.decode(
        Device.self,
        from: Array(#"{"id":"a","publicKey":"\#(key.text.prefix(20))\n\#(key.text.dropFirst(20))\n"}"#.utf8))
      #expect(device.publicKey == key)
    }
  }

  @Test(
    "purchases that were only heard of are no payers; several of one receipt are one, also on another day",
    arguments: ["'reject'", "{share: 3}"])
  func heardOf(claims: String) async throws {
    let apple = try FakeAppleStore()
    try await run(apple.option("claims: \(claims)")) { server in
      let grants = server.server.grants
      let heard = try (1...3).map { number in
        VerifiedTransaction(
          vouchedForBy: .apple, in: .production, id: try #require(TransactionIdentifier("\(number)0")),
          originalID: try #require(TransactionIdentifier("\(number)0")),
          product: try #require(ProductIdentifier("com.example.issue1")),
          purchaseDate: server.clock.now(), account: ApplicationAccount("ada"))
      }
      for transaction in heard { _ = try await grants.applyRevocations(of: [transaction]) }
      #expect(try await irregularities(server).isEmpty)
      // Two payers, who come again on the next day with what they have bought.
      for _ in 1...2 {
        for number in 1...2 {
          #expect(try await ask(server, try signed(apple, "\(number)", account: "ada")) == nil)
        }
        server.clock.advance(by: .seconds(86_401))
      }
      try await server.publish([7, 8, 9], version: "2.0")
      for number in 1...2 {
        #expect(try await ask(server, try signed(apple, "\(number)", account: "ada")) == nil)
      }
      #expect(try await ask(server, try signed(apple, "3", account: "ada")) == nil)
      #expect(try await irregularities(server).isEmpty)
    }
    await apple.stop()
  }

  @Test("what is irregular is listed in pages, newest first")
  func pages() async throws {
    try await run { server in
      let database = server.server.grants.grantStore.database
      let now = server.clock.now()
      try await database.write(locking: [.everything]) { connection in
        for number in 1...5 {
          let key = TransactionKey.numbered(number)
          try IrregularityTable.note(
            .otherAccount(key, device: server.device.id, wasRefused: false), at: now, in: connection)
        }
      }
      let first = try await server.operatorAPI.get(
        "/v1/operator/irregularities", query: [("limit", "3")], as: Page<Irregularity>.self)
      #expect(first.items.map(\.transaction.description) == ["t5", "t4", "t3"])
      let rest = try await server.operatorAPI.get(
        "/v1/operator/irregularities", query: [("limit", "3"), ("after", try #require(first.next))],
        as: Page<Irregularity>.self)
      #expect(rest.items.map(\.transaction.description) == ["t2", "t1"])
      #expect(rest.next == nil)
      let problem = try await server.problem {
        _ = try await server.operatorAPI.get(
          "/v1/operator/irregularities", query: [("after", "77")], as: Page<Irregularity>.self)
      }
      #expect(problem.code == .requestMalformed)
    }
  }

  @Test("what cannot be a rule for claims or devices is refused, by its key")
  func configuration() throws {
    func fault(_ members: String) throws -> String? {
      let entry =
        "{name: 'a', kind: 'pullbox', credential: 'c', bundles: ['b'], addresses: {sandbox: 'https://a'}, \(members)}"
      let parser = ArgumentParser(DeliveryConfiguration.command, environment: [:])
      let options = ["--operator-key", ServerHarness.operatorKey, "--payment-store", entry]
      guard case .run(let parsed) = try parser.parse(options) else { return "help" }
      do {
        _ = try ConfigurationLoader.load(DeliveryConfiguration.self, arguments: parsed).paymentStores()
        return nil
      } catch {
        return "\(error)"
      }
    }
    #expect(try fault("claims: 'transfer', deviceLimit: 3") == nil)
    #expect(try fault("claims: {share: 5}") == nil)
    #expect(try fault("claims: 'give'") != nil)
    #expect(try fault("claims: {share: 2, keep: 1}") != nil)
    #expect(try fault("claims: {share: 1}")?.contains("claims.share") == true)
    #expect(try fault("deviceLimit: 0")?.contains("deviceLimit") == true)
  }
}
