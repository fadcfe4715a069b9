import Commerce
import CoreTypes
import HTTPServer
import PullboxAPI
import PullboxTesting
import Receipts
import ServiceAPI
import Testing

@testable import SandboxStore

/// docs/sandbox-store.md, "What is sold".
@Suite("What the store does not sell twice, nor to another device")
struct SaleRefusalTests {
  let store: StoreHarness

  init() throws {
    store = try StoreHarness()
  }

  @Test("an owned non-consumable is not sold again, also not when three ask at once")
  func owned() async throws {
    let token = try await store.openAccount()
    async let first = store.buy(StoreHarness.issue, token: token)
    async let second = store.buy(StoreHarness.issue, token: token)
    async let third = store.buy(StoreHarness.issue, token: token)
    let all = try await [first, second, third]
    let sold = all.filter { $0.state == .purchased }
    #expect(sold.count == 1)
    #expect(all.count { $0.state == .restored } == 2)
    #expect(Set(all.map(\.id)).count == 3)
    #expect(Set(all.map(\.originalId)) == Set(sold.map(\.id)))
    let later = try await store.buy(StoreHarness.issue, token: token)
    #expect(later.state == .restored)
    #expect(later.originalId == sold.first?.id)
  }

  @Test("a subscription that runs is refused with the end of its period, also when three ask at once")
  func running() async throws {
    let token = try await store.openAccount()
    let body = try APIJSON.encode(PurchaseRequest(product: StoreHarness.magazine))
    async let first = store.send(.post, "/store/v1/purchases", token: token, body: body)
    async let second = store.send(.post, "/store/v1/purchases", token: token, body: body)
    async let third = store.send(.post, "/store/v1/purchases", token: token, body: body)
    let answers = try await [first, second, third]
    #expect(answers.map(\.status).sorted() == [201, 409, 409])
    let sold = try #require(answers.first { $0.status == 201 })
    let bought = try APIJSON.decode(TransactionResponse.self, from: sold.body).transaction
    let expires = try #require(bought.expiresDate).rfc3339
    for refused in answers where refused.status == 409 {
      let text = String(decoding: refused.body, as: UTF8.self)
      #expect(text.contains(#""type":"urn:pullbox:problem:already-subscribed""#))
      #expect(text.contains(#""expiresDate":"\#(expires)""#))
    }
  }

  @Test("a non-renewing subscription is in receipts until its transaction is finished, and in none after")
  func nonRenewing() async throws {
    let token = try await store.openAccount()
    let season = try await store.buy(StoreHarness.season, token: token)
    func held() async throws -> [String] {
      try await store.verify(store.receipt(token)).receipt?.purchases.map(\.transactionIdentifier) ?? []
    }
    #expect(try await held() == [season.id.description])
    #expect(try await held() == [season.id.description])
    _ = try await store.finish(season)
    #expect(try await held().isEmpty)
    let again = try await store.buy(StoreHarness.season, token: token)
    #expect(again.state == .purchased, "a season is bought as often as one likes")
  }

