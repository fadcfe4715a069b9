import Commerce
import CoreTypes
import Database
import HTTPServer
import PullboxAPI
import PullboxTesting
import SandboxRecords
import ServiceAPI
import Testing

@testable import SandboxStore

@Suite("Purchases")
struct PurchaseTests {
  let store: StoreHarness

  init() throws {
    store = try StoreHarness()
  }

  @Test("a purchase is in the queue until the delivery server finishes it")
  func chain() async throws {
    let token = try await store.openAccount()
    let bought = try await store.buy(StoreHarness.issue, token: token)
    #expect(bought.state == .purchased)
    #expect(bought.id.description == "2000000000000001")
    #expect(bought.originalId == bought.id)
    #expect(bought.device?.description == "reader-1")
    #expect(try await store.queue(token).map(\.id) == [bought.id])

    let path = "/store/v1/transactions/\(bought.id)/finish"
    #expect(try await store.refusal(.post, path, token: token) == .forbidden)
    #expect(try await store.refusal(.post, path, token: "unknown") == .unauthorized)
    #expect(try await store.refusal(.post, path) == .unauthorized)
    #expect(try await store.queue(token).map(\.id) == [bought.id])

    let finished = try await store.finish(bought)
    #expect(finished.finishedDate == store.clock.now())
    #expect(try await store.queue(token).isEmpty)
    #expect(try await store.all(token).map(\.id) == [bought.id])

    store.clock.advance(by: .seconds(60))
    #expect(try await store.finish(bought).finishedDate == finished.finishedDate, "finishing is idempotent")
  }

