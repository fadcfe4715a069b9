/// What the rules make of a customer's transactions, product by product.
public struct EntitlementReport: Hashable, Sendable {
  /// One verdict for every product of the catalog.
  public internal(set) var verdicts: [ProductIdentifier: Entitlement] = [:]
  /// All live claims of every owned product, the strongest first: purchases of the product itself before
  /// subscriptions, later ones before earlier ones.
  public internal(set) var claims: [ProductIdentifier: [EntitlementClaim]] = [:]

  /// `notOwned` for a product that is not in the catalog.
  public subscript(product: ProductIdentifier) -> Entitlement {
    verdicts[product] ?? .notOwned
  }

  /// The products this transaction entitles to, alone or beside others, in the order of their names.
  public func products(claimedBy transaction: TransactionIdentifier) -> [ProductIdentifier] {
    claims.filter { $0.value.contains { $0.transaction == transaction } }.keys.sorted()
  }
}
