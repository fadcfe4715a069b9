/// Collects what speaks for and against one product.
struct EntitlementEvidence {
  private var live: [(transaction: VerifiedTransaction, reason: EntitlementClaim.Reason)] = []
  private var lastExpired: VerifiedTransaction?
  private var lastRevoked: VerifiedTransaction?

  mutating func claim(_ transaction: VerifiedTransaction, _ reason: EntitlementClaim.Reason) {
    live.append((transaction, reason))
  }

  mutating func expire(_ transaction: VerifiedTransaction) {
    lastExpired = Self.later(lastExpired, transaction)
  }

  mutating func revoke(_ transaction: VerifiedTransaction) {
    lastRevoked = Self.later(lastRevoked, transaction)
  }

  var claims: [EntitlementClaim] {
    let ordered = live.sorted { left, right in
      if (left.reason == .purchased) != (right.reason == .purchased) { return left.reason == .purchased }
      return right.transaction.precedes(left.transaction)
    }
    return ordered.map { EntitlementClaim(transaction: $0.transaction.id, reason: $0.reason) }
  }

  /// A revoked claim outweighs an expired one only when it is the later of the two.
  var verdict: Entitlement {
    if let first = claims.first { return .owned(first) }
    switch (lastRevoked, lastExpired) {
    case (let revoked?, let expired?):
      return revoked.precedes(expired) ? .expired(expired.id) : .revoked(revoked.id)
    case (let revoked?, nil): return .revoked(revoked.id)
    case (nil, let expired?): return .expired(expired.id)
    case (nil, nil): return .notOwned
    }
  }

  private static func later(_ left: VerifiedTransaction?, _ right: VerifiedTransaction) -> VerifiedTransaction
  {
    guard let left else { return right }
    return left.precedes(right) ? right : left
  }
}
