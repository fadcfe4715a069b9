public import Commerce

/// A transaction of the store's queue as the agent sees it.
public struct AgentTransaction: Codable, Hashable, Sendable {
  public var id: TransactionIdentifier
  public var product: ProductIdentifier
  /// As the store says: `purchasing`, `purchased`, `failed`, …
  public var state: String
  /// The agent's own step: `observed`, `delivering`, `finished`, …
  public var step: String
  public var reason: String?
  public var error: Problem?
  /// Those that it pays for.
  public var downloads: [DownloadIdentifier]

  public init(
    id: TransactionIdentifier, product: ProductIdentifier, state: String, step: String, reason: String?,
    error: Problem?, downloads: [DownloadIdentifier]
  ) {
    self.id = id
    self.product = product
    self.state = state
    self.step = step
    self.reason = reason
    self.error = error
    self.downloads = downloads
  }
}

/// `GET /v1/transactions` of the agent.
public struct AgentTransactionsResponse: Codable, Sendable {
  public var transactions: [AgentTransaction]

  public init(transactions: [AgentTransaction]) {
    self.transactions = transactions
  }
}

/// `POST /v1/purchases` of the agent.
public struct AgentPurchaseRequest: Codable, Sendable {
  public var product: ProductIdentifier
  public var quantity: Int?

  public init(product: ProductIdentifier, quantity: Int? = nil) {
    self.product = product
    self.quantity = quantity
  }
}

/// The answer to the agent's `POST /v1/restore`: what is being fetched now. `GET /v1/restore` answers an
/// ``EntitlementsResponse``: the plan.
public struct AgentRestoreResponse: Codable, Hashable, Sendable {
  public var products: [ProductIdentifier]

  public init(products: [ProductIdentifier]) {
    self.products = products
  }
}
