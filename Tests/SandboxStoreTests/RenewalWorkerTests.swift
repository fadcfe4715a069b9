import Commerce
import CoreTypes
import Database
import HTTPServer
import PullboxAPI
import PullboxTesting
import SandboxRecords
import ServiceAPI
import ServiceRuntime
import Testing

@testable import SandboxStore

@Suite("Renewals that nothing asks about", .timeLimit(.minutes(5)))
struct RenewalWorkerTests {
  let store: StoreHarness

  init() throws {
    store = try StoreHarness()
  }

  private func running(_ body: () async throws -> Void) async throws {
    try await withThrowingTaskGroup { group in
      group.addTask { [store] in await store.store.runRenewals(log: Log(output: { _ in })) }
      do {
        try await body()
      } catch {
        group.cancelAll()
        throw error
      }
      group.cancelAll()
    }
  }

  /// Lets the worker's time pass until the database holds so many transactions; nothing is asked of the store.
  private func waitForTransactions(_ count: Int64) async throws {
    func held() async throws -> Int64 {
      try await store.database.read {
        try $0.first("SELECT count(*) AS count FROM transactions")?.integer("count") ?? 0
      }
    }
    while try await held() < count {
      await store.timer.waitForSleepers()
      store.timer.advance(by: .seconds(60))
      await Task.yield()
    }
    #expect(try await held() == count)
  }

  @Test("they are made at their moments by the worker, and a purchase tells it of the next one")
  func worker() async throws {
    let token = try await store.openAccount()
    try await running {
      let first = try await store.buy(StoreHarness.magazine, token: token)
      for period in 1...6 {
        store.clock.advance(by: .seconds(300))
        try await waitForTransactions(Int64(period + 1))
      }
      store.clock.advance(by: .seconds(3000))
      let ends = try await store.database.read { connection in
        try connection.query("SELECT expires FROM transactions ORDER BY id").map {
          try $0.integer("expires") - first.purchaseDate.millisecondsSinceEpoch
        }
      }
      #expect(ends == (1...7).map { $0 * 300_000 })
    }
  }

  @Test("the worker sleeps until the next moment, a minute at the longest")
  func pause() async throws {
    let token = try await store.openAccount()
    try await store.setTime("30s")
    try await store.buy(StoreHarness.magazine, token: token)
    try await running { #expect(await nextLook() == .seconds(30)) }
    try await store.setTime("real")
    _ = try await store.buy(StoreHarness.issue, token: token)
    store.clock.advance(by: .seconds(30))
    try await running { #expect(await nextLook() == .seconds(60)) }
  }

  /// A purchase of before wakes the worker out of its first sleep.
  private func nextLook() async -> Duration {
    while true {
      await store.timer.waitForSleepers()
      if let next = store.timer.timeToNextSleeper { return next }
    }
  }

  @Test("an approval that was waited for too long is refused by the worker too")
  func approvals() async throws {
    let opened = try await store.openNamedAccount()
    let _: StoreAccount = try await store.call(
      .patch, "/sandbox/v1/accounts/\(opened.account)", body: AccountChange(askToBuy: true))
    try await store.buy(StoreHarness.coins, token: opened.token)
    store.clock.advance(by: .seconds(10))
    try await running {
      await store.timer.waitForSleepers()
      let errors = try await store.database.read {
        try $0.query("SELECT failure FROM transactions").map { try $0.optionalText("failure") }
      }
      #expect(errors == ["not-approved"])
    }
  }

  @Test(
    "many that fall due at one moment are made while others are answered: a thousand, and ten thousand in a thorough run"
  )
  func many() async throws {
    // Of twenty batches, or two hundred.
    let count = ExhaustiveShare.environment.isThorough ? 10_000 : 1000
    let token = try await store.openAccount()
    try await store.buy(StoreHarness.magazine, token: token)
    try await store.database.write(locking: [.everything]) { connection in
      try connection.execute(
        """
        WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < ?)
        INSERT INTO accounts (name, title, territory, token_digest, created)
        SELECT 'n' || n, 'A reader', 'FRA', randomblob(32), 0 FROM numbers
        """, [.integer(count - 1)])
      try connection.execute(
        """
        INSERT INTO transactions (account, product, quantity, requested, state, type, original_id, purchased, expires,
          reason, original_purchased, price, currency, storefront)
        SELECT accounts.id, t.product, 1, t.requested, t.state, t.type, 2000000000000000 + accounts.id, t.purchased,
          t.expires, t.reason, t.original_purchased, t.price, t.currency, t.storefront
        FROM accounts, transactions AS t WHERE accounts.id > 1 ORDER BY accounts.id
        """)
      try connection.execute(
        """
        INSERT INTO subscriptions (original_id, account, group_name, due, document)
        SELECT t.id, t.account, s.group_name, s.due, s.document
        FROM transactions AS t, subscriptions AS s WHERE t.account > 1
        """)
    }
    store.clock.advance(by: .seconds(300))
    let clock = SystemMonotonicClock()
    let start = clock.now()
    let stranger = try await store.openAccount()
    async let made: Void = store.store.catchUp()
    var waits: [Duration] = []
    while try await store.database.read({ try SubscriptionTable.nextDue(in: $0) })
      .map({ $0 <= store.clock.now() }) ?? false
    {
      let asked = clock.now()
      #expect(try await store.all(stranger).isEmpty)
      waits.append(clock.now() - asked)
    }
    try await made
    let taken = clock.now() - start
    #expect(
      try await store.database.read {
        try $0.first("SELECT count(*) AS count FROM transactions")?.integer("count")
      }
        == Int64(2 * count))
    waits.sort()
    let slowest = waits.isEmpty ? .zero : waits[waits.count * 99 / 100]
    print(
      "\(count) renewals in \(taken), \(waits.count) answers meanwhile, the 99th of a hundred in \(slowest)")
    // A build without optimization, on a machine that others use: the bounds of a release are narrower.
    #expect(taken < .seconds(150))
    #expect(slowest < .seconds(10))
  }

  @Test("a purchase whose call ended without a decision has failed, and its key serves another one")
  func abandoned() async throws {
    let token = try await store.openAccount()
    try await store.setTime("real")
    store.clock.set(try #require(Timestamp(rfc3339: "9999-12-20T00:00:00Z")))
    let body = try APIJSON.encode(PurchaseRequest(product: StoreHarness.magazine))
    let path = "/store/v1/purchases"
    // The period would end after the last year that dates have.
    #expect(try await store.send(.post, path, token: token, key: "key-1", body: body).status == 400)
    store.clock.set(Timestamp(millisecondsSinceEpoch: 1_795_249_800_000))
    let again = try await store.send(.post, path, token: token, key: "key-1", body: body)
    #expect(again.status == 201)
    #expect(try await store.all(token).map(\.error) == ["interrupted", nil])
    #expect(try await store.store.failInterrupted() == 0)
  }

  @Test("what was left behind without a key fails at the worker's next pass")
  func leftBehind() async throws {
    let token = try await store.openAccount()
    try await store.setTime("real")
    store.clock.set(try #require(Timestamp(rfc3339: "9999-12-20T00:00:00Z")))
    let body = try APIJSON.encode(PurchaseRequest(product: StoreHarness.magazine))
    #expect(
      try await store.refusal(.post, "/store/v1/purchases", token: token, body: body) == .requestMalformed)
    #expect(try await store.store.failInterrupted() == 1)
    #expect(try await store.all(token).map(\.error) == ["interrupted"])
  }
}
