/// Everything a proof owns that has released content: the plan for a restore. A product that several transactions pay
/// for has an entry for each, the strongest first: each transaction is finished only when all it pays for is delivered.
public struct EntitlementsResponse: Codable, Sendable {
  public var products: [EntitledProduct]

  public init(products: [EntitledProduct]) {
    self.products = products
  }
}
