public import Commerce

/// The answer to the agent's `POST /v1/restore`: what is being fetched now. `GET /v1/restore` answers an
/// ``EntitlementsResponse``: the plan.
public struct AgentRestoreResponse: Codable, Hashable, Sendable {
  public var products: [ProductIdentifier]

  public init(products: [ProductIdentifier]) {
    self.products = products
  }
}
