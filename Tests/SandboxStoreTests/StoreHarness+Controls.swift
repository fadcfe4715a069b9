import Commerce
import CoreTypes
import HTTPServer
import PullboxAPI
import ServiceAPI
import Testing

/// The questions and settings of tests about subscriptions.
extension StoreHarness {
  /// The only subscription of the account.
  func subscription(_ token: String) async throws -> StoreSubscription {
    let all = try await get("/store/v1/subscriptions", token: token, as: SubscriptionsResponse.self)
    #expect(all.subscriptions.count == 1)
    return try #require(all.subscriptions.first)
  }

  func change(
    _ transaction: StoreTransaction, token: String, _ change: SubscriptionChange
  ) async throws -> StoreSubscription {
    try await call(
      .patch, "/store/v1/subscriptions/\(transaction.originalId)", token: token, body: change)
  }

  /// `POST /sandbox/v1/subscriptions/{originalId}/…` of the transaction's subscription.
  func control(
    _ name: String, _ transaction: StoreTransaction, body: (some Encodable)? = String?.none
  ) async throws -> StoreSubscription {
    try await call(.post, "/sandbox/v1/subscriptions/\(transaction.originalId)/\(name)", body: body)
  }

  /// `POST /sandbox/v1/transactions/{id}/…` of the transaction.
  func act(
    _ name: String, on transaction: StoreTransaction, body: (some Encodable)? = String?.none
  ) async throws -> StoreTransaction {
    let response: TransactionResponse = try await call(
      .post, "/sandbox/v1/transactions/\(transaction.id)/\(name)", body: body)
    return response.transaction
  }

  func openNamedAccount() async throws -> AccountResponse {
    try await call(
      .post, "/sandbox/v1/accounts", body: AccountRequest(territory: "FRA", name: "A reader"), status: 201)
  }
}
