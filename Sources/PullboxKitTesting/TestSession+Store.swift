public import Commerce
public import CoreTypes
import PullboxAPI
import PullboxAPIClient
import PullboxKit
import PullboxTesting
import ServiceAPI

/// The part of the store, of the customer's bank and of the customer's parents.
extension TestSession {
  /// The customer's next payment is declined.
  public func declineNextPurchase() async throws {
    _ = try await store.exchange("POST", "/sandbox/v1/purchases/fail-next")
  }

  /// The customer's next purchase waits until ``decide(_:approve:)``.
  public func interruptNextPurchase() async throws {
    let request = PurchaseFailureRequest(error: "interrupted")
    _ = try await store.exchange(
      "POST", "/sandbox/v1/purchases/fail-next", bytes: try APIJSON.encode(request))
  }

  /// A purchase that waits goes on, or fails.
  public func decide(_ transaction: TransactionIdentifier, approve: Bool) async throws {
    try await control(
      "POST", "/sandbox/v1/transactions/\(transaction)/decide", PurchaseDecision(approve: approve))
  }

  /// The store gives the payment back.
  public func refund(_ transaction: TransactionIdentifier) async throws {
    try await control("POST", "/sandbox/v1/transactions/\(transaction)/refund", RefundRequest())
  }

  /// The refund is taken back.
  public func reverseRefund(of transaction: TransactionIdentifier) async throws {
    try await control("POST", "/sandbox/v1/transactions/\(transaction)/reverse", EmptyBody())
  }

  /// The payments of the subscription's renewals are declined until ``letRenewalsSucceed(of:)``.
  public func failRenewals(of subscription: TransactionIdentifier) async throws {
    try await control("POST", "/sandbox/v1/subscriptions/\(subscription)/fail-renewals", EmptyBody())
  }

  /// They succeed, also one that is being tried again.
  public func letRenewalsSucceed(of subscription: TransactionIdentifier) async throws {
    try await control("POST", "/sandbox/v1/subscriptions/\(subscription)/recover", EmptyBody())
  }

  /// The subscription costs another price from its next period on; with `needsConsent` it ends there unless the customer accepts that.
  public func raisePrice(
    of subscription: TransactionIdentifier, to price: Price, needsConsent: Bool
  ) async throws {
    let territory = try await Storefront.current(from: agent).countryCode
    try await control(
      "POST", "/sandbox/v1/subscriptions/\(subscription)/raise-price",
      PriceIncreaseRequest(prices: [territory: price], needsConsent: needsConsent))
  }

  /// The subscription ends now.
  public func expire(_ subscription: TransactionIdentifier) async throws {
    try await control("POST", "/sandbox/v1/subscriptions/\(subscription)/expire", EmptyBody())
  }

  /// A code that gives the product once.
  public func makeCode(for product: ProductIdentifier) async throws -> String {
    try await store.call(
      "POST", "/sandbox/v1/codes", body: CodeRequest(product: product, uses: 1), as: StoreCode.self
    ).value.code
  }

  /// The time of store, server and agent jumps forward: what they wait for and keep ends by it. Renewals and ends that fall due are made with
  /// the next question to the store. An app's own clock does not jump.
  public func advance(by duration: Duration) { clock.advance(by: duration) }

  /// The date of store, server and agent.
  public var now: Timestamp { clock.now() }

  private func control(_ method: String, _ path: String, _ body: some Encodable & Sendable) async throws {
    _ = try await store.exchange(method, path, bytes: try APIJSON.encode(body))
  }
}

/// The ways between this device and its services.
extension TestSession {
  /// Bytes a second that reach this device from the delivery server, over all connections; nil for as many as can be.
  public func slowDown(to rate: ByteCount?) { serverProxy.setRate(rate) }

  /// Every connection to the delivery server breaks; new ones are made.
  public func breakConnections() { serverProxy.cutConnections() }

  /// Whether the delivery server can be reached.
  public func setServerReachable(_ isReachable: Bool) { serverProxy.setReachable(isReachable) }

  /// Whether the payment store can be reached, from this device and from the server.
  public func setStoreReachable(_ isReachable: Bool) { storeProxy.setReachable(isReachable) }
}
