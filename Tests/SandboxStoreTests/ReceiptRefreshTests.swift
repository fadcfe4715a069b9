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

/// docs/sandbox-store.md, "Receipts": a device refreshes its receipt by asking for it again.
@Suite("Receipts that are refreshed")
struct ReceiptRefreshTests {
  let store: StoreHarness
  /// The token of the account that buys, on the device reader-1.
  private let token: String

  init() async throws {
    store = try StoreHarness()
    token = try await store.openAccount()
  }

  private func receipt(of device: String = "reader-1") async throws -> (text: String, claims: AppReceipt) {
    let text = try await store.receipt(token, query: "device=\(device)")
    return (text, try UnverifiedAppReceipt(base64: text).claims)
  }

  private func products(of receipt: AppReceipt) -> Set<String> {
    Set(receipt.purchases.map(\.productIdentifier))
  }

  @Test("it is made when it is asked for, and holds what was bought since; the one before stays what it was")
  func made() async throws {
    try await store.buy(StoreHarness.issue, token: token)
    let first = try await receipt()
    #expect(first.claims.creationDate == store.clock.now().wholeSeconds)
    let moment = store.clock.now().wholeSeconds
    store.clock.advance(by: .seconds(60))
    let bought = try await store.buy(StoreHarness.coins, token: token)
    let second = try await receipt()
    #expect(second.claims.creationDate == moment + .seconds(60))
    #expect(products(of: first.claims) == ["\(StoreHarness.issue)"])
    #expect(products(of: second.claims) == ["\(StoreHarness.issue)", "\(StoreHarness.coins)"])
    #expect(
      second.claims.purchases.first { $0.productIdentifier == "\(StoreHarness.coins)" }?.transactionIdentifier
        == bought.id.description)
    for (text, date) in [(first.text, moment), (second.text, moment + .seconds(60))] {
      let answer = try await store.verify(text)
      #expect(answer.status == .valid && answer.receipt?.creationDate == date)
    }
  }

  @Test(
    "a consumable that is finished is in none that is made afterwards; what is owned is in each, with its first dates"
  )
  func consumables() async throws {
    let issue = try await store.buy(StoreHarness.issue, token: token)
    let coins = try await store.buy(StoreHarness.coins, token: token)
    let first = try await receipt()
    _ = try await store.finish(issue)
    _ = try await store.finish(coins)
    store.clock.advance(by: .seconds(60))
    let second = try await receipt()
    #expect(products(of: second.claims) == ["\(StoreHarness.issue)"])
    let (before, after) = (
      first.claims.purchases.first { $0.productIdentifier == "\(StoreHarness.issue)" },
      second.claims.purchases.first
    )
    #expect(before?.transactionIdentifier == after?.transactionIdentifier)
    #expect(
      before?.purchaseDate == after?.purchaseDate
        && before?.originalPurchaseDate == after?.originalPurchaseDate)
    // The earlier one is as genuine as it was, and tells what it told.
    let answer = try await store.verify(first.text)
    #expect(answer.status == .valid)
    #expect(
      Set(answer.receipt?.purchases.map(\.productIdentifier) ?? [])
        == ["\(StoreHarness.issue)", "\(StoreHarness.coins)"])
  }

  @Test("a refund since is in the refreshed one, and not in the one before")
  func refunded() async throws {
    let issue = try await store.buy(StoreHarness.issue, token: token)
    let first = try await receipt()
    let answer = try await store.send(.post, "/sandbox/v1/transactions/\(issue.id)/refund")
    #expect(answer.status == 200)
    let second = try await receipt()
    #expect(first.claims.purchases.map(\.cancellationDate) == [nil])
    #expect(second.claims.purchases.map { $0.cancellationDate != nil } == [true])
  }

  @Test("each is bound to the device that asked for it, also where another one bought")
  func bound() async throws {
    try await store.buy(StoreHarness.issue, token: token)
    for (device, other) in [("reader-1", "reader-2"), ("reader-2", "reader-1")] {
      let refreshed = try await receipt(of: device)
      #expect(refreshed.claims.deviceBinding.matches(try #require(DeviceIdentifier(device))))
      #expect(!refreshed.claims.deviceBinding.matches(try #require(DeviceIdentifier(other))))
      #expect(products(of: refreshed.claims) == ["\(StoreHarness.issue)"])
    }
  }
}
