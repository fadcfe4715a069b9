package import Commerce
package import CoreTypes

/// A server's record of a purchase token of Google Play.
package struct GooglePurchaseRecord: Hashable, Sendable {
  package var kind: GooglePurchaseKind
  package var environment: StoreEnvironment
  /// The first order; nil for one of which no more is known than that it was replaced.
  package var original: TransactionIdentifier?
  /// When another purchase took its place.
  package var replaced: Timestamp?

  package init(
    kind: GooglePurchaseKind, environment: StoreEnvironment, original: TransactionIdentifier? = nil,
    replaced: Timestamp? = nil
  ) {
    self.kind = kind
    self.environment = environment
    self.original = original
    self.replaced = replaced
  }
}