  @Test("a device is told of what it bought and of what belongs to no device")
  func devices() async throws {
    let token = try await store.openAccount()
    func buy(on device: String?) async throws -> StoreTransaction {
      let request = PurchaseRequest(
        product: StoreHarness.coins, device: device.flatMap(DeviceIdentifier.init))
      let response: TransactionResponse = try await store.call(
        .post, "/store/v1/purchases", token: token, body: request, status: 201)
      return response.transaction
    }
    let first = try await buy(on: "reader-1")
    let second = try await buy(on: "reader-2")
    let free = try await buy(on: nil)
    func listed(_ query: String) async throws -> [TransactionIdentifier] {
      try await store.get("/store/v1/transactions?\(query)", token: token, as: TransactionsResponse.self)
        .transactions.map(\.id)
    }
    #expect(try await listed("unfinished=true&device=reader-1") == [first.id, free.id])
    #expect(try await listed("device=reader-2") == [second.id, free.id])
    #expect(try await listed("device=reader-1&limit=1&after=\(first.id)") == [free.id])
    #expect(try await listed("unfinished=true") == [first.id, second.id, free.id])
    #expect(
      try await store.refusal(.get, "/store/v1/transactions?device=a%20b", token: token) == .requestMalformed)
  }

  @Test("every device sees in the revision that something was sold to its account, or taken back")
  func revision() async throws {
    let token = try await store.openAccount()
    func revision() async throws -> Int64? {
      try await store.get(
        "/store/v1/transactions?unfinished=true&device=reader-2", token: token, as: TransactionsResponse.self
      ).revision
    }
    #expect(try await revision() == nil)
    let bought = try await store.buy(StoreHarness.coins, token: token)
    let sold = try await revision()
    #expect(sold != nil)
    _ = try await store.finish(bought)
    #expect(try await revision() == sold)
    #expect(try await store.send(.post, "/sandbox/v1/transactions/\(bought.id)/refund").status == 200)
    #expect(try await revision() != sold)
  }

  private func buy(
    _ product: ProductIdentifier, shown: String, key: String? = nil, asksToBuy: Bool? = nil, token: String
  ) async throws -> (problem: ProblemCode?, transaction: StoreTransaction?) {
    let request = PurchaseRequest(
      product: product, askToBuy: asksToBuy, device: DeviceIdentifier("reader-1"), shown: ShownPrice(shown))
    let answer = try await store.send(
      .post, "/store/v1/purchases", token: token, key: key, body: try APIJSON.encode(request))
    guard answer.status != 201 else {
      return (nil, try APIJSON.decode(TransactionResponse.self, from: answer.body).transaction)
    }
    return (try APIJSON.decode(Problem.self, from: answer.body).code, nil)
  }

  @Test(
    "at another price than its customer saw nothing is sold, and a repetition of a sale is the sale",
    arguments: [StoreHarness.issue, StoreHarness.coins, StoreHarness.magazine])
  func priceChanged(product: ProductIdentifier) async throws {
    let token = try await store.openAccount()
    store.catalog.setPrice("3.99", of: product)
    for shown in ["2.99 EUR", "free", "3.99 USD"] {
      #expect(try await buy(product, shown: shown, key: "k", token: token).problem == .priceChanged)
    }
    #expect(try await store.queue(token).isEmpty)
    #expect(try await store.all(token).allSatisfy { $0.error == "price-changed" })
    let sold = try await buy(product, shown: "3.99 EUR", key: "k", token: token).transaction
    #expect(sold?.price == "3.99")
    store.catalog.setPrice("4.99", of: product)
    for shown in ["3.99 EUR", "4.99 EUR"] {
      let again = try await buy(product, shown: shown, key: "k", token: token)
      #expect(again.problem == nil && again.transaction?.id == sold?.id)
    }
  }

  @Test("what is owned is restored, whatever price was shown")
  func restoredAtAnyPrice() async throws {
    let token = try await store.openAccount()
    try await store.buy(StoreHarness.issue, token: token)
    let again = try await buy(StoreHarness.issue, shown: "9.99 EUR", token: token)
    #expect(again.transaction?.state == .restored)
  }

  @Test("a purchase that is approved at a later price is refused, one at the price that was shown is sold")
  func approvedLater() async throws {
    let token = try await store.openAccount()
    for price in ["2.99", "3.99"] {
      store.catalog.setPrice("2.99", of: StoreHarness.issue)
      let waiting = try #require(
        try await buy(StoreHarness.issue, shown: "2.99 EUR", asksToBuy: true, token: token).transaction)
      #expect(waiting.state == .deferred)
      store.catalog.setPrice(price, of: StoreHarness.issue)
      let body = try APIJSON.encode(PurchaseDecision(approve: true))
      let answer = try await store.send(
        .post, "/sandbox/v1/transactions/\(waiting.id)/decide", body: body)
      let decided = try #require(try await store.all(token).last)
      if price == "2.99" {
        #expect(answer.status == 200 && decided.state == .purchased)
        _ = try await store.act("refund", on: decided)
      } else {
        #expect(try APIJSON.decode(Problem.self, from: answer.body).code == .priceChanged)
        #expect(decided.state == .failed && decided.error == "price-changed")
      }
    }
  }
}
