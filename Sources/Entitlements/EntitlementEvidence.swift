import Commerce
import CoreTypes

/// Collects what speaks for and against one product.
struct EntitlementEvidence {
  private struct Live {
    var transaction: VerifiedTransaction
    var rule: EntitlementRule
    var period: EntitlementFinding.Period?
    /// Nil for a claim that does not end by itself.
    var until: Timestamp?
  }

  private var live: [Live] = []
  private var objections: [EntitlementFinding] = []
  /// Those whose claims are over.
  private var closed: [VerifiedTransaction] = []
  private var lastExpired: VerifiedTransaction?
  private var expiry: Timestamp?
  private var lastRevoked: VerifiedTransaction?

  mutating func claim(
    _ transaction: VerifiedTransaction, _ rule: EntitlementRule,
    during period: EntitlementFinding.Period? = nil, until: Timestamp? = nil
  ) {
    let until = until == SubscriptionPeriod.never ? nil : until
    live.append(Live(transaction: transaction, rule: rule, period: period, until: until))
  }

  mutating func claim(
    _ transaction: VerifiedTransaction, _ rule: EntitlementRule, in period: SubscriptionPeriod,
    until: Timestamp?
  ) {
    claim(transaction, rule, during: period.named, until: until)
  }

  func isClaimed(by transaction: VerifiedTransaction) -> Bool {
    live.contains { $0.transaction == transaction }
  }

  /// Whether it speaks for the product, or did so until something ended that.
  func isJudged(by transaction: VerifiedTransaction) -> Bool {
    isClaimed(by: transaction) || closed.contains(transaction)
  }

  /// Nothing but an explanation: no verdict rests on it.
  mutating func object(
    _ rule: EntitlementRule, to transaction: VerifiedTransaction? = nil,
    period: EntitlementFinding.Period? = nil, until: Timestamp? = nil
  ) {
    objections.append(
      EntitlementFinding(rule: rule, transaction: transaction?.id, period: period, until: until))
  }

  /// Records a claim by a subscription that is closed because the subscription ended at `end`.
  mutating func close(
    _ transaction: VerifiedTransaction, period: EntitlementFinding.Period?, at end: Timestamp?
  ) {
    closed.append(transaction)
    object(.closedByLapse, to: transaction, period: period, until: end)
    expire(transaction, at: end)
  }

  /// No end is given for what was never owned.
  mutating func expire(_ transaction: VerifiedTransaction, at end: Timestamp? = nil) {
    lastExpired = Self.later(lastExpired, transaction)
    if let end { expiry = expiry.map { max($0, end) } ?? end }
  }

  /// A purchase that was taken back, or whose license is over.
  mutating func discount(
    _ transaction: VerifiedTransaction, at now: Timestamp, period: EntitlementFinding.Period? = nil
  ) {
    closed.append(transaction)
    if transaction.revokedDate != nil {
      lastRevoked = Self.later(lastRevoked, transaction)
      object(.revoked, to: transaction, period: period, until: transaction.revokedDate)
    } else {
      expire(transaction, at: transaction.licenseEndDate)
      object(.licenseEnded, to: transaction, period: period, until: transaction.licenseEndDate)
    }
  }

  private var ordered: [Live] {
    guard live.count > 1 else { return live }
    return live.sorted { left, right in
      if (left.rule == .purchased) != (right.rule == .purchased) { return left.rule == .purchased }
      if left.transaction != right.transaction { return right.transaction.precedes(left.transaction) }
      return left.rule.rawValue < right.rule.rawValue
    }
  }

  var claims: [EntitlementClaim] {
    ordered.map { EntitlementClaim(transaction: $0.transaction.id, reason: $0.rule) }
  }

  /// Until when the verdict's product is owned, or was: nil for what does not end by itself, and for what was never owned.
  var end: Timestamp? {
    switch verdict {
    case .owned: live.contains { $0.until == nil } ? nil : live.compactMap(\.until).max()
    case .expired: expiry
    case .revoked: lastRevoked?.revokedDate
    case .notOwned: nil
    }
  }

  /// A revoked claim outweighs an expired one only when it is the later of the two.
  var verdict: Entitlement {
    if let first = ordered.first {
      return .owned(EntitlementClaim(transaction: first.transaction.id, reason: first.rule))
    }
    switch (lastRevoked, lastExpired) {
    case (let revoked?, let expired?):
      return revoked.precedes(expired) ? .expired(expired.id) : .revoked(revoked.id)
    case (let revoked?, nil): return .revoked(revoked.id)
    case (nil, let expired?): return .expired(expired.id)
    case (nil, nil): return .notOwned
    }
  }

  var explanation: EntitlementExplanation {
    let because = ordered.map {
      EntitlementFinding(rule: $0.rule, transaction: $0.transaction.id, period: $0.period, until: $0.until)
    }
    let isBare = because.isEmpty && objections.isEmpty
    return EntitlementExplanation(
      isAllowed: !because.isEmpty, until: end, because: because,
      against: isBare ? [EntitlementFinding(rule: .notBought)] : Self.ordered(objections))
  }

  /// Each once, and in an order that the store's list has no part in.
  private static func ordered(_ findings: [EntitlementFinding]) -> [EntitlementFinding] {
    Set(findings).sorted { left, right in
      let (one, other) = (left.until ?? SubscriptionPeriod.never, right.until ?? SubscriptionPeriod.never)
      if one != other { return one > other }
      return (left.transaction?.description ?? "", left.rule.rawValue)
        < (right.transaction?.description ?? "", right.rule.rawValue)
    }
  }

  private static func later(_ left: VerifiedTransaction?, _ right: VerifiedTransaction) -> VerifiedTransaction
  {
    guard let left else { return right }
    return left.precedes(right) ? right : left
  }
}
