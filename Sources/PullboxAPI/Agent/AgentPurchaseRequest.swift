public import Commerce

/// `POST /v1/purchases` of the agent.
public struct AgentPurchaseRequest: Codable, Sendable {
  public var product: ProductIdentifier
  public var quantity: Int?

  public init(product: ProductIdentifier, quantity: Int? = nil) {
    self.product = product
    self.quantity = quantity
  }
}
