import Commerce
import CoreTypes
import Crypto
import Database
import DeliveryModel
import DeliveryTesting
import Files
import HTTPClient
import PullboxAPI
import PullboxAPIClient
import PullboxTesting
import Receipts
import ServiceAPI
import ServiceRuntime
import Synchronization
import SystemCalls
import Testing

@testable import ContentGrants
@testable import DeliveryRecords
@testable import DeliveryService
@testable import PaymentStores
@testable import RouteAccess

@Suite("A store of the kind google", .timeLimit(.minutes(2)))
struct GoogleStoreTests {
  private static let monthly = "com.example.magazine.monthly"
  private let package = (0..<3000).map { UInt8(truncatingIfNeeded: $0 &* 31 >> 3) }
  private let google: FakeGoogleStore

  init() throws {
    google = try FakeGoogleStore()
  }

  private func run(
    _ options: [String]? = nil, timer: any MonotonicClock = SystemMonotonicClock(),
    database: Database.Options = TestDatabase.options, _ body: (ServerHarness) async throws -> Void
  ) async throws {
    try await ServerHarness.run(options: options ?? google.option(), timer: timer, database: database) {
      server in
      try await server.publish(package)
      try await body(server)
    }
    await google.stop()
  }

  private func grant(
    _ token: String, of product: String = "com.example.issue1", _ server: ServerHarness
  ) async throws -> GrantResponse {
    let request = GrantRequest(
      proof: Proof(store: "google", purchaseToken: token),
      product: try #require(ProductIdentifier(product)), device: server.device)
    return try await server.api.call("POST", "/v1/grants", body: request, as: GrantResponse.self).value
  }

  /// The refusal's code; nil for a grant.
  private func refusal(of token: String, _ server: ServerHarness) async throws -> ProblemCode? {
    do {
      _ = try await grant(token, server)
      return nil
    } catch {
      guard case APICallError.problem(let problem) = error else { throw error }
      return problem.code
    }
  }

  private func expect(
    _ code: ProblemCode?, of token: String, _ server: ServerHarness,
    sourceLocation: SourceLocation = #_sourceLocation
  ) async throws {
    let refused = try await refusal(of: token, server)
    #expect(refused == code, "\(token)", sourceLocation: sourceLocation)
  }

  /// The refusal's code; nil for 200.
  private func post(
    _ message: [UInt8], bearing token: String?, _ server: ServerHarness
  ) async throws -> ProblemCode? {
    do {
      _ = try await server.api.exchange(
        "POST", "/v1/notifications/google", bytes: message, mediaType: "application/json",
        headers: token.map { [("Authorization", "Bearer \($0)")] } ?? [])
      return nil
    } catch {
      guard case APICallError.problem(let problem) = error else { throw error }
      return problem.code
    }
  }

  private func calls(_ word: String) -> [String] {
    google.state.withLock { $0.calls }.filter { $0.contains(word) }
  }

  private func transactions(_ server: ServerHarness) async throws -> [String: VerifiedTransaction] {
    let rows = try await server.server.grants.grantStore.database.read { connection in
      try connection.query("SELECT store, environment, transaction_id FROM transactions").map {
        TransactionKey(
          store: try $0.identifier("store"), environment: try $0.choice("environment"),
          id: try $0.identifier("transaction_id"))
      }
    }
    return try await server.server.grants.grantStore.database.read { connection in
      var found: [String: VerifiedTransaction] = [:]
      for key in rows { found[key.id.description] = try LedgerTable.find(key, in: connection)?.transaction }
      return found
    }
  }

  @Test("a purchase token opens what it pays for; the store is told of the delivery only once it is complete")
  func delivered() async throws {
    google.sell(token: "token-1", order: "GPA.1")
    try await run { server in
      let grant = try await grant("token-1", server)
      #expect(grant.transaction.description == "GPA.1")
      #expect(try await server.fetch(grant).body == package)
      #expect(calls("acknowledge").isEmpty)
      #expect(try await server.complete(grant).value.state == .finished)
      #expect(
        calls("acknowledge") == [
          "POST purchases/products/com.example.issue1/tokens/token-1:acknowledge"
        ])
      #expect(google.state.withLock { $0.accessTokens } == 1)
    }
  }

