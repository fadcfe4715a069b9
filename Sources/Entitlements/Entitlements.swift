public import Commerce
public import CoreTypes

/// The verdict of the rules about one product.
public enum Entitlement: Hashable, Sendable {
  /// The customer may have the content, because of this claim (the strongest one, see ``EntitlementReport/claims``).
  case owned(EntitlementClaim)
  /// Only periods of a subscription that are over would have led to it; the last of them.
  case expired(TransactionIdentifier)
  /// Only refunded or withdrawn purchases would have led to it; the last of them.
  case revoked(TransactionIdentifier)
  case notOwned

  /// Whether the product's content may be delivered.
  public var isOwned: Bool {
    if case .owned = self { true } else { false }
  }
}

/// A live transaction that entitles to a product, and by which rule.
public struct EntitlementClaim: Hashable, Sendable {
  /// The transaction that pays.
  public let transaction: TransactionIdentifier
  /// How it comes to pay for the product.
  public let reason: EntitlementRule

  /// Creates the claim.
  public init(transaction: TransactionIdentifier, reason: EntitlementRule) {
    self.transaction = transaction
    self.reason = reason
  }
}

/// The verdicts of the rules over a customer's transactions, product by product.
public struct EntitlementReport: Hashable, Sendable {
  /// One verdict for every product of the catalog.
  public internal(set) var verdicts: [ProductIdentifier: Entitlement] = [:]
  /// All live claims of every owned product, the strongest first: purchases of the product itself before
  /// subscriptions, later ones before earlier ones.
  public internal(set) var claims: [ProductIdentifier: [EntitlementClaim]] = [:]

  /// When what is owned ends by itself: a subscription's period, or the grace after it. For what is owned no more, when it
  /// ended. Nothing for what does not end.
  public internal(set) var ends: [ProductIdentifier: Timestamp] = [:]

  /// Since when those subscriptions run without a lapse that are owned, by whichever products of their publications.
  public internal(set) var subscribedSince: [ProductIdentifier: Timestamp] = [:]

  /// `notOwned` for a product that is not in the catalog.
  public subscript(product: ProductIdentifier) -> Entitlement {
    verdicts[product] ?? .notOwned
  }

  /// The products this transaction entitles to, alone or beside others, in the order of their names.
  public func products(claimedBy transaction: TransactionIdentifier) -> [ProductIdentifier] {
    claims.filter { $0.value.contains { $0.transaction == transaction } }.keys.sorted()
  }

  /// The issues that a run of a subscription unlocked which began with this transaction, each with the rule.
  public func issues(unlockedBy transaction: TransactionIdentifier) -> [ProductIdentifier: EntitlementRule] {
    claims.compactMapValues { claims in
      claims.first { $0.transaction == transaction && $0.reason.isUnlocking }?.reason
    }
  }

  /// The issues that runs of subscriptions unlocked and that the record does not have yet, each with the rule, by the transaction that
  /// its run began with.
  public func issuesUnlocked(
    beyond record: EntitlementRecord
  ) -> [TransactionIdentifier: [ProductIdentifier: EntitlementRule]] {
    var found: [TransactionIdentifier: [ProductIdentifier: EntitlementRule]] = [:]
    for (issue, claims) in claims {
      for claim in claims
      where claim.reason.isUnlocking && record.unlocked[claim.transaction]?.contains(issue) != true
        && found[claim.transaction]?[issue] == nil
      {
        found[claim.transaction, default: [:]][issue] = claim.reason
      }
    }
    return found
  }
}
