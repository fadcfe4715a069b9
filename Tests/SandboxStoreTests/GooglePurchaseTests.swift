import Commerce
import CoreTypes
import Crypto
import Database
import Foundation
import HTTPClient
import HTTPServer
import PullboxAPI
import PullboxTesting
import Receipts
import ServiceAPI
import ServiceRuntime
import Synchronization
import Testing

@testable import SandboxRecords
@testable import SandboxStore

/// The interface's answers are read by the code that the delivery server reads Google's answers with.
@Suite("The Google-like interface", .timeLimit(.minutes(2)))
struct GooglePurchaseTests {
  private static let base = "/androidpublisher/v3/applications/com.example.pullbox"
  private let store: StoreHarness

  init() throws {
    store = try StoreHarness()
  }

  private func accessToken(_ changed: (inout String) -> Void = { _ in }) async throws -> String {
    let account = try GoogleServiceAccount(keyFile: APIJSON.encode(store.google.keyFile))
    var form = try account.tokenRequest(at: store.clock.now())
    changed(&form)
    let answer = try await store.send(.post, "/token", body: Array(form.utf8))
    guard answer.status == 200 else { return "refused \(answer.status)" }
    return try GoogleAccessToken(response: answer.body, askedAt: store.clock.now()).value
  }

  private func token(of transaction: StoreTransaction, _ account: String) async throws -> String {
    let made: PurchaseTokenResponse = try await store.call(
      .post, "/store/v1/transactions/\(transaction.id)/purchase-token", token: account, body: String?.none)
    return made.purchaseToken
  }

  private func ask(
    _ method: HTTPMethod, _ path: String, body: [UInt8] = []
  ) async throws -> (status: Int, body: [UInt8]) {
    let answer = try await store.send(method, Self.base + path, token: try await accessToken(), body: body)
    return (answer.status, answer.body)
  }

  private struct Refusal: Decodable {
    struct Content: Decodable {
      var code: Int
      var status: String
    }
    var error: Content
  }

  private func refusal(_ method: HTTPMethod, _ path: String) async throws -> String {
    let answer = try await ask(method, path)
    let refusal = try APIJSON.decode(Refusal.self, from: answer.body)
    #expect(refusal.error.code == answer.status)
    return "\(refusal.error.code) \(refusal.error.status)"
  }

  private struct NoHistory: GoogleOrderHistory {
    func transaction(_ id: TransactionIdentifier, in environment: StoreEnvironment) -> VerifiedTransaction? {
      nil
    }
    func latestEnd(
      of original: TransactionIdentifier, besides id: TransactionIdentifier, in environment: StoreEnvironment
    ) -> Timestamp? { nil }
  }

  private func product(_ token: String) async throws -> GoogleProductPurchase {
    try GoogleProductPurchase(response: await ask(.get, "/purchases/productsv2/tokens/\(token)").body)
  }

  private func subscription(_ token: String) async throws -> GoogleSubscriptionPurchase {
    try GoogleSubscriptionPurchase(
      response: await ask(.get, "/purchases/subscriptionsv2/tokens/\(token)").body)
  }

  private func verdict(subscription token: String) async throws -> VerifiedTransaction? {
    try await subscription(token).verdict(
      for: #require(GooglePurchaseToken(token)), by: .google, known: NoHistory(), asOf: store.clock.now()
    ).transactions.first
  }

  private func messages() async throws -> [GoogleMessageTable.Data] {
    try await store.database.read { connection in
      try GoogleMessageTable.due(
        at: Timestamp(millisecondsSinceEpoch: 253_402_300_799_000), limit: 100, in: connection)
    }.sorted { $0.id < $1.id }.map {
      try APIJSON.decode(GoogleMessageTable.Data.self, from: Array($0.document.utf8))
    }
  }

  /// The notifications about subscriptions and products, by number, and about refunds by order.
  private func told() async throws -> [String] {
    try await messages().map { data in
      data.subscriptionNotification.map { "subscription \($0.notificationType)" }
        ?? data.oneTimeProductNotification.map { "product \($0.notificationType)" }
        ?? data.voidedPurchaseNotification.map { "voided \($0.productType) \($0.orderId)" } ?? "test"
    }
  }