  @Test(
    "what was taken back between completion and acknowledgement is told of no more, and is in no operator's way",
    arguments: [false, true])
  func takenBackMeanwhile(isSubscription: Bool) async throws {
    let start = ServerHarness.start
    func sell(isOver: Bool) {
      if isSubscription {
        google.subscribe(
          Self.monthly, token: "token-1", order: "GPA.1", from: start,
          to: isOver ? start : start + .seconds(30 * 86_400), state: isOver ? "EXPIRED" : "ACTIVE")
      } else {
        google.sell(token: "token-1", order: "GPA.1", state: isOver ? "CANCELLED" : "PURCHASED")
      }
    }
    sell(isOver: false)
    try await run { server in
      if isSubscription { try await describeMagazine(server) }
      let product = isSubscription ? "com.example.magazine.issue1" : "com.example.issue1"
      let grant = try await grant("token-1", of: product, server)
      _ = try await server.fetch(grant)
      sell(isOver: true)
      google.state.withLock { $0.failures = [400] }
      #expect(try await server.complete(grant).value.state == .completed)
      let outbox = server.server.outbox
      let dropped = try await outbox.page(after: nil, matching: OutboxTable.Filter(), limit: 10).items
      #expect(dropped.map(\.state) == [.dropped])
      let reason = isSubscription ? "the subscription has expired" : "the store has taken the purchase back"
      #expect(dropped.map(\.lastError) == [reason])
      // Nothing more is to be heard of the store: its device waits for nothing.
      #expect(try await server.status(grant).state == .finished)
      // The store's next answer about it brings no date back.
      _ = try? await server.api.call(
        "POST", "/v1/entitlements",
        body: EntitlementsRequest(
          proof: Proof(store: "google", purchaseToken: "token-1"), device: server.device),
        as: EntitlementsResponse.self)
      let store = try #require(StoreIdentifier("google"))
      let standing = try await server.server.grants.grantStore.database.read { connection in
        try AcknowledgementTable.standing(of: store, at: start, in: connection)
      }
      #expect(standing.waiting == 0)
      #expect(calls("acknowledge").count == 1)
    }
  }