  @Test(
    "a question that waits is answered as soon as the queue is another one, and with the same when its time is over or the store ends"
  )
  func waiting() async throws {
    let token = try await store.openAccount()
    let path = "/store/v1/transactions?unfinished=true"
    func ask(_ query: String = "") async throws -> TransactionsResponse {
      try await store.get(path + query, token: token, as: TransactionsResponse.self)
    }
    let empty = try #require(try await ask().tag)
    #expect(try await ask().tag == empty)
    #expect(try await ask("&known=\(empty)").tag == empty)
    #expect(try await ask("&known=another&wait=50").tag == empty)
    async let other = ask("&known=\(empty)&wait=50")
    await store.timer.waitForSleepers()
    let bought = try await store.buy(StoreHarness.issue, token: token)
    store.timer.advance(by: PaymentStore.lookInterval)
    let full = try await other
    #expect(full.transactions.map(\.id) == [bought.id])
    let tag = try #require(full.tag)
    #expect(tag != empty)
    async let same = ask("&known=\(tag)&wait=1")
    await store.timer.waitForSleepers()
    store.timer.advance(by: .seconds(1))
    #expect(try await same.tag == tag)
    async let finished = ask("&known=\(tag)&wait=50")
    await store.timer.waitForSleepers()
    _ = try await store.finish(bought)
    store.timer.advance(by: PaymentStore.lookInterval)
    #expect(try await finished.transactions.isEmpty)
    for wait in ["51", "-1", "x"] {
      #expect(
        try await store.refusal(.get, "\(path)&known=\(tag)&wait=\(wait)", token: token) == .requestMalformed)
    }
    let last = try #require(try await ask().tag)
    store.store.questions.end()
    #expect(try await ask("&known=\(last)&wait=50").tag == last)
  }

  @Test("an account sees its own transactions only, and a stranger none")
  func isolation() async throws {
    let first = try await store.openAccount()
    let second = try await store.openAccount()
    try await store.buy(StoreHarness.issue, token: first)
    #expect(try await store.all(second).isEmpty)
    for path in ["/store/v1/transactions", "/store/v1/receipt?device=reader-1"] {
      #expect(try await store.refusal(.get, path) == .unauthorized)
      #expect(try await store.refusal(.get, path, token: "unknown") == .unauthorized)
    }
    let body = try APIJSON.encode(PurchaseRequest(product: StoreHarness.issue))
    #expect(try await store.refusal(.post, "/store/v1/purchases", body: body) == .unauthorized)
  }

  @Test("a subscription lasts one period by the calendar")
  func subscription() async throws {
    store.clock.set(try #require(Timestamp(rfc3339: "2026-01-31T10:00:00.750Z")))
    try await store.setTime("real")
    let bought = try await store.buy(StoreHarness.magazine, token: store.openAccount())
    #expect(bought.purchaseDate == Timestamp(rfc3339: "2026-01-31T10:00:00Z"))
    #expect(bought.expiresDate == Timestamp(rfc3339: "2026-02-28T10:00:00Z"))
  }

  @Test("what is bought again continues the first purchase, except consumables")
  func originals() async throws {
    let token = try await store.openAccount()
    let first = try await store.buy(StoreHarness.issue, token: token)
    let second = try await store.buy(StoreHarness.issue, token: token)
    #expect(second.id != first.id)
    #expect(second.originalId == first.id)
    _ = try await store.buy(StoreHarness.coins, token: token)
    let coins = try await store.buy(StoreHarness.coins, token: token)
    #expect(coins.originalId == coins.id)
    let other = try await store.buy(StoreHarness.issue, token: store.openAccount())
    #expect(other.originalId == other.id)
  }

  @Test("what is not for sale fails, and leaves the queue")
  func unknownProduct() async throws {
    let token = try await store.openAccount()
    let body = try APIJSON.encode(PurchaseRequest(product: StoreHarness.name("com.example.none")))
    #expect(
      try await store.refusal(.post, "/store/v1/purchases", token: token, body: body) == .productUnknown)
    let transactions = try await store.all(token)
    #expect(transactions.map(\.state) == [.failed])
    #expect(transactions.map(\.error) == ["product-unknown"])
    #expect(try await store.queue(token).isEmpty)
    let path = "/store/v1/transactions/\(transactions[0].id)/finish"
    #expect(try await store.refusal(.post, path, token: StoreHarness.credential) == .transactionUnpaid)
  }

  @Test("while the catalog does not answer, a purchase fails with a time to try again")
  func catalogDown() async throws {
    let token = try await store.openAccount()
    store.catalog.setReachable(false)
    let answer = try await store.send(
      .post, "/store/v1/purchases", token: token,
      body: APIJSON.encode(PurchaseRequest(product: StoreHarness.issue)))
    #expect(answer.status == 503)
    #expect(answer.headers["Retry-After"] == "2")
    #expect(try await store.all(token).map(\.error) == ["catalogue-unavailable"])
    store.catalog.setReachable(true)
    #expect(try await store.buy(StoreHarness.issue, token: token).state == .purchased)
  }

  @Test("a test can make an account's next purchase fail, once")
  func failNext() async throws {
    let token = try await store.openAccount()
    #expect(try await store.send(.post, "/sandbox/v1/purchases/fail-next", token: token).status == 204)
    let failed = try await store.buy(StoreHarness.issue, token: token)
    #expect(failed.state == .failed)
    #expect(failed.error == "payment-declined")
    #expect(try await store.buy(StoreHarness.issue, token: token).state == .purchased)
    #expect(try await store.refusal(.post, "/sandbox/v1/purchases/fail-next") == .unauthorized)
  }

  @Test("the queue outlives the process, and a purchase that it interrupted has failed")
  func restart() async throws {
    let token = try await store.openAccount()
    let bought = try await store.buy(StoreHarness.issue, token: token)
    // A kill in the middle of a purchase leaves this behind.
    let account = try await store.store.account(token: token)
    let order = try PurchaseOrder(PurchaseRequest(product: StoreHarness.coins))
    try await store.database.write(locking: [.everything]) { [clock = store.clock] connection in
      _ = try TransactionTable.insert(
        in: connection, account: account, order: order, key: nil, environment: .sandbox,
        requested: clock.now())
    }
    #expect(try await store.queue(token).map(\.state) == [.purchased, .purchasing])
    store.database.close()

    let again = try StoreHarness(in: store.directory)
    #expect(try await again.store.failInterrupted() == 1)
    #expect(try await again.queue(token).map(\.id) == [bought.id])
    #expect(try await again.all(token).map(\.error) == [nil, "interrupted"])
    #expect(try await again.store.failInterrupted() == 0)
    #expect(try await again.buy(StoreHarness.issue, token: token).id.description == "2000000000000003")
  }

  @Test("lists are paged by the last identifier seen")
  func paging() async throws {
    let token = try await store.openAccount()
    for _ in 0..<3 { try await store.buy(StoreHarness.coins, token: token) }
    let first: TransactionsResponse = try await store.get("/store/v1/transactions?limit=2", token: token)
    #expect(first.transactions.map(\.id.description) == ["2000000000000001", "2000000000000002"])
    let rest: TransactionsResponse = try await store.get(
      "/store/v1/transactions?limit=2&after=2000000000000002", token: token)
    #expect(rest.transactions.map(\.id.description) == ["2000000000000003"])
  }

  @Test("accounts and transactions have a bound")
  func limits() async throws {
    let small = try StoreHarness(limits: StoreLimits(accounts: 1, transactionsPerAccount: 1))
    let token = try await small.openAccount()
    let request = try APIJSON.encode(AccountRequest(territory: "FRA", name: "Another"))
    #expect(try await small.refusal(.post, "/sandbox/v1/accounts", body: request) == .tooManyRequests)
    try await small.buy(StoreHarness.issue, token: token)
    let order = try APIJSON.encode(PurchaseRequest(product: StoreHarness.issue))
    #expect(
      try await small.refusal(.post, "/store/v1/purchases", token: token, body: order) == .tooManyRequests)
  }

  @Test(
    "bad orders are refused",
    arguments: [
      "", "{", "[]", "{}", #"{"product":""}"#, #"{"product":"../x"}"#, #"{"product":"p","quantity":0}"#,
      #"{"product":"p","quantity":11}"#, #"{"product":"p","quantity":"1"}"#,
      #"{"product":"p","applicationUsername":"ada@example.com"}"#,
      #"{"product":"p","device":"a b"}"#,
      #"{"product":"p","applicationUsername":"\#(String(repeating: "x", count: 256))"}"#,
    ])
  func badOrders(body: String) async throws {
    let token = try await store.openAccount()
    let code = try await store.refusal(.post, "/store/v1/purchases", token: token, body: Array(body.utf8))
    #expect(code == .requestMalformed)
    #expect(try await store.all(token).isEmpty)
  }

  @Test("a body past its bound is refused as too large")
  func largeOrder() async throws {
    let token = try await store.openAccount()
    let body = [UInt8](repeating: 0x20, count: 16_385)
    #expect(
      try await store.refusal(.post, "/store/v1/purchases", token: token, body: body) == .requestTooLarge)
  }

  @Test(
    "bad queries and unknown transactions are refused",
    arguments: [
      ("/store/v1/transactions?unfinished=maybe", ProblemCode.requestMalformed),
      ("/store/v1/transactions?limit=0", .requestMalformed),
      ("/store/v1/transactions?limit=1001", .requestMalformed),
      ("/store/v1/transactions?after=%20", .requestMalformed), ("/store/v1/receipt", .requestMalformed),
      ("/store/v1/receipt?device=", .requestMalformed),
      ("/store/v1/receipt?device=a&bundle=%2e", .requestMalformed),
      ("/store/v1/none", .notFound),
    ])
  func badQueries(target: String, code: ProblemCode) async throws {
    #expect(try await store.refusal(.get, target, token: store.openAccount()) == code)
  }

  @Test(
    "a transaction that does not exist cannot be finished",
    arguments: ["1", "0", "x", "99999999999999999999", "-1"])
  func unknownTransaction(id: String) async throws {
    let code = try await store.refusal(
      .post, "/store/v1/transactions/\(id)/finish", token: StoreHarness.credential)
    #expect(code == .transactionUnknown)
  }

  @Test(
    "accounts need a territory of three letters and a name",
    arguments: [
      ("fra", "x"), ("FRAN", "x"), ("", "x"), ("FRA", ""), ("FRA", String(repeating: "x", count: 101)),
    ])
  func badAccounts(territory: String, name: String) async throws {
    let body = try APIJSON.encode(AccountRequest(territory: territory, name: name))
    #expect(try await store.refusal(.post, "/sandbox/v1/accounts", body: body) == .requestMalformed)
  }

  @Test("tokens are kept as digests only")
  func tokens() async throws {
    let token = try await store.openAccount()
    let row = try await store.database.read { try $0.first("SELECT * FROM accounts") }
    let values = try #require(row).values
    #expect(!values.contains(.text(token)))
    #expect(!values.contains(.blob(Array(token.utf8))))
  }

  @Test("the service says that it lives and that it is ready")
  func health() async throws {
    #expect(try await store.send(.get, "/healthz").status == 200)
    #expect(try await store.send(.get, "/readyz").status == 200)
    store.database.close()
    #expect(try await store.send(.get, "/healthz").status == 200)
    #expect(try await store.send(.get, "/readyz").status == 503)
  }
}