  @Test("an access token is given for the key file's assertion alone, and counts for an hour")
  func accessTokens() async throws {
    let account = try await store.openAccount()
    let bought = try await token(of: try await store.buy(StoreHarness.issue, token: account), account)
    #expect(try await ask(.get, "/purchases/productsv2/tokens/\(bought)").status == 200)
    let foreign = GoogleAuthority(
      serviceKey: RS256Key(), identityKey: StoreHarness.identityKey, clock: store.clock)
    foreign.adopt(tokenAddress: store.google.tokenAddress)
    let stranger = try GoogleServiceAccount(keyFile: APIJSON.encode(foreign.keyFile))
    let assertion = try stranger.tokenRequest(at: store.clock.now())
    #expect(try await accessToken { $0 = assertion } == "refused 400")
    #expect(try await accessToken { $0 = "grant_type=password&assertion=x" } == "refused 400")
    #expect(try await accessToken { $0 = "" } == "refused 400")
    let own = try GoogleServiceAccount(keyFile: APIJSON.encode(store.google.keyFile))
    let old = try own.tokenRequest(at: store.clock.now() - .seconds(7200))
    #expect(try await accessToken { $0 = old } == "refused 400")
    // Clocks may differ by a minute, and an assertion lasts an hour.
    for (difference, isTaken) in [(60, true), (61, false), (-3659, true), (-3660, false)] as [(Int64, Bool)] {
      let request = try own.tokenRequest(at: store.clock.now() + .seconds(difference))
      let isRefused = try await accessToken { $0 = request }.hasPrefix("refused")
      #expect(isRefused != isTaken, "\(difference)")
    }
    // Google's libraries name Google's own endpoint whatever the key file says.
    var elsewhere = store.google.keyFile
    for (address, isTaken) in [
      ("https://oauth2.googleapis.com/token", true), ("https://oauth2.example.com/token", false),
    ] {
      elsewhere.tokenUri = address
      let request = try GoogleServiceAccount(keyFile: APIJSON.encode(elsewhere))
        .tokenRequest(at: store.clock.now())
      #expect(try await accessToken { $0 = request }.hasPrefix("refused") == !isTaken, "\(address)")
    }
    let path = Self.base + "/purchases/productsv2/tokens/\(bought)"
    let good = try await accessToken()
    store.clock.advance(by: .seconds(3598))
    #expect(try await store.send(.get, path, token: good).status == 200)
    store.clock.advance(by: .seconds(2))
    #expect(try await store.send(.get, path, token: good).status == 401)
    let current = try await accessToken()
    store.google.withdrawTokens()
    #expect(try await store.send(.get, path, token: current).status == 401)
  }