  @Test("a consumable is consumed, and a subscription acknowledged by its own call")
  func kinds() async throws {
    google.sell("com.example.coins", token: "token-1", order: "GPA.1")
    let start = ServerHarness.start
    google.subscribe(
      Self.monthly, token: "token-2", order: "GPA.2", from: start, to: start + .seconds(30 * 86_400))
    try await run { server in
      try await server.publish(
        package, as: "com.example.coins", description: ProductDescription(type: .consumable))
      try await describeMagazine(server)
      let coins = try await grant("token-1", of: "com.example.coins", server)
      _ = try await server.fetch(coins)
      #expect(try await server.complete(coins).value.state == .finished)
      let issue = try await grant("token-2", of: "com.example.magazine.issue1", server)
      _ = try await server.fetch(issue)
      #expect(try await server.complete(issue).value.state == .finished)
      #expect(
        calls("POST") == [
          "POST purchases/products/com.example.coins/tokens/token-1:consume",
          "POST purchases/subscriptions/\(Self.monthly)/tokens/token-2:acknowledge",
        ])
    }
  }

  private func describeMagazine(_ server: ServerHarness) async throws {
    let magazine = try #require(ProductIdentifier("com.example.magazine"))
    var subscription = ProductDescription(type: .autoRenewableSubscription)
    subscription.publication = magazine
    subscription.period = BillingPeriod("P1M")
    _ = try await server.operatorAPI.call(
      "PUT", "/v1/operator/products/\(Self.monthly)", body: subscription, as: OperatorProduct.self)
    var issue = ProductDescription()
    issue.publication = magazine
    issue.publicationDate = ServerHarness.start
    try await server.publish(package, as: "com.example.magazine.issue1", description: issue)
  }

  @Test(
    "pending, unknown, taken back and malformed tokens are refused by name; a tester's counts where that is allowed"
  )
  func refused() async throws {
    google.sell(token: "pending", order: "GPA.1", state: "PENDING")
    google.sell(token: "cancelled", order: "GPA.2", state: "CANCELLED")
    google.sell(token: "tested", order: "GPA.3", isTest: true)
    try await run(google.option("")) { server in
      try await expect(.purchaseRequired, of: "pending", server)
      try await expect(.entitlementRevoked, of: "cancelled", server)
      try await expect(.receiptNotAuthentic, of: "unknown", server)
      try await expect(.receiptMalformed, of: "a/b", server)
      try await expect(.receiptWrongEnvironment, of: "tested", server)
    }
  }

  @Test(
    "a license tester's purchase is granted where the sandbox is allowed, and tagged; the ledger keeps where it was sold"
  )
  func tested() async throws {
    google.sell(token: "tested", order: "GPA.3", isTest: true)
    try await run { server in
      _ = try await grant("tested", server)
      let kept = try await transactions(server)["GPA.3"]
      #expect(kept?.environment == .sandbox && kept?.territory?.code == "FRA")
    }
  }

  @Test(
    "a token that counts no more is exchanged; a store that fails, or knows no credential, decides nothing")
  func outage() async throws {
    google.sell(token: "token-1", order: "GPA.1")
    google.sell(token: "token-2", order: "GPA.2")
    try await run { server in
      google.state.withLock { $0.failures = [401] }
      _ = try await grant("token-1", server)
      #expect(google.state.withLock { $0.accessTokens } == 2)
      for status in [503, 403, 429] {
        google.state.withLock { $0.failures = [status] }
        try await expect(.verificationUndetermined, of: "token-2", server)
      }
      google.state.withLock { state in
        state.failures = [401]
        state.isTokenEndpointDown = true
      }
      try await expect(.verificationUndetermined, of: "token-2", server)
      google.state.withLock { $0.isTokenEndpointDown = false }
      try await expect(nil, of: "token-2", server)
    }
  }

  @Test("a notification leads to a question: a refund ends the grant, once, whatever the order of arrival")
  func refundTold() async throws {
    google.sell(token: "token-1", order: "GPA.1")
    try await run { server in
      let grant = try await grant("token-1", server)
      let voided =
        #""voidedPurchaseNotification":{"purchaseToken":"token-1","orderId":"GPA.1","productType":2,"refundType":1}"#
      let bought = #""oneTimeProductNotification":{"notificationType":1,"purchaseToken":"token-1","sku":"s"}"#
      let identity = google.identity()
      #expect(try await post(google.message(voided, id: "2"), bearing: identity, server) == nil)
      #expect(try await server.fetch(grant).status == 403)
      for _ in 0..<10 {
        #expect(try await post(google.message(voided, id: "2"), bearing: identity, server) == nil)
      }
      // The store's word on the token does not tell of the refund; what it told once stays.
      #expect(try await post(google.message(bought, id: "1"), bearing: identity, server) == nil)
      #expect(try await server.fetch(grant).status == 403)
      try await expect(.entitlementRevoked, of: "token-1", server)
      let rows = try await server.server.grants.grantStore.database.read { connection in
        try connection.query("SELECT uuid, type FROM notifications ORDER BY uuid").map {
          "\(try $0.text("uuid")) \(try $0.text("type"))"
        }
      }
      #expect(rows == ["1 product.1", "2 voided.2"])
      #expect(google.state.withLock { $0.keysFetched } == 1)
    }
  }

  @Test("a renewal that is told is a period of its own, and a replaced token opens nothing new")
  func subscriptions() async throws {
    let start = ServerHarness.start
    let month = Duration.seconds(30 * 86_400)
    google.subscribe(Self.monthly, token: "old", order: "GPA.7", from: start, to: start + month)
    try await run { server in
      try await describeMagazine(server)
      _ = try await grant("old", of: "com.example.magazine.issue1", server)
      google.subscribe(Self.monthly, token: "old", order: "GPA.7..0", from: start, to: start + month * 2)
      server.clock.advance(by: month)
      let renewed = #""subscriptionNotification":{"notificationType":2,"purchaseToken":"old"}"#
      let identity = google.identity(at: server.clock.now())
      #expect(try await post(google.message(renewed, id: "1"), bearing: identity, server) == nil)
      let periods = try await transactions(server)
      #expect(periods["GPA.7..0"]?.purchaseDate == start + month)
      #expect(periods["GPA.7..0"]?.originalID.description == "GPA.7")
      // Another product takes its place in the middle of the second month.
      let change = start + month + .seconds(86_400)
      server.clock.advance(by: .seconds(86_400))
      google.subscribe(
        Self.monthly, token: "new", order: "GPA.8", from: change, to: change + month, linked: "old")
      _ = try await grant("new", of: "com.example.magazine.issue1", server)
      #expect(try await transactions(server)["GPA.7..0"]?.expiresDate == change)
      #expect(try await transactions(server)["GPA.7"]?.expiresDate == start + month)
    }
  }

  @Test(
    "a period after a lapse begins with its payment; one that was paid for in grace goes on where the one before it ended"
  )
  func resumed() async throws {
    let start = ServerHarness.start
    let (day, month) = (Duration.seconds(86_400), Duration.seconds(30 * 86_400))
    google.subscribe(Self.monthly, token: "held", order: "GPA.7", from: start, to: start + month)
    google.subscribe(Self.monthly, token: "late", order: "GPA.8", from: start, to: start + month)
    try await run { server in
      try await describeMagazine(server)
      for token in ["held", "late"] { _ = try await grant(token, of: "com.example.magazine.issue1", server) }
      // Three days after the end the one was held, the other one in grace.
      server.clock.advance(by: month + day * 3)
      google.subscribe(
        Self.monthly, token: "held", order: "GPA.7", from: start, to: start + month, state: "ON_HOLD")
      google.subscribe(
        Self.monthly, token: "late", order: "GPA.8", from: start, to: start + month + day * 7,
        state: "IN_GRACE_PERIOD")
      func told(_ token: String, _ id: String) async throws {
        let content = #""subscriptionNotification":{"notificationType":2,"purchaseToken":"\#(token)"}"#
        let identity = google.identity(at: server.clock.now())
        #expect(try await post(google.message(content, id: id), bearing: identity, server) == nil)
      }
      try await told("held", "1")
      try await told("late", "2")
      let paid = start + month + day * 4
      server.clock.advance(by: day * 2)
      google.state.withLock { $0.orders = ["GPA.7..0": paid, "GPA.8..0": paid] }
      google.subscribe(
        Self.monthly, token: "held", order: "GPA.7..0", from: start, to: paid + month)
      google.subscribe(
        Self.monthly, token: "late", order: "GPA.8..0", from: start, to: start + month * 2)
      try await told("held", "3")
      try await told("late", "4")
      let periods = try await transactions(server)
      #expect(periods["GPA.7..0"]?.purchaseDate == paid)
      #expect(periods["GPA.8..0"]?.purchaseDate == start + month)
      // The ledger knows them now: asked again, they are the same, and the orders are not asked about.
      let questions = calls("orders:batchGet").count
      try await told("held", "5")
      #expect(try await transactions(server)["GPA.7..0"]?.purchaseDate == paid)
      #expect(calls("orders:batchGet").count == questions)
    }
  }

  @Test("an answer that was asked for before a refund, and counts as later, does not take it back")
  func refundDuringVerification() async throws {
    google.sell(token: "token-1", order: "GPA.1")
    try await run { server in
      let grant = try await grant("token-1", server)
      let store = try #require(server.server.googleStores.first)
      server.clock.advance(by: .seconds(10))
      let token = try #require(GooglePurchaseToken("token-1"))
      let asked = try #require(try await store.purchase(with: token))
      server.clock.advance(by: .seconds(-10))
      let voided =
        #""voidedPurchaseNotification":{"purchaseToken":"token-1","orderId":"GPA.1","productType":2,"refundType":1}"#
      #expect(try await post(google.message(voided, id: "1"), bearing: google.identity(), server) == nil)
      let kept = try await server.server.grants.applyRevocations(of: store.taken(asked))
      #expect(kept.first?.revokedDate != nil)
      #expect(try await transactions(server)["GPA.1"]?.revokedDate != nil)
      #expect(try await server.fetch(grant).status == 403)
    }
  }

  @Test(
    "a notification without a token, with another's, for another application, and what is none are refused; another key is looked for once a minute"
  )
  func forged() async throws {
    google.sell(token: "token-1", order: "GPA.1")
    try await run { server in
      _ = try await grant("token-1", server)
      let voided =
        #""voidedPurchaseNotification":{"purchaseToken":"token-1","orderId":"GPA.1","productType":2}"#
      let message = google.message(voided, id: "1")
      for token in [
        nil, "x", google.identity(audience: "https://other.example"), google.identity(email: "x@y"),
        google.identity(by: FakeGoogleStore.accountKey),
        google.identity(at: ServerHarness.start - .seconds(7200)),
      ] {
        #expect(try await post(message, bearing: token, server) == .receiptNotAuthentic)
      }
      let identity = google.identity()
      #expect(
        try await post(google.message(voided, id: "1", package: "com.other"), bearing: identity, server)
          == .receiptWrongApplication)
      #expect(try await post(Array("{}".utf8), bearing: identity, server) == .receiptMalformed)
      #expect(try await transactions(server)["GPA.1"]?.revokedDate == nil)
      #expect(google.state.withLock { $0.keysFetched } == 1)
      // While the store cannot be asked, the message comes again.
      google.state.withLock { $0.failures = [503] }
      let bought = #""oneTimeProductNotification":{"notificationType":1,"purchaseToken":"token-1"}"#
      let other = google.message(bought, id: "5")
      #expect(try await post(other, bearing: identity, server) == .verificationUndetermined)
      #expect(try await post(other, bearing: identity, server) == nil)
    }
  }

  @Test("keys that cannot be had are asked for once a minute, whoever posts")
  func keysAway() async throws {
    let timer = ManualMonotonicClock()
    google.state.withLock { $0.areKeysAway = true }
    try await run(timer: timer) { server in
      let message = google.message(#""testNotification":{"version":"1.0"}"#, id: "1")
      for _ in 0..<3 {
        let refusal = try await post(message, bearing: google.identity(), server)
        #expect(refusal == .verificationUndetermined)
      }
      #expect(google.state.withLock { $0.keysFetched } == 1)
      google.state.withLock { $0.areKeysAway = false }
      timer.advance(by: .seconds(60))
      #expect(try await post(message, bearing: google.identity(), server) == nil)
      #expect(google.state.withLock { $0.keysFetched } == 2)
    }
  }

  private func waitForCalls(_ server: ServerHarness) async throws {
    func open() async throws -> Int64 {
      try await server.server.grants.grantStore.database.read { connection in
        try connection.first("SELECT count(*) AS open FROM outbox WHERE done IS NULL")?.integer("open") ?? 0
      }
    }
    while try await open() > 0 { try Task.checkCancellation() }
  }

  @Test("an order of several products is acknowledged once all of them are delivered")
  func severalProducts() async throws {
    let (one, other) = ("com.example.issue1", "com.example.issue2")
    google.sell([one, other], token: "token-1", order: "GPA.1")
    try await run { server in
      try await server.publish(package, as: other)
      let first = try await grant("token-1", of: one, server)
      try await server.deliver(first, to: server.device)
      #expect(try await server.status(first).state == .completed)
      #expect(calls("acknowledge").isEmpty)
      let second = try await grant("token-1", of: other, server)
      try await server.deliver(second, to: server.device)
      try await waitForCalls(server)
      #expect(try await server.status(first).state == .finished)
      #expect(try await server.status(second).state == .finished)
      #expect(
        calls("acknowledge").sorted()
          == [one, other].map {
            "POST purchases/products/\($0)/tokens/token-1:acknowledge"
          })
    }
  }

  @Test(
    "a product that was not delivered in time holds the others of its order up no longer than a week more")
  func severalProductsAndDeadline() async throws {
    let (one, other) = ("com.example.issue1", "com.example.issue2")
    google.sell([one, other], token: "token-1", order: "GPA.1")
    try await run { server in
      let grant = try await grant("token-1", of: one, server)
      try await server.deliver(grant, to: server.device)
      let lease = OutboxLease(
        holder: "n", now: server.clock.now() + .seconds(9 * 86_400),
        until: server.clock.now() + .seconds(9 * 86_460),
        stores: [.google])
      func due(_ lease: OutboxLease) async throws -> Int {
        try await server.server.grants.grantStore.database.read {
          try OutboxTable.due(to: .google, for: lease, limit: 10, in: $0).count
        }
      }
      #expect(try await due(lease) == 0)
      var later = lease
      // The deadline is three days after the purchase.
      later.now = server.clock.now() + .seconds(10 * 86_400 + 1)
      later.until = later.now + .seconds(60)
      let count = try await due(later)
      #expect(count == 1)
    }
  }

  @Test("an order of several products is acknowledged for the others once one of them was taken back")
  func severalProductsAndRefund() async throws {
    let (one, other) = ("com.example.issue1", "com.example.issue2")
    google.sell([one, other], token: "token-1", order: "GPA.1")
    try await run { server in
      let grant = try await grant("token-1", of: one, server)
      try await server.deliver(grant, to: server.device)
      #expect(calls("acknowledge").isEmpty)
      let known = try await transactions(server).values.first { $0.product.description == other }
      let refunded = try #require(known).revised(
        revokedDate: ServerHarness.start, asOf: ServerHarness.start + .seconds(1))
      _ = try await server.server.grants.applyRevocations(of: [refunded])
      try await waitForCalls(server)
      #expect(try await server.status(grant).state == .finished)
      #expect(calls("acknowledge") == ["POST purchases/products/\(one)/tokens/token-1:acknowledge"])
    }
  }

  @Test(
    "a purchase that a notification tells of is not acknowledged to the store's sender while it cannot be written",
    .enabled(if: !TestDatabase.isOnServer)
  )
  func unwrittenNotification() async throws {
    var options = TestDatabase.options
    options.longestWait = .seconds(2)
    google.sell(token: "token-1", order: "GPA.1")
    try await run(database: options) { server in
      let bought = #""oneTimeProductNotification":{"notificationType":1,"purchaseToken":"token-1"}"#
      let message = google.message(bought, id: "1")
      let grants = server.server.grants
      let store = try #require(server.server.googleStores.first)
      let token = try #require(GooglePurchaseToken("token-1"))
      let asked = try #require(try await store.purchase(with: token))
      let told = try await store.taken(asked)
      try await grants.grantStore.database.holdingWrites {
        await #expect(throws: DatabaseError.self) { _ = try await grants.applyRevocations(of: told) }
      }
      #expect(try await transactions(server).isEmpty)
      #expect(try await post(message, bearing: google.identity(), server) == nil)
      #expect(try await transactions(server).keys.sorted() == ["GPA.1"])
    }
  }

  @Test("an answer that this server cannot keep is its own failure, not the store's answer")
  func unkeptAnswer() async throws {
    google.sell(token: "token-1", order: "GPA.1")
    try await run { server in
      let kept = try #require(server.server.googleStores.first)
      let store = GoogleStoreClient(
        interface: kept.interface, memory: ForgetfulMemory(kept: kept.memory), clock: server.clock)
      let token = try #require(GooglePurchaseToken("token-1"))
      let asked = try #require(try await store.purchase(with: token))
      let refusal = await #expect(throws: StoreRefusal.self) { _ = try await store.taken(asked) }
      guard case .undetermined(.abandoned) = refusal?.kind else {
        Issue.record("\(String(describing: refusal))")
        return
      }
    }
  }

  /// Knows what is known, and keeps nothing more.
  private struct ForgetfulMemory: GooglePurchaseMemory {
    let kept: any GooglePurchaseMemory

    func records(
      of tokens: [GooglePurchaseToken], at store: StoreIdentifier
    ) async throws -> [GooglePurchaseToken: GooglePurchaseRecord] {
      try await kept.records(of: tokens, at: store)
    }

    func keep(
      _ records: [(token: GooglePurchaseToken, record: GooglePurchaseRecord)], at store: StoreIdentifier
    ) async throws {
      throw Problem(.outOfSpace)
    }

    func transactions(ofPurchases purchases: [TransactionKey]) async throws -> [VerifiedTransaction] {
      try await kept.transactions(ofPurchases: purchases)
    }

    func dates(of transactions: [TransactionKey]) -> [TransactionKey: Timestamp] {
      kept.dates(of: transactions)
    }

    func consumables(among products: [ProductIdentifier]) async throws -> Set<ProductIdentifier> {
      try await kept.consumables(among: products)
    }
  }

  @Test("refunds that nothing told of are found in the store's list, also of what was never shown here")
  func swept() async throws {
    google.sell(token: "token-1", order: "GPA.1")
    google.sell(token: "token-2", order: "GPA.2")
    try await run { server in
      let grant = try await grant("token-1", server)
      google.state.withLock {
        $0.voided = [
          ("token-1", "GPA.1", ServerHarness.start + .seconds(10)),
          ("token-2", "GPA.2", ServerHarness.start + .seconds(20)), ("gone", "GPA.9", ServerHarness.start),
        ]
      }
      let database = server.server.grants.grantStore.database
      let grants = server.server.grants
      let sweep = VoidedPurchaseSweep(
        stores: server.server.googleStores, database: database, clock: server.clock,
        log: Log(level: .error), takeIn: { _ = try await grants.applyRevocations(of: $0) })
      try await sweep.read()
      #expect(try await server.fetch(grant).status == 403)
      try await expect(.entitlementRevoked, of: "token-2", server)
      let position = try await database.read { connection in
        try NotificationHistoryTable.position(
          of: StoreIdentifier.google, .production, in: connection)
      }
      #expect(position?.recovered == 2)
      let revoked = try await transactions(server)["GPA.1"]?.revokedDate
      try await sweep.read()
      #expect(try await transactions(server)["GPA.1"]?.revokedDate == revoked)
    }
  }

  @Test("a refund is found in the store's list though the clock was a year ahead when that was read last")
  func sweptAfterClockWasAhead() async throws {
    google.sell(token: "token-1", order: "GPA.1")
    try await run { server in
      let grant = try await grant("token-1", server)
      let grants = server.server.grants
      let sweep = VoidedPurchaseSweep(
        stores: server.server.googleStores, database: grants.grantStore.database, clock: server.clock,
        log: Log(level: .error), takeIn: { _ = try await grants.applyRevocations(of: $0) })
      server.clock.advance(by: .seconds(365 * 86_400))
      try await sweep.read()
      server.clock.set(ServerHarness.start + .seconds(60))
      google.state.withLock { $0.voided = [("token-1", "GPA.1", ServerHarness.start + .seconds(10))] }
      try await sweep.read()
      #expect(try await server.fetch(grant).status == 403)
    }
  }

  @Test("no token, key or assertion is in the log")
  func secrets() async throws {
    google.sell(token: "secret-token-1", order: "GPA.1")
    let lines = Locked<[String]>([])
    try await ServerHarness.run(
      options: google.option(),
      log: Log(
        level: .debug, output: { line in lines.withLock { $0.append(String(decoding: line, as: UTF8.self)) } }
      )
    ) { server in
      try await server.publish(package)
      google.state.withLock { $0.failures = [503] }
      try await expect(.verificationUndetermined, of: "secret-token-1", server)
      let grant = try await grant("secret-token-1", server)
      _ = try await server.fetch(grant)
      google.state.withLock { $0.failures = [400, 400] }
      _ = try await server.complete(grant)
    }
    await google.stop()
    let text = lines.withLock { $0.joined(separator: "\n") }
    #expect(!text.contains("secret-token-1") && !text.contains("ya29") && !text.contains("PRIVATE KEY"))
  }
}

