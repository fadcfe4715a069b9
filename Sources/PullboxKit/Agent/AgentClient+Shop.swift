public import Commerce
public import PullboxAPI
public import PullboxAPIClient

/// The products that are for sale to this device, and its subscriptions.
extension AgentClient {
  /// Identifiers that one request asks for; more are asked in turn.
  static let productsAtOnce = 20

  /// The products of these names, as they are sold to the agent's store account; without names, the account alone. `locale` is
  /// BCP 47. Throws `store-unavailable` or `unavailable` while the store or the delivery server is away.
  public func products(
    _ names: [String], locale: String? = nil
  ) async throws(APICallError) -> AgentProductsResponse {
    var found = try await productsPart(names.prefix(Self.productsAtOnce), locale: locale)
    var rest = names.dropFirst(Self.productsAtOnce)
    while !rest.isEmpty {
      let part = try await productsPart(rest.prefix(Self.productsAtOnce), locale: locale)
      found.products += part.products
      found.invalidProductIdentifiers += part.invalidProductIdentifiers
      if let nearest = part.nearest {
        found.nearest = (found.nearest ?? [:]).merging(nearest) { first, _ in first }
      }
      rest = rest.dropFirst(Self.productsAtOnce)
    }
    return found
  }

  private func productsPart(
    _ names: ArraySlice<String>, locale: String?
  ) async throws(APICallError) -> AgentProductsResponse {
    try await api.get("/v1/products", query: names.map { ("id", $0) } + Self.query(locale))
  }

  /// A page of the publications of which something is for sale; `after` is the `next` of the page before. Throws as
  /// ``products(_:locale:)`` does.
  public func publications(
    locale: String? = nil, after: String? = nil
  ) async throws(APICallError) -> AgentPublicationsResponse {
    try await api.get("/v1/publications", query: Self.query(locale, after: after))
  }

  /// A page of a publication's issues, the newest first, with its subscriptions. Throws as ``products(_:locale:)`` does, and
  /// `publication-unknown`.
  public func publication(
    _ id: ProductIdentifier, locale: String? = nil, after: String? = nil
  ) async throws(APICallError) -> AgentPublicationResponse {
    try await api.get("/v1/publications/\(id)", query: Self.query(locale, after: after))
  }

  /// A page of what is for sale and belongs to no publication. Throws as ``products(_:locale:)`` does.
  public func singles(
    locale: String? = nil, after: String? = nil
  ) async throws(APICallError) -> AgentPublicationResponse {
    try await api.get("/v1/singles", query: Self.query(locale, after: after))
  }

  /// The account's subscriptions, also those that are over. Throws `store-unavailable`.
  public func subscriptions() async throws(APICallError) -> [StoreSubscription] {
    try await api.get("/v1/subscriptions", as: SubscriptionsResponse.self).subscriptions
  }

  /// Changes what comes after the present period of the subscription that began with `originalId`, and returns how it stands.
  /// Throws `subscription-unknown`, `product-unknown`, or `state-conflict` for one that is over.
  @discardableResult
  public func change(
    _ originalId: TransactionIdentifier, to change: SubscriptionChange
  ) async throws(APICallError) -> StoreSubscription {
    try await api.call("PATCH", "/v1/subscriptions/\(originalId)", body: change).value
  }

  /// Asks the store for a refund, which it decides on later. Throws `transaction-unknown`, `transaction-unpaid`, or `not-implemented` of a store that
  /// takes no such request from a program.
  public func requestRefund(
    of transaction: TransactionIdentifier, reason: RefundReason = .other
  ) async throws(APICallError) {
    let bytes: [UInt8]
    do {
      bytes = try APIJSON.encode(RefundApplication(reason: reason))
    } catch {
      throw .unexpectedResponse(status: 0, detail: "the request cannot be encoded")
    }
    _ = try await api.exchange("POST", "/v1/transactions/\(transaction)/refund-request", bytes: bytes)
  }

  private static func query(_ locale: String?, after: String? = nil) -> [(String, String)] {
    [("locale", locale), ("after", after)].compactMap { name, value in value.map { (name, $0) } }
  }
}
