import Commerce
import CoreTypes
import HTTPServer
import PullboxAPI
import PullboxTesting
import Receipts
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
}