@Suite("The configuration of a store of the kind google")
struct GoogleConfigurationTests {
  private let directory: TemporaryDirectory
  private let key: String

  init() throws {
    directory = try TemporaryDirectory()
    key = directory.path("key.json")
    try write()
  }

  private func write(uri: String = "https://oauth2.googleapis.com/token", mode: UInt32 = 0o600) throws {
    let pem = FakeGoogleStore.accountKey.pem.replacing("\n", with: "\\n")
    let file =
      #"{"type":"service_account","private_key_id":"k","private_key":"\#(pem)","client_email":"a@b","token_uri":"\#(uri)"}"#
    try DurableFile.write(
      Array(file.utf8).span, to: key, permissions: mode, ifPresent: .replace)
  }

  private func stores(_ members: String) throws -> [DeliveryConfiguration.StoreAccess] {
    let parser = ArgumentParser(DeliveryConfiguration.command, environment: [:])
    let entry = "{name: 'play', kind: 'google', \(members)}"
    guard
      case .run(let parsed) = try parser.parse([
        "--operator-key", ServerHarness.operatorKey, "--payment-store", entry,
      ])
    else { throw UsageError("help") }
    return try ConfigurationLoader.load(DeliveryConfiguration.self, arguments: parsed).paymentStores()
  }

