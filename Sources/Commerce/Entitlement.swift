/// The verdict of the rules about one product.
public enum Entitlement: Hashable, Sendable {
  /// The customer may have the content, because of this claim (the strongest one, see ``EntitlementReport/claims``).
  case owned(EntitlementClaim)
  /// Only periods of a subscription that are over would have led to it; the last of them.
  case expired(TransactionIdentifier)
  /// Only refunded or withdrawn purchases would have led to it; the last of them.
  case revoked(TransactionIdentifier)
  case notOwned

  public var isOwned: Bool {
    if case .owned = self { true } else { false }
  }
}
