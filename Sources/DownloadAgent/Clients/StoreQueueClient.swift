import Commerce
import HTTPClient
import PullboxAPI
import PullboxAPIClient

/// The payment store's interface for one of its customers.
struct StoreQueueClient: Sendable {
  private let api: APIClient
  private let monitor: EndpointHealth
  private let device: DeviceIdentifier

  /// `api` carries the account's token.
  init(api: APIClient, monitor: EndpointHealth, device: DeviceIdentifier) {
    self.api = api
    self.monitor = monitor
    self.device = device
  }

  /// The queue: every transaction that is not finished.
  func unfinishedTransactions() async throws(APICallError) -> [StoreTransaction] {
    try await monitor.observe { () async throws(APICallError) in
      try await api.get(
        "/store/v1/transactions", query: [("unfinished", "true")], as: TransactionsResponse.self)
    }.transactions
  }

  /// The account's receipt, bound to this device.
  func receipt() async throws(APICallError) -> Proof {
    let response = try await monitor.observe { () async throws(APICallError) in
      try await api.get(
        "/store/v1/receipt", query: [("device", device.description)], as: ReceiptResponse.self)
    }
    return Proof(receipt: response.receipt)
  }

  /// Buys once, however often it is called with one `key`. An answer that is lost on its way is asked for again.
  func purchase(_ request: AgentPurchaseRequest, key: String) async throws(APICallError) -> StoreTransaction {
    do {
      return try await askToPurchase(request, key: key)
    } catch {
      guard case .unreachable(let cause) = error, cause.code == .connectionLost else { throw error }
      return try await askToPurchase(request, key: key)
    }
  }

  private func askToPurchase(
    _ request: AgentPurchaseRequest, key: String
  ) async throws(APICallError) -> StoreTransaction {
    let body = PurchaseRequest(product: request.product, quantity: request.quantity, device: device)
    return try await monitor.observe { () async throws(APICallError) in
      try await api.call(
        "POST", "/store/v1/purchases", body: body, headers: [("Idempotency-Key", key)],
        as: TransactionResponse.self
      ).value
    }.transaction
  }
}
