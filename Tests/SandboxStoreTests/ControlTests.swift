import Commerce
import CoreTypes
import HTTPServer
import PullboxAPI
import PullboxTesting
import Receipts
import SandboxRecords
import ServiceAPI
import Testing

@testable import SandboxStore

/// The settings of tests under `/sandbox/v1`, and the view of customers then.
@Suite("Test controls and customers' routes")
struct ControlTests {
  let store: StoreHarness

  init() throws {
    store = try StoreHarness()
  }

  private func account(_ token: String) async throws -> StoreAccount {
    try await store.get("/store/v1/account", token: token)
  }

  @Test("an account tells its territory, its currency, its environment, and whether it may buy")
  func accounts() async throws {
    let opened = try await store.openNamedAccount()
    let before = try await account(opened.token)
    #expect(before.territory == "FRA" && before.currency == "EUR")
    #expect(before.environment == "Sandbox" && before.canMakePayments)
    let after: StoreAccount = try await store.call(
      .patch, "/sandbox/v1/accounts/\(opened.account)", body: AccountChange(canMakePayments: false))
    #expect(!after.canMakePayments)
    #expect(try await account(opened.token).canMakePayments == false)
    let refused = try await store.buy(StoreHarness.coins, token: opened.token)
    #expect(refused.state == .failed && refused.error == "payment-not-allowed")
    #expect(try await store.refusal(.get, "/store/v1/account") == .unauthorized)
  }

  @Test("an account's territory never changes")
  func territory() async throws {
    let opened = try await store.openNamedAccount()
    let path = "/sandbox/v1/accounts/\(opened.account)"
    let body = try APIJSON.encode(AccountChange(territory: "USA"))
    #expect(try await store.refusal(.patch, path, body: body) == .stateConflict)
    #expect(try await store.refusal(.patch, "/sandbox/v1/accounts/none", body: Array("{}".utf8)) == .notFound)
  }

