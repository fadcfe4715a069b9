import Commerce
import CoreTypes
import HTTPServer
import PullboxAPI
import PullboxTesting
import Receipts
import ServiceAPI
import Testing

@testable import SandboxStore

/// docs/catalogue.md, "Product types".
@Suite("The table of product types, at the sandbox store")
struct ProductTypeTests {
  let store: StoreHarness

  init() throws {
    store = try StoreHarness()
  }

  private func product(_ cell: ProductTypeTable.Cell) throws -> ProductIdentifier {
    switch try #require(ProductType(rawValue: cell.type)) {
    case .nonConsumable: StoreHarness.issue
    case .consumable: StoreHarness.coins
    case .autoRenewableSubscription: StoreHarness.magazine
    case .nonRenewingSubscription: StoreHarness.season
    case .freeSubscription: StoreHarness.gratis
    }
  }

  /// Whether a fresh receipt of that device has the purchase.
  private func isShown(
    _ purchase: StoreTransaction, to device: String = "reader-1", _ token: String
  ) async throws -> Bool {
    let receipt = try await store.verify(store.receipt(token, query: "device=\(device)")).receipt
    return receipt?.purchases.contains { $0.originalTransactionIdentifier == purchase.originalId.description }
      ?? false
  }

  @Test("a purchase is repeated as its type lets it be", arguments: ProductTypeTable.cells(.bought))
  func bought(cell: ProductTypeTable.Cell) async throws {
    let product = try product(cell)
    let token = try await store.openAccount()
    let first = try await store.buy(product, token: token)
    #expect(first.state == .purchased)
    if cell.word == .onceAtATime {
      let body = try APIJSON.encode(PurchaseRequest(product: product))
      let refused = try await store.refusal(.post, "/store/v1/purchases", token: token, body: body)
      #expect(refused == .alreadySubscribed)
      _ = try await store.change(first, token: token, SubscriptionChange(autoRenew: false))
      store.clock.advance(by: .seconds(301))
      #expect(try await store.buy(product, token: token).state == .purchased)
      return
    }
    let second = try await store.buy(product, token: token)
    switch cell.word {
    case .once:
      #expect(second.state == .restored && second.originalId == first.originalId)
    case .manyTimes:
      #expect(second.state == .purchased && second.id != first.id && second.price == first.price)
    default: Issue.record("\(cell)")
    }
  }

  @Test("a receipt has a purchase as long as its type says", arguments: ProductTypeTable.cells(.inReceipt))
  func inReceipt(cell: ProductTypeTable.Cell) async throws {
    let token = try await store.openAccount()
    let bought = try await store.buy(try product(cell), token: token)
    #expect(try await isShown(bought, token))
    _ = try await store.finish(bought)
    #expect(try await isShown(bought, token) == (cell.word == .always))
  }

  @Test(
    "another device of the account finds in its receipts what its type lets it",
    arguments: ProductTypeTable.cells(.onAllDevices))
  func onAllDevices(cell: ProductTypeTable.Cell) async throws {
    let token = try await store.openAccount()
    let bought = try await store.buy(try product(cell), token: token)
    // The other device's queue has only what it bought itself.
    let queue: TransactionsResponse = try await store.get(
      "/store/v1/transactions?unfinished=true&device=reader-2", token: token)
    #expect(queue.transactions.isEmpty)
    _ = try await store.finish(bought)
    #expect(try await isShown(bought, to: "reader-2", token) == (cell.word == .yes))
  }

  @Test("a restore at the store makes what its type lets it", arguments: ProductTypeTable.cells(.restored))
  func restored(cell: ProductTypeTable.Cell) async throws {
    let token = try await store.openAccount()
    let bought = try await store.buy(try product(cell), token: token)
    _ = try await store.finish(bought)
    let restored: TransactionsResponse = try await store.call(
      .post, "/store/v1/restore", token: token, body: ["device": "reader-2"])
    #expect(restored.transactions.map(\.originalId) == (cell.word == .yes ? [bought.originalId] : []))
    #expect(restored.transactions.allSatisfy { $0.state == .restored })
  }
}
