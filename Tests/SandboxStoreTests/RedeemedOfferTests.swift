import Commerce
import CoreTypes
import HTTPServer
import PullboxAPI
import PullboxTesting
import ServiceAPI
import Testing

@testable import SandboxStore

/// The next renewal of a subscription that runs, for which a code was redeemed. A month is five minutes.
@Suite("Offers that wait for a renewal")
struct RedeemedOfferTests {
  let store: StoreHarness

  init() throws {
    store = try StoreHarness()
  }

  private func code(of product: ProductIdentifier = StoreHarness.magazine) async throws -> String {
    let trial = StoreOffer(payment: .freeTrial, period: .month)
    let made: StoreCode = try await store.call(
      .post, "/sandbox/v1/codes", body: CodeRequest(product: product, offer: trial, uses: 1), status: 201)
    return made.code
  }

  private func redeem(_ code: String, token: String) async throws {
    let _: TransactionResponse = try await store.call(
      .post, "/store/v1/codes/\(code)", token: token, body: String?.none, status: 201)
  }

  private func prices(_ token: String) async throws -> [String?] {
    try await store.all(token).map(\.price)
  }

  @Test("a code brings the renewal that it is for, also where no renewals are left", arguments: [0, 1, 3])
  func usedUpRenewals(renewals: Int) async throws {
    try await store.setTime("5m", renewals: renewals)
    let token = try await store.openAccount()
    try await store.buy(StoreHarness.magazine, token: token)
    store.clock.advance(by: .seconds(300 * renewals + 1))
    let paid: [String?] = Array(repeating: "2.99", count: renewals + 1)
    #expect(try await prices(token) == paid)
    try await redeem(code(), token: token)
    store.clock.advance(by: .seconds(300))
    #expect(try await prices(token) == paid + [nil])
  }

  @Test("of the calendar's months a code brings the renewal that it is for as well")
  func realMonth() async throws {
    try await store.setTime("real", renewals: 0)
    let token = try await store.openAccount()
    let first = try await store.buy(StoreHarness.magazine, token: token)
    try await redeem(code(), token: token)
    store.clock.set(try #require(first.expiresDate))
    #expect(try await prices(token) == ["2.99", nil])
  }

  @Test(
    "while an offer waits for its renewal another code is refused, and as good as before",
    arguments: [StoreHarness.magazine, StoreHarness.basic, StoreHarness.premium])
  func secondCode(product: ProductIdentifier) async throws {
    let token = try await store.openAccount()
    try await store.buy(StoreHarness.magazine, token: token)
    try await redeem(code(), token: token)
    let second = try await code(of: product)
    let answer = try await store.send(.post, "/store/v1/codes/\(second)", token: token)
    let problem = try APIJSON.decode(Problem.self, from: answer.body)
    #expect(problem.code == .stateConflict)
    #expect(
      problem.detail
        == "an offer that was redeemed earlier waits for the renewal of \(StoreHarness.magazine)")
    store.clock.advance(by: .seconds(301))
    #expect(try await prices(token) == ["2.99", nil])
    try await redeem(second, token: token)
    store.clock.advance(by: .seconds(300))
    #expect(try await prices(token).prefix(3) == ["2.99", nil, nil])
  }

  @Test("an offer whose renewal does not come refuses no other code", arguments: [true, false])
  func otherCode(isRefunded: Bool) async throws {
    let token = try await store.openAccount()
    let first = try await store.buy(StoreHarness.magazine, token: token)
    try await redeem(code(), token: token)
    if isRefunded {
      _ = try await store.act("refund", on: first)
    } else {
      _ = try await store.change(first, token: token, SubscriptionChange(autoRenew: false))
      store.clock.advance(by: .seconds(301))
    }
    try await redeem(code(), token: token)
    #expect(try await prices(token) == ["2.99", nil])
  }

  @Test(
    "a change to the product that the offer is for keeps the offer",
    arguments: [StoreHarness.magazine, StoreHarness.basic])
  func sameProduct(product: ProductIdentifier) async throws {
    let token = try await store.openAccount()
    let first = try await store.buy(StoreHarness.magazine, token: token)
    try await redeem(code(of: product), token: token)
    _ = try await store.change(first, token: token, SubscriptionChange(product: product))
    store.clock.advance(by: .seconds(301))
    #expect(try await prices(token) == ["2.99", nil])
    #expect(try await store.subscription(token).product == product)
  }

  @Test("a change to another product gives the offer up")
  func otherProduct() async throws {
    let token = try await store.openAccount()
    let first = try await store.buy(StoreHarness.magazine, token: token)
    try await redeem(code(), token: token)
    _ = try await store.change(first, token: token, SubscriptionChange(product: StoreHarness.basic))
    store.clock.advance(by: .seconds(301))
    #expect(try await prices(token) == ["2.99", "0.99"])
  }
}