  @Test("a one-time purchase has the same token each time, and is told as Google tells it")
  func oneTime() async throws {
    let account = try await store.openAccount()
    let transaction = try await store.buy(StoreHarness.issue, token: account)
    let bought = try await token(of: transaction, account)
    #expect(try await token(of: transaction, account) == bought)
    #expect(GooglePurchaseToken(bought) != nil)
    let purchase = try await product(bought)
    #expect(purchase.state == .purchased && !purchase.isAcknowledged && purchase.environment == .sandbox)
    let verdict = try purchase.verdict(
      for: #require(GooglePurchaseToken(bought)), by: .google, known: NoHistory(), asOf: store.clock.now())
    #expect(verdict.transactions.first?.product == StoreHarness.issue)
    #expect(verdict.transactions.first?.purchaseDate == transaction.purchaseDate)
    #expect(verdict.transactions.first?.id.description == "GPA.2000-0000-0000-0001")
    #expect(try await told() == ["product 1"])
    let other = try await store.openAccount()
    #expect(
      try await store.refusal(
        .post, "/store/v1/transactions/\(transaction.id)/purchase-token", token: other) == .transactionUnknown
    )
    #expect(try await refusal(.get, "/purchases/productsv2/tokens/unknown") == "404 NOT_FOUND")
    #expect(try await refusal(.get, "/purchases/subscriptionsv2/tokens/\(bought)") == "400 INVALID_ARGUMENT")
    #expect(
      try await refusal(.post, "/purchases/products/com.example.other/tokens/\(bought):acknowledge")
        == "400 INVALID_ARGUMENT")
    let foreign = try await store.send(
      .get, "/androidpublisher/v3/applications/com.other/purchases/productsv2/tokens/\(bought)",
      token: try await accessToken())
    #expect(foreign.status == 404)
  }

  @Test("what is acknowledged is finished and stays; what is not is given back after a tenth of a month")
  func acknowledged() async throws {
    let account = try await store.openAccount()
    let first = try await token(of: try await store.buy(StoreHarness.issue, token: account), account)
    let coins = try await store.buy(StoreHarness.coins, token: account)
    let second = try await token(of: coins, account)
    let untouched = try await store.buy(StoreHarness.coins, token: account)
    let path = "/purchases/products/\(StoreHarness.issue)/tokens/\(first):acknowledge"
    for _ in 0..<2 { #expect(try await ask(.post, path).status == 204) }
    #expect(try await product(first).isAcknowledged)
    #expect(try await store.queue(account).map(\.id) == [coins.id, untouched.id])
    store.clock.advance(by: .milliseconds(29_000))
    #expect(try await product(second).state == .purchased)
    store.clock.advance(by: .milliseconds(2000))
    #expect(try await product(second).state == .cancelled)
    #expect(try await product(first).state == .purchased)
    #expect(try await store.all(account).first { $0.id == untouched.id }?.revocationDate == nil)
    #expect(
      try await refusal(.post, "/purchases/products/\(StoreHarness.coins)/tokens/\(second):consume")
        == "400 FAILED_PRECONDITION")
    let page = try GoogleVoidedPage(response: await ask(.get, "/purchases/voidedpurchases?type=1").body)
    #expect(page.items.map(\.token.text) == [second])
    #expect(try await told() == ["product 1", "product 1", "voided 2 GPA.2000-0000-0000-0002"])
  }

  @Test("a consumable that is used up is acknowledged and consumed")
  func consumed() async throws {
    let account = try await store.openAccount()
    let bought = try await token(of: try await store.buy(StoreHarness.coins, token: account), account)
    #expect(
      try await ask(.post, "/purchases/products/\(StoreHarness.coins)/tokens/\(bought):consume").status == 204
    )
    let purchase = try await product(bought)
    #expect(purchase.isConsumed && purchase.isAcknowledged)
  }

  @Test(
    "a purchase that waits for an approval is pending; approved it counts, and its time to be acknowledged begins"
  )
  func pending() async throws {
    let account = try await store.openAccount()
    let response: TransactionResponse = try await store.call(
      .post, "/store/v1/purchases", token: account,
      body: PurchaseRequest(
        product: StoreHarness.issue, askToBuy: true, device: DeviceIdentifier("reader-1")), status: 201)
    let bought = try await token(of: response.transaction, account)
    #expect(try await product(bought).state == .pending)
    #expect(
      try await refusal(.post, "/purchases/products/\(StoreHarness.issue)/tokens/\(bought):acknowledge")
        == "400 FAILED_PRECONDITION")
    #expect(try await told().isEmpty)
    _ = try await store.act("decide", on: response.transaction, body: PurchaseDecision(approve: true))
    #expect(try await product(bought).state == .purchased)
    #expect(try await told() == ["product 1"])
    store.clock.advance(by: .seconds(31))
    #expect(try await product(bought).state == .cancelled)
  }

  @Test(
    "a subscription that waits for an approval is pending, then runs under the same token; refused, it never began",
    arguments: [true, false])
  func pendingSubscription(approves: Bool) async throws {
    let account = try await store.openAccount()
    let response: TransactionResponse = try await store.call(
      .post, "/store/v1/purchases", token: account,
      body: PurchaseRequest(
        product: StoreHarness.magazine, askToBuy: true, device: DeviceIdentifier("reader-1")), status: 201)
    let bought = try await token(of: response.transaction, account)
    let pending = try await subscription(bought)
    #expect(pending.subscriptionState == "SUBSCRIPTION_STATE_PENDING" && pending.state == .pending)
    #expect(pending.lineItems?.first?.productId == StoreHarness.magazine.description)
    #expect(pending.lineItems?.first?.expiryTime == nil && pending.startTime == nil)
    #expect(
      try await refusal(
        .post, "/purchases/subscriptions/\(StoreHarness.magazine)/tokens/\(bought):acknowledge")
        == "400 FAILED_PRECONDITION")
    _ = try await store.act("decide", on: response.transaction, body: PurchaseDecision(approve: approves))
    let decided = try await subscription(bought)
    #expect(
      decided.subscriptionState
        == (approves ? "SUBSCRIPTION_STATE_ACTIVE" : "SUBSCRIPTION_STATE_PENDING_PURCHASE_CANCELED"))
    #expect(decided.state == (approves ? .paid : .pending))
    #expect(try await told() == [approves ? "subscription 4" : "subscription 20"])
  }

  @Test("a renewal that takes up a downgrade tells of itself, with the product that it is for")
  func downgrade() async throws {
    let account = try await store.openAccount()
    let transaction = try await store.buy(StoreHarness.magazine, token: account)
    let bought = try await token(of: transaction, account)
    _ = try await ask(
      .post, "/purchases/subscriptions/\(StoreHarness.magazine)/tokens/\(bought):acknowledge")
    _ = try await store.change(
      transaction, token: account, SubscriptionChange(product: StoreHarness.basic))
    store.clock.advance(by: .seconds(300))
    #expect(try await subscription(bought).lineItems?.first?.productId == StoreHarness.basic.description)
    #expect(try await told() == ["subscription 4", "subscription 2"])
    #expect(
      try await messages().last?.subscriptionNotification?.subscriptionId == StoreHarness.basic.description)
  }

  @Test(
    "a renewal that is deferred comes later, and is told; one from another date, or to an earlier one, is refused"
  )
  func deferred() async throws {
    let account = try await store.openAccount()
    let transaction = try await store.buy(StoreHarness.magazine, token: account)
    let bought = try await token(of: transaction, account)
    _ = try await ask(
      .post, "/purchases/subscriptions/\(StoreHarness.magazine)/tokens/\(bought):acknowledge")
    let end = try #require(transaction.expiresDate)
    func put(_ expected: Timestamp, _ desired: Timestamp) async throws -> (status: Int, body: [UInt8]) {
      let info =
        #"{"expectedExpiryTimeMillis":"\#(expected.millisecondsSinceEpoch)","desiredExpiryTimeMillis":"\#(desired.millisecondsSinceEpoch)"}"#
      return try await ask(
        .post, "/purchases/subscriptions/\(StoreHarness.magazine)/tokens/\(bought):defer",
        body: Array(#"{"deferralInfo":\#(info)}"#.utf8))
    }
    let later = end + .seconds(100)
    for (expected, desired) in [
      (later, later + .seconds(1)), (end, end), (end, end - .seconds(1)), (end, end + .seconds(367 * 86_400)),
    ] {
      #expect(try await put(expected, desired).status == 400)
    }
    let answer = try await put(end, later)
    #expect(answer.status == 200)
    #expect(
      String(decoding: answer.body, as: UTF8.self).contains("\"\(later.millisecondsSinceEpoch)\""))
    store.clock.advance(by: .seconds(350))
    #expect(try await verdict(subscription: bought)?.expiresDate == later)
    #expect(try await told() == ["subscription 4", "subscription 9"])
  }

  @Test("orders are told together, each as alone; an unknown one, none, and one twice are refused")
  func orders() async throws {
    let account = try await store.openAccount()
    let issue = try await store.buy(StoreHarness.issue, token: account)
    _ = try await token(of: issue, account)
    let magazine = try await store.buy(StoreHarness.magazine, token: account)
    _ = try await token(of: magazine, account)
    let (first, second) = ("GPA.2000-0000-0000-0001", "GPA.2000-0000-0000-0002")
    _ = try await ask(.post, "/orders/\(first):refund")
    let answer = try await ask(.get, "/orders:batchGet?orderIds=\(first)&orderIds=\(second)")
    let records = try GoogleOrderRecord.all(response: answer.body)
    #expect(records.map(\.order.id.description) == [first, second])
    #expect(records.map(\.isRefunded) == [true, false])
    #expect(records.map(\.created) == [issue.purchaseDate, magazine.purchaseDate])
    #expect(try await refusal(.get, "/orders:batchGet") == "400 INVALID_ARGUMENT")
    #expect(try await refusal(.get, "/orders:batchGet?orderIds=a&orderIds=a") == "400 INVALID_ARGUMENT")
    #expect(try await refusal(.get, "/orders:batchGet?orderIds=GPA.9") == "404 NOT_FOUND")
  }

  @Test(
    "an order's total is what was paid for all of its units",
    arguments: [(1, "0", 990_000_000), (3, "2", 970_000_000)])
  func total(quantity: Int, units: String, nanos: Int) async throws {
    struct Order: Decodable {
      struct Money: Decodable {
        var currencyCode: String
        var units: String
        var nanos: Int
      }
      var total: Money
    }
    let account = try await store.openAccount()
    let bought: TransactionResponse = try await store.call(
      .post, "/store/v1/purchases", token: account,
      body: PurchaseRequest(
        product: StoreHarness.coins, quantity: quantity, device: DeviceIdentifier("reader-1")), status: 201)
    _ = try await token(of: bought.transaction, account)
    // One costs 0.99.
    let answer = try await ask(.get, "/orders/GPA.2000-0000-0000-0001")
    let total = try APIJSON.decode(Order.self, from: answer.body).total
    #expect(total.currencyCode == "EUR" && total.units == units && total.nanos == nanos)
  }

  @Test("a subscription renews under one token, with an order of its own for each period")
  func renewals() async throws {
    let account = try await store.openAccount()
    let transaction = try await store.buy(StoreHarness.magazine, token: account)
    let bought = try await token(of: transaction, account)
    let path = "/purchases/subscriptions/\(StoreHarness.magazine)/tokens/\(bought):acknowledge"
    #expect(try await ask(.post, path).status == 204)
    let first = try #require(try await verdict(subscription: bought))
    #expect(first.id.description == "GPA.2000-0000-0000-0001" && first.expiresDate == transaction.expiresDate)
    store.clock.advance(by: .seconds(300))
    let second = try #require(try await verdict(subscription: bought))
    #expect(second.id.description == "GPA.2000-0000-0000-0001..0" && second.originalID == first.id)
    #expect(second.expiresDate == first.expiresDate.map { $0 + .seconds(300) })
    _ = try await store.change(transaction, token: account, SubscriptionChange(autoRenew: false))
    #expect(try await subscription(bought).subscriptionState == "SUBSCRIPTION_STATE_CANCELED")
    _ = try await store.change(transaction, token: account, SubscriptionChange(autoRenew: true))
    #expect(try await ask(.post, "/purchases/subscriptionsv2/tokens/\(bought):cancel").status == 200)
    store.clock.advance(by: .seconds(300))
    #expect(try await subscription(bought).subscriptionState == "SUBSCRIPTION_STATE_EXPIRED")
    #expect(
      try await told() == [
        "subscription 4", "subscription 2", "subscription 3", "subscription 7", "subscription 3",
        "subscription 13",
      ])
  }

  @Test("an unpaid renewal is in grace, then held, and recovers")
  func grace() async throws {
    let account = try await store.openAccount()
    let transaction = try await store.buy(StoreHarness.magazine, token: account)
    let bought = try await token(of: transaction, account)
    _ = try await ask(
      .post, "/purchases/subscriptions/\(StoreHarness.magazine)/tokens/\(bought):acknowledge")
    _ = try await store.control("fail-renewals", transaction)
    store.clock.advance(by: .seconds(301))
    let inGrace = try await subscription(bought)
    #expect(inGrace.subscriptionState == "SUBSCRIPTION_STATE_IN_GRACE_PERIOD")
    #expect(
      inGrace.lineItems?.first?.expiryTime.flatMap { Timestamp(rfc3339: $0) }
        == transaction.expiresDate.map { $0 + .seconds(150) })
    store.clock.advance(by: .seconds(200))
    #expect(try await subscription(bought).subscriptionState == "SUBSCRIPTION_STATE_ON_HOLD")
    _ = try await store.control("recover", transaction)
    #expect(try await subscription(bought).subscriptionState == "SUBSCRIPTION_STATE_ACTIVE")
    #expect(try await told() == ["subscription 4", "subscription 6", "subscription 1"])
  }

  @Test(
    "a subscription that its customer pauses is paused for a month after its period, goes on, and tells of it"
  )
  func pause() async throws {
    let account = try await store.openAccount()
    let transaction = try await store.buy(StoreHarness.magazine, token: account)
    let bought = try await token(of: transaction, account)
    _ = try await ask(
      .post, "/purchases/subscriptions/\(StoreHarness.magazine)/tokens/\(bought):acknowledge")
    _ = try await store.control("pause", transaction)
    #expect(try await subscription(bought).subscriptionState == "SUBSCRIPTION_STATE_ACTIVE")
    store.clock.advance(by: .seconds(301))
    let paused = try await subscription(bought)
    #expect(paused.subscriptionState == "SUBSCRIPTION_STATE_PAUSED" && paused.state == .suspended)
    #expect(
      paused.lineItems?.first?.expiryTime.flatMap { Timestamp(rfc3339: $0) } == transaction.expiresDate)
    #expect(try await verdict(subscription: bought)?.expiresDate == transaction.expiresDate)
    let answer = try await ask(.get, "/purchases/subscriptionsv2/tokens/\(bought)")
    let resumes = try #require(transaction.expiresDate) + .seconds(300)
    #expect(String(decoding: answer.body, as: UTF8.self).contains(#""autoResumeTime":"\#(resumes)"#))
    _ = try await store.control("fail-renewals", transaction)
    store.clock.advance(by: .seconds(300))
    #expect(try await subscription(bought).subscriptionState == "SUBSCRIPTION_STATE_ON_HOLD")
    #expect(
      try await told() == ["subscription 4", "subscription 11", "subscription 10", "subscription 5"])
    _ = try await store.control("recover", transaction)
    let resumed = try await subscription(bought)
    #expect(resumed.subscriptionState == "SUBSCRIPTION_STATE_ACTIVE")
    #expect(try await verdict(subscription: bought)?.id.description == "GPA.2000-0000-0000-0001..0")
    #expect(try await told().last == "subscription 1")
  }

  @Test("an upgrade has a token of its own that names the one before it, which has expired then")
  func linked() async throws {
    let account = try await store.openAccount()
    let old = try await token(of: try await store.buy(StoreHarness.magazine, token: account), account)
    store.clock.advance(by: .seconds(10))
    let upgrade = try await store.buy(StoreHarness.premium, token: account)
    let new = try await token(of: upgrade, account)
    #expect(new != old)
    #expect(try await subscription(new).linkedPurchaseToken == old)
    let replaced = try await subscription(old)
    #expect(replaced.subscriptionState == "SUBSCRIPTION_STATE_EXPIRED")
    #expect(
      replaced.lineItems?.first?.expiryTime.flatMap { Timestamp(rfc3339: $0) } == upgrade.purchaseDate)
    #expect(try await verdict(subscription: new)?.id.description == "GPA.2000-0000-0000-0002")
  }

  @Test(
    "a refund is in the list of refunds and in an order's state, and is told; a revocation ends a subscription"
  )
  func refunds() async throws {
    let account = try await store.openAccount()
    let issue = try await store.buy(StoreHarness.issue, token: account)
    let first = try await token(of: issue, account)
    let second = try await token(of: try await store.buy(StoreHarness.magazine, token: account), account)
    #expect(try await ask(.post, "/orders/GPA.2000-0000-0000-0001:refund").status == 204)
    #expect(try await product(first).state == .cancelled)
    #expect(try await ask(.post, "/purchases/subscriptionsv2/tokens/\(second):revoke").status == 200)
    #expect(try await subscription(second).subscriptionState == "SUBSCRIPTION_STATE_EXPIRED")
    let alone = try GoogleVoidedPage(response: await ask(.get, "/purchases/voidedpurchases").body)
    #expect(alone.items.map(\.token.text) == [first])
    let page = try GoogleVoidedPage(
      response: await ask(.get, "/purchases/voidedpurchases?type=1&maxResults=1").body)
    #expect(page.items.map(\.order.id.description) == ["GPA.2000-0000-0000-0001"] && page.nextPage == "1")
    let next = try GoogleVoidedPage(
      response: await ask(.get, "/purchases/voidedpurchases?type=1&maxResults=1&token=1").body)
    #expect(next.items.map(\.order.id.description) == ["GPA.2000-0000-0000-0002"] && next.nextPage == nil)
    #expect(try await refusal(.get, "/purchases/voidedpurchases?startTime=1") == "400 INVALID_ARGUMENT")
    #expect(try await refusal(.get, "/orders/GPA.1") == "404 NOT_FOUND")
    #expect(
      try await told() == [
        "product 1", "subscription 4", "voided 2 GPA.2000-0000-0000-0001", "voided 1 GPA.2000-0000-0000-0002",
        "subscription 12", "subscription 3",
      ])
  }

  /// A server that takes what is pushed, or answers what a test says.
  private final class Receiver: AsyncHandler {
    let answers = Mutex<[HTTPStatus]>([])
    let received = Mutex<[(body: [UInt8], token: String)]>([])

    func respond(to request: HTTPRequest) async -> HTTPResponse {
      let bytes = (try? await request.body.collect(upTo: .mebibytes(1))) ?? []
      let token = request.headers["Authorization"].map { String($0.dropFirst(7)) } ?? ""
      received.withLock { $0.append((bytes, token)) }
      return HTTPResponse(status: answers.withLock { $0.isEmpty ? .ok : $0.removeFirst() })
    }
  }

  @Test("a notification is pushed with an identity token, and again with the same name until it is taken")
  func pushed() async throws {
    let receiver = Receiver()
    receiver.answers.withLock { $0 = [.serviceUnavailable] }
    var configuration = HTTPServerConfiguration(addresses: [.tcp(host: "127.0.0.1", port: 0)])
    configuration.loops = 1
    let server = HTTPServer(configuration: configuration, handler: receiver)
    try server.start()
    let address = "http://\(try #require(server.boundAddresses.first))/push"
    let client = try HTTPClient()
    let sender = GoogleSender(
      store: store.store, authority: store.google, package: "com.example.pullbox", address: address,
      client: client, log: Log(output: { _ in }))
    let account = try await store.openAccount()
    let bought = try await token(of: try await store.buy(StoreHarness.issue, token: account), account)
    _ = try await sender.pass()
    #expect(try await messages().count == 1)
    store.clock.advance(by: .seconds(2))
    _ = try await sender.pass()
    #expect(try await messages().isEmpty)
    let pushes = receiver.received.withLock { $0 }
    let parsed = try pushes.map { try GooglePushMessage(body: $0.body) }
    #expect(parsed.count == 2 && parsed[0] == parsed[1])
    let notification = try GoogleNotification(data: parsed[0].data)
    #expect(notification.package == "com.example.pullbox")
    #expect(notification.subject == .product(try #require(GooglePurchaseToken(bought))))
    let keys = try IdentityKeys(document: await store.send(.get, "/oauth2/v3/certs").body)
    _ = try IdentityToken(
      text: pushes[1].token, keys: keys,
      expected: .init(audience: address, email: GoogleAuthority.pusher), at: store.clock.now())
    await server.drain()
    client.shutDown()
  }
}