  @Test(
    "it has Google's addresses, counts production alone unless the sandbox is allowed, and takes no notifications without an audience"
  )
  func defaults() throws {
    let access = try #require(try stores("bundles: ['a.b'], keyFile: '\(key)'").first?.google)
    #expect(access.address == "https://androidpublisher.googleapis.com")
    #expect(access.environments == [.production] && access.notifications == nil)
    let more =
      "bundles: ['a.b'], keyFile: '\(key)', allowSandbox: true, notificationAudience: 'x', "
      + "notificationAccount: 'a@b'"
    let other = try #require(try stores(more).first?.google)
    #expect(other.environments == [.production, .sandbox])
    #expect(other.notifications?.keysAddress == "https://www.googleapis.com/oauth2/v3/certs")
    #expect(other.notifications?.expected.email == "a@b")
  }

  @Test(
    "what cannot be meant is refused by the name of the key",
    arguments: [
      ("bundles: ['a.b']", "keyFile"), ("bundles: [], keyFile: 'KEY'", "bundles"),
      ("bundles: ['a', 'b'], keyFile: 'KEY'", "bundles"), ("bundles: ['a/b'], keyFile: 'KEY'", "bundles"),
      ("bundles: ['a'], keyFile: '/none'", "keyFile"),
      ("bundles: ['a'], keyFile: 'KEY', credential: 'c'", "credential"),
      ("bundles: ['a'], keyFile: 'KEY', roots: ['r']", "roots"),
      ("bundles: ['a'], keyFile: 'KEY', addresses: {sandbox: 'https://a'}", "addresses.sandbox"),
      ("bundles: ['a'], keyFile: 'KEY', addresses: {play: 'ftp://a'}", "addresses.play"),
      ("bundles: ['a'], keyFile: 'KEY', addresses: {play: 'http://a.example'}", "addresses.play"),
      ("bundles: ['a'], keyFile: 'KEY', addresses: {keys: 'https://a'}", "addresses.keys"),
      ("bundles: ['a'], keyFile: 'KEY', notificationAccount: 'a@b'", "notificationAccount"),
      ("bundles: ['a'], keyFile: 'KEY', notificationAudience: 'x'", "notificationAccount"),
      ("bundles: ['a'], keyFile: 'KEY', notificationAudience: ''", "notificationAudience"),
    ])
  func refused(_ members: String, subject: String) {
    let error = #expect(throws: ConfigurationError.self) {
      try stores(members.replacing("KEY", with: key))
    }
    #expect(error?.subject == "stores.0.\(subject)")
  }

  @Test(
    "a key file that others may read, or that has tokens given over plain http, is refused without its key")
  func keyFile() throws {
    try write(uri: "http://tokens.example/token")
    let plain = #expect(throws: ConfigurationError.self) { try stores("bundles: ['a'], keyFile: '\(key)'") }
    #expect(plain?.subject == "stores.0.keyFile")
    try write(mode: 0o644)
    let open = #expect(throws: ConfigurationError.self) { try stores("bundles: ['a'], keyFile: '\(key)'") }
    #expect(open?.subject == "stores.0.keyFile" && open.map { "\($0)".contains("PRIVATE") } == false)
  }
}
