public import Commerce

/// `PATCH /v1/downloads/{id}` of the agent.
public struct AgentDownloadChange: Codable, Hashable, Sendable {
  /// Higher goes first; 0 unless changed.
  public var priority: Int?

  public static let priorities = -1000...1000

  public init(priority: Int? = nil) {
    self.priority = priority
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
