public import Commerce
public import CoreTypes
public import Entitlements

/// One product that a customer owns, in `GET /v1/operator/entitlements`: by which rule, because of which purchase, and until when.
public struct CustomerEntitlement: Codable, Hashable, Sendable {
  /// The product.
  public var product: ProductIdentifier
  /// The strongest rule that speaks for it, of the closed list in docs/entitlements.md.
  public var rule: EntitlementRule
  /// The store of the purchase.
  public var store: StoreIdentifier
  /// The environment of the purchase.
  public var environment: StoreEnvironment
  /// The purchase that the rule was applied to.
  public var transaction: TransactionIdentifier
  /// When that was paid for.
  public var purchased: Timestamp
  /// Until when it is owned, unless something is paid for again; absent for what does not end.
  public var until: Timestamp?

  /// Creates the document from its members.
  public init(
    product: ProductIdentifier, rule: EntitlementRule, store: StoreIdentifier, environment: StoreEnvironment,
    transaction: TransactionIdentifier, purchased: Timestamp, until: Timestamp? = nil
  ) {
    self.product = product
    self.rule = rule
    self.store = store
    self.environment = environment
    self.transaction = transaction
    self.purchased = purchased
    self.until = until
  }
}