  @Test(
    "a member that a control does not know is refused by its name, at every depth, and changes nothing",
    arguments: [
      ("POST", "accounts", #"{"territory":"FRA","name":"Ada","askToBuy":true}"#, "askToBuy"),
      ("PATCH", "accounts/{account}", #"{"asksToBuy":true}"#, "asksToBuy"),
      ("POST", "purchases/fail-next", #"{"error":"payment-declined","times":2}"#, "times"),
      ("PUT", "time", #"{"month":"5m","renewal":6}"#, "renewal"),
      ("PUT", "faults", #"{"latancy":5}"#, "latancy"),
      (
        "PUT", "offers/com.example.a",
        #"{"introductory":{"payment":"free-trial","period":"P1W","price":{}}}"#, "introductory.price"
      ),
      ("POST", "codes", #"{"product":"com.example.a","uses":1,"count":3}"#, "count"),
      ("POST", "transactions/2000000000000001/request-refund", #"{"reasons":"LEGAL"}"#, "reasons"),
    ])
  func unknownMembers(method: String, path: String, body: String, member: String) async throws {
    let opened = try await store.openNamedAccount()
    let answer = try await store.send(
      HTTPMethod(rawValue: method),
      "/sandbox/v1/\(path.replacing("{account}", with: opened.account))",
      token: opened.token, body: Array(body.utf8))
    let problem = try APIJSON.decode(Problem.self, from: answer.body)
    #expect(problem.code == .requestMalformed, "\(answer.status)")
    #expect(problem.detail == "\(member): there is no such member", "\(problem.detail ?? "")")
  }

  @Test("receipts say with which version an account came by the application, and when, as a test says it")
  func application() async throws {
    let opened = try await store.openNamedAccount()
    func receipt() async throws -> AppReceipt {
      let base64 = try await store.receipt(opened.token)
      let answer = try await store.verify(base64)
      let claims = try UnverifiedAppReceipt(base64: base64).claims
      #expect(answer.receipt?.originalApplicationVersion == claims.originalApplicationVersion)
      #expect(answer.receipt?.downloadIdentifier == claims.downloadIdentifier)
      return claims
    }
    let before = try await receipt()
    #expect(before.originalApplicationVersion == "1.0" && before.downloadIdentifier == 0)
    #expect(before.originalPurchaseDate == Timestamp(year: 2013, month: 8, day: 1, hour: 7))

    let path = "/sandbox/v1/accounts/\(opened.account)"
    let date = Timestamp(year: 2024, month: 3, day: 1)
    _ = try await store.call(
      .patch, path,
      body: AccountChange(originalApplicationVersion: "1.4", originalPurchaseDate: date),
      as: StoreAccount.self)
    let after = try await receipt()
    #expect(after.originalApplicationVersion == "1.4" && after.originalPurchaseDate == date)
    let download = try #require(after.downloadIdentifier)
    #expect(AppTransactionIdentifier(String(download)) != nil)

    _ = try await store.call(.patch, path, body: AccountChange(downloadId: 0), as: StoreAccount.self)
    #expect(try await receipt().downloadIdentifier == 0)
    #expect(try await receipt().originalApplicationVersion == "1.4")

    for change in [
      AccountChange(originalApplicationVersion: ""), AccountChange(originalApplicationVersion: "1 4"),
      AccountChange(downloadId: -1),
    ] {
      let body = try APIJSON.encode(change)
      #expect(try await store.refusal(.patch, path, body: body) == .requestMalformed)
    }
  }

  @Test(
    "the next purchase fails as a test says, once",
    arguments: ["payment-cancelled", "payment-declined", "payment-not-allowed"])
  func failNext(error: String) async throws {
    let token = try await store.openAccount()
    let body = try APIJSON.encode(PurchaseFailureRequest(error: error))
    #expect(
      try await store.send(.post, "/sandbox/v1/purchases/fail-next", token: token, body: body).status == 204)
    let failed = try await store.buy(StoreHarness.coins, token: token)
    #expect(failed.state == .failed && failed.error == error)
    #expect(try await store.buy(StoreHarness.coins, token: token).state == .purchased)
    let unknown = try APIJSON.encode(PurchaseFailureRequest(error: "product-unknown"))
    let path = "/sandbox/v1/purchases/fail-next"
    #expect(try await store.refusal(.post, path, token: token, body: unknown) == .requestMalformed)
  }

  @Test("an interrupted purchase stays purchasing, also over a start, until it is decided")
  func interrupted() async throws {
    let token = try await store.openAccount()
    let body = try APIJSON.encode(PurchaseFailureRequest(error: "interrupted"))
    _ = try await store.send(.post, "/sandbox/v1/purchases/fail-next", token: token, body: body)
    let waiting = try await store.buy(StoreHarness.coins, token: token)
    #expect(waiting.state == .purchasing)
    #expect(try await store.store.failInterrupted() == 0)
    #expect(try await store.queue(token).map(\.state) == [.purchasing])
    #expect(
      try await store.act("decide", on: waiting, body: PurchaseDecision(approve: true)).state == .purchased)
    let again = "/sandbox/v1/transactions/\(waiting.id)/decide"
    let decision = try APIJSON.encode(PurchaseDecision(approve: true))
    #expect(try await store.refusal(.post, again, body: decision) == .stateConflict)
  }

  @Test(
    "a purchase that needs an approval is deferred, and then sold or failed, after a thirtieth of a month failed"
  )
  func askToBuy() async throws {
    let opened = try await store.openNamedAccount()
    let _: StoreAccount = try await store.call(
      .patch, "/sandbox/v1/accounts/\(opened.account)", body: AccountChange(askToBuy: true))
    let first = try await store.buy(StoreHarness.issue, token: opened.token)
    let second = try await store.buy(StoreHarness.coins, token: opened.token)
    let third = try await store.buy(StoreHarness.coins, token: opened.token)
    #expect([first, second, third].allSatisfy { $0.state == .deferred })
    let path = "/store/v1/transactions/\(first.id)/finish"
    #expect(try await store.refusal(.post, path, token: StoreHarness.credential) == .transactionUnpaid)
    #expect(
      try await store.act("decide", on: first, body: PurchaseDecision(approve: true)).state == .purchased)
    let refused = try await store.act("decide", on: second, body: PurchaseDecision(approve: false))
    #expect(refused.state == .failed && refused.error == "not-approved")
    store.clock.advance(by: .milliseconds(9_999))
    #expect(try await store.all(opened.token).last?.state == .deferred)
    store.clock.advance(by: .milliseconds(1))
    #expect(try await store.all(opened.token).last?.error == "not-approved")
    try await store.setTime("real")
    try await store.buy(StoreHarness.coins, token: opened.token)
    store.clock.advance(by: .seconds(86_399))
    #expect(try await store.all(opened.token).last?.state == .deferred)
    store.clock.advance(by: .seconds(1))
    #expect(try await store.all(opened.token).last?.error == "not-approved")
  }

  @Test("one purchase may need an approval where the account needs none")
  func askOnce() async throws {
    let token = try await store.openAccount()
    let response: TransactionResponse = try await store.call(
      .post, "/store/v1/purchases", token: token,
      body: PurchaseRequest(product: StoreHarness.coins, askToBuy: true), status: 201)
    #expect(response.transaction.state == .deferred)
    #expect(try await store.buy(StoreHarness.coins, token: token).state == .purchased)
  }

  @Test("a transaction keeps price, currency, storefront, environment, device and the application's account")
  func kept() async throws {
    let token = try await store.openAccount()
    let user = String(repeating: "u", count: 255)
    let response: TransactionResponse = try await store.call(
      .post, "/store/v1/purchases", token: token,
      body: PurchaseRequest(
        product: StoreHarness.coins, quantity: 10, applicationUsername: user,
        device: DeviceIdentifier("reader-1")), status: 201)
    let bought = response.transaction
    #expect(bought.price == "0.99" && bought.currency == "EUR")
    #expect(bought.storefront == "FRA" && bought.environment == "Sandbox")
    #expect(bought.device?.description == "reader-1" && bought.applicationUsername == user)
    #expect(bought.quantity == 10)
  }

  @Test("more than one is sold of consumables only")
  func quantity() async throws {
    let token = try await store.openAccount()
    for product in [StoreHarness.issue, StoreHarness.magazine, StoreHarness.season] {
      let body = try APIJSON.encode(PurchaseRequest(product: product, quantity: 2))
      #expect(
        try await store.refusal(.post, "/store/v1/purchases", token: token, body: body) == .requestMalformed)
    }
    #expect(try await store.all(token).map(\.error) == Array(repeating: "quantity-refused", count: 3))
  }

  @Test("a restore makes transactions with new ids that keep the original and cost nothing")
  func restore() async throws {
    let token = try await store.openAccount()
    let issue = try await store.buy(StoreHarness.issue, token: token)
    let magazine = try await store.buy(StoreHarness.magazine, token: token)
    try await store.buy(StoreHarness.coins, token: token)
    try await store.buy(StoreHarness.season, token: token)
    func restore(on device: String) async throws -> [StoreTransaction] {
      let wanted = RestorePurchasesRequest(device: try #require(DeviceIdentifier(device)))
      let answer: TransactionsResponse = try await store.call(
        .post, "/store/v1/restore", token: token, body: wanted)
      return answer.transactions
    }
    let restored = try await restore(on: "reader-2")
    #expect(restored.map(\.state) == [.restored, .restored])
    #expect(restored.map(\.originalId) == [issue.id, magazine.id])
    #expect(Set(restored.map(\.id)).isDisjoint(with: [issue.id, magazine.id]))
    #expect(restored.allSatisfy { $0.price == nil && $0.device?.description == "reader-2" })
    #expect(restored[1].expiresDate == magazine.expiresDate)
    #expect(try await restore(on: "reader-2").map(\.id) == restored.map(\.id), "those are not finished")
    for transaction in restored { _ = try await store.finish(transaction) }
    #expect(Set(try await restore(on: "reader-2").map(\.id)).isDisjoint(with: restored.map(\.id)))
    let entries = try UnverifiedAppReceipt(base64: await store.receipt(token)).claims.purchases
    #expect(
      Set(
        entries.filter { $0.originalTransactionIdentifier == issue.id.description }.map(
          \.originalPurchaseDate))
        == [issue.purchaseDate])
    #expect(try await store.refusal(.post, "/store/v1/restore") == .unauthorized)
  }

  @Test("a refund is in the receipt, and taken back it is not")
  func refund() async throws {
    let token = try await store.openAccount()
    let issue = try await store.buy(StoreHarness.issue, token: token)
    store.clock.advance(by: .seconds(60))
    let refunded = try await store.act("refund", on: issue, body: RefundRequest(percentage: 50, reason: 1))
    #expect(refunded.revocationDate == issue.purchaseDate + .seconds(60))
    func cancelled() async throws -> Timestamp? {
      try UnverifiedAppReceipt(base64: await store.receipt(token)).claims.purchases.first?.cancellationDate
    }
    #expect(try await cancelled() == refunded.revocationDate)
    store.clock.advance(by: .seconds(60))
    #expect(try await store.act("refund", on: issue).revocationDate == refunded.revocationDate, "only once")
    let again = try await store.buy(StoreHarness.issue, token: token)
    #expect(again.state == .purchased && again.originalId == again.id, "it is not owned, and sold anew")
    #expect(try await store.act("reverse", on: issue).revocationDate == nil)
    #expect(try await cancelled() == nil)
    let path = "/sandbox/v1/transactions/\(issue.id)"
    #expect(try await store.refusal(.post, "\(path)/reverse") == .transactionUnpaid)
    for body in [RefundRequest(percentage: 0), RefundRequest(percentage: 101), RefundRequest(reason: 2)] {
      #expect(
        try await store.refusal(.post, "\(path)/refund", body: APIJSON.encode(body)) == .requestMalformed)
    }
  }

  @Test(
    "a refund reaches what was restored of the sale, its reversal too, and the product can be bought again")
  func refundOfRestored() async throws {
    let token = try await store.openAccount()
    let issue = try await store.buy(StoreHarness.issue, token: token)
    let wanted = RestorePurchasesRequest(device: try #require(DeviceIdentifier("reader-2")))
    let _: TransactionsResponse = try await store.call(
      .post, "/store/v1/restore", token: token, body: wanted)
    func cancelled() async throws -> [Bool] {
      try UnverifiedAppReceipt(base64: await store.receipt(token)).claims.purchases
        .map { $0.cancellationDate != nil }
    }
    _ = try await store.act("refund", on: issue)
    #expect(try await cancelled() == [true, true])
    _ = try await store.act("reverse", on: issue)
    #expect(try await cancelled() == [false, false])
    _ = try await store.act("refund", on: issue)
    let again = try await store.buy(StoreHarness.issue, token: token)
    #expect(again.state == .purchased && again.originalId == again.id)
  }

  @Test("a subscription whose period was refunded can be bought again at once")
  func refundedSubscription() async throws {
    let token = try await store.openAccount()
    let first = try await store.buy(StoreHarness.magazine, token: token)
    _ = try await store.act("refund", on: first)
    let again = try await store.buy(StoreHarness.magazine, token: token)
    #expect(again.state == .purchased && again.id != first.id && again.originalId == first.id)
  }

  @Test("what was restored was not charged and is not refunded; family sharing of anything sold can end")
  func revoke() async throws {
    let token = try await store.openAccount()
    let issue = try await store.buy(StoreHarness.issue, token: token)
    let restored = try await store.buy(StoreHarness.issue, token: token)
    #expect(
      try await store.refusal(.post, "/sandbox/v1/transactions/\(restored.id)/refund") == .transactionUnpaid)
    #expect(try await store.act("revoke", on: issue).revocationDate == store.clock.now())
    #expect(
      try await store.refusal(.post, "/sandbox/v1/transactions/\(issue.id)/reverse") == .transactionUnpaid)
    #expect(try await store.refusal(.post, "/sandbox/v1/transactions/1/revoke") == .transactionUnknown)
  }

  @Test("where a control key is set, the controls take it and nothing else")
  func controlKey() async throws {
    let guarded = try StoreHarness(controlKey: "control-key")
    let body = try APIJSON.encode(StoreTime(month: "30s", renewals: 6))
    for key in [nil, "", "control", "Bearer control-key"] {
      let answer = try await guarded.send(.put, "/sandbox/v1/time", control: key, body: body)
      #expect(answer.status == 403)
    }
    #expect(
      try await guarded.send(.put, "/sandbox/v1/time", control: "control-key", body: body).status == 200)
    #expect(try await guarded.send(.get, "/healthz").status == 200)
  }
}
