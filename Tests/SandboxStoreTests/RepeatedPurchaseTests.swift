import Commerce
import HTTPServer
import PullboxAPI
import ServiceAPI
import Testing

@testable import SandboxStore

/// docs/sandbox-store.md: a purchase that is repeated with its `Idempotency-Key` is one purchase.
@Suite("Purchases that are repeated")
struct RepeatedPurchaseTests {
  let store: StoreHarness

  init() throws {
    store = try StoreHarness()
  }

  private func buy(
    _ product: ProductIdentifier, key: String?, token: String, quantity: Int = 1
  ) async throws -> (status: Int, body: [UInt8]) {
    let body = try APIJSON.encode(PurchaseRequest(product: product, quantity: quantity))
    let answer = try await store.send(.post, "/store/v1/purchases", token: token, key: key, body: body)
    return (answer.status, answer.body)
  }

  private func code(_ body: [UInt8]) throws -> ProblemCode? {
    try APIJSON.decode(Problem.self, from: body).code
  }

  @Test("the same key buys once, and is answered with the transaction as it stands (R22)")
  func once() async throws {
    let token = try await store.openAccount()
    let first = try await buy(StoreHarness.coins, key: "k-1", token: token)
    let again = try await buy(StoreHarness.coins, key: "\"k-1\"", token: token)
    #expect(first.status == 201 && again.status == 201)
    #expect(first.body == again.body)
    #expect(try await store.all(token).count == 1)
    let bought = try APIJSON.decode(TransactionResponse.self, from: first.body).transaction
    _ = try await store.finish(bought)
    let later = try APIJSON.decode(
      TransactionResponse.self, from: try await buy(StoreHarness.coins, key: "k-1", token: token).body)
    #expect(later.transaction.id == bought.id && later.transaction.finishedDate != nil)
  }

  @Test("another key, no key, and the same key in another account buy anew")
  func others() async throws {
    let token = try await store.openAccount()
    for key in ["k-1", "k-2", nil, nil] {
      #expect(try await buy(StoreHarness.coins, key: key, token: token).status == 201)
    }
    #expect(try await store.all(token).count == 4)
    let other = try await store.openAccount()
    #expect(try await buy(StoreHarness.coins, key: "k-1", token: other).status == 201)
    #expect(try await store.all(other).count == 1)
  }

  @Test("a key that came with another order, and one that is no key, are refused")
  func refused() async throws {
    let token = try await store.openAccount()
    _ = try await buy(StoreHarness.coins, key: "k-1", token: token)
    let other = try await buy(StoreHarness.coins, key: "k-1", token: token, quantity: 2)
    #expect(other.status == 422)
    #expect(try code(other.body) == .idempotencyKeyReused)
    let malformed = try await buy(StoreHarness.coins, key: "two words", token: token)
    #expect(try code(malformed.body) == .requestMalformed)
    #expect(try await store.all(token).count == 1)
  }

  @Test("a declined payment stays declined; a product that was not known is asked for again")
  func failures() async throws {
    let token = try await store.openAccount()
    #expect(try await store.send(.post, "/sandbox/v1/purchases/fail-next", token: token).status == 204)
    let declined = try await buy(StoreHarness.coins, key: "k-1", token: token)
    #expect(try await buy(StoreHarness.coins, key: "k-1", token: token).body == declined.body)
    #expect(try await store.all(token).count == 1)

    let unknown = StoreHarness.name("com.example.unknown")
    for count in 2...3 {
      let answer = try await buy(unknown, key: "k-2", token: token)
      #expect(try code(answer.body) == .productUnknown)
      #expect(try await store.all(token).count == count)
    }
  }
}
