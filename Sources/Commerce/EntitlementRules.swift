public import CoreTypes

/// Decides from verified transactions what a customer may have. The rules are pure: the catalog, the transactions and the
/// time are arguments, and the report is the result. It has a verdict for every product of the catalog, and the claims that
/// lead to it: which transaction pays for which product, and why.
///
/// ```swift
/// let report = EntitlementRules().evaluate(transactions, catalog: products, now: clock.now)
/// if report[product].isOwned { … }
/// ```
///
/// A product is owned by its own purchase. An issue is owned besides when it appeared while a subscription to its publication
/// ran, or was the current one when the subscription began; such an issue stays owned when the subscription ends, and, once
/// that is written down (``EntitlementRecord``), whatever the catalog says of it later. A refund is judged transaction by
/// transaction: a product that was refunded and bought again is owned.
public struct EntitlementRules: Sendable {
  /// The longest gap between two periods that does not count as a lapse: a store may renew a little late.
  public var bridgedGap: Duration

  /// Creates the rules.
  ///
  /// - Parameter bridgedGap: how long after its end a subscription may be renewed and still count as
  /// uninterrupted.
  public init(bridgedGap: Duration = .seconds(300)) {
    self.bridgedGap = bridgedGap
  }

  /// The verdict about every product of `catalog` at the moment `now`. Neither the order of `transactions` nor
  /// repetitions among them change it. `record` is what was written down of the transactions.
  public func evaluate(
    _ transactions: [VerifiedTransaction], catalog: [Product], record: EntitlementRecord = .empty,
    now: Timestamp
  ) -> EntitlementReport {
    let transactions = Self.sales(of: catalog, among: transactions)
    let byProduct = Dictionary(grouping: transactions, by: \.product)
    let subscriptions = subscriptions(byProduct, catalog: catalog, record: record)
    let recorded = record.products(of: transactions)
    var report = EntitlementReport()
    for product in catalog {
      let own = byProduct[product.id] ?? []
      let subscription = product.publication.flatMap { subscriptions[$0] }
      var findings =
        product.type.isSubscription
        ? findings(aboutSubscription: product, transactions: own, now: now)
        : findings(aboutIssue: product, transactions: own, subscription: subscription, now: now)
      // What was delivered of a subscription itself ends with it.
      if !product.type.isSubscription {
        for (transaction, reason) in recorded[product.id] ?? [] { findings.recall(transaction, reason) }
      }
      report.verdicts[product.id] = findings.verdict
      report.ends[product.id] = findings.end
      if !findings.claims.isEmpty { report.claims[product.id] = findings.claims }
    }
    return report
  }

  /// The transactions, without those of other applications than their products'.
  private static func sales(
    of catalog: [Product], among transactions: [VerifiedTransaction]
  ) -> Set<VerifiedTransaction> {
    let owned = Dictionary(
      catalog.filter { $0.application != nil }.map { ($0.id, $0) }, uniquingKeysWith: { first, _ in first })
    guard !owned.isEmpty else { return Set(transactions) }
    return Set(transactions.filter { owned[$0.product].map($0.isSale) ?? true })
  }

  /// The periods paid for by publication; several products may subscribe to the same one.
  private func subscriptions(
    _ transactions: [ProductIdentifier: [VerifiedTransaction]], catalog: [Product], record: EntitlementRecord
  ) -> [ProductIdentifier: PublicationSubscription] {
    var live: [ProductIdentifier: [SubscriptionPeriod]] = [:]
    var revoked: [ProductIdentifier: [SubscriptionPeriod]] = [:]
    for product in catalog where product.type.isSubscription {
      guard let publication = product.publication else { continue }
      for transaction in transactions[product.id] ?? [] {
        guard let period = SubscriptionPeriod(transaction, of: product) else { continue }
        if transaction.revokedDate == nil {
          live[publication, default: []].append(period)
        } else {
          revoked[publication, default: []].append(period)
        }
      }
    }
    var issueDates: [ProductIdentifier: [Timestamp]] = [:]
    for product in catalog where !product.type.isSubscription {
      guard let publication = product.publication, let date = product.publicationDate else { continue }
      issueDates[publication, default: []].append(date)
    }
    var subscriptions: [ProductIdentifier: PublicationSubscription] = [:]
    for publication in Set(live.keys).union(revoked.keys) {
      let dates = issueDates[publication] ?? []
      subscriptions[publication] = PublicationSubscription(
        live: ContinuousSubscription.runs(
          of: live[publication] ?? [], bridging: bridgedGap, issueDates: dates, record: record),
        revoked: ContinuousSubscription.runs(
          of: revoked[publication] ?? [], bridging: bridgedGap, issueDates: dates, record: record))
    }
    return subscriptions
  }

  private func findings(
    aboutSubscription product: Product, transactions: [VerifiedTransaction], now: Timestamp
  ) -> EntitlementEvidence {
    var findings = EntitlementEvidence()
    for transaction in transactions {
      guard let period = SubscriptionPeriod(transaction, of: product) else { continue }
      if transaction.revokedDate != nil {
        findings.revoke(transaction)
      } else if period.contains(now) {
        findings.claim(transaction, .purchased, until: period.end)
      } else if period.isInGrace(at: now) {
        findings.claim(transaction, .purchased, until: transaction.graceExpiresDate)
      } else if period.end <= now {
        findings.expire(transaction, at: max(period.end, transaction.graceExpiresDate ?? period.end))
      }
    }
    return findings
  }

  private func findings(
    aboutIssue product: Product, transactions: [VerifiedTransaction], subscription: PublicationSubscription?,
    now: Timestamp
  ) -> EntitlementEvidence {
    var findings = EntitlementEvidence()
    for transaction in transactions {
      if transaction.revokedDate == nil {
        findings.claim(transaction, .purchased)
      } else {
        findings.revoke(transaction)
      }
    }
    // What has not appeared yet belongs to no subscription yet.
    guard let subscription, let published = product.publicationDate, published <= now else { return findings }
    for run in subscription.live {
      if let claim = run.claim(on: product.id, published: published) {
        findings.claim(claim.transaction, claim.reason)
      }
    }
    for run in subscription.revoked {
      if let claim = run.claim(on: product.id, published: published) {
        findings.revoke(claim.transaction)
      }
    }
    if let last = subscription.live.last, last.end <= now, last.end <= published,
      let period = last.periods.last
    {
      findings.expire(period.transaction, at: last.end)
    }
    return findings
  }
}

/// Collects what speaks for and against one product.
struct EntitlementEvidence {
  private struct LiveClaim {
    var transaction: VerifiedTransaction
    var reason: EntitlementClaim.Reason
    /// Nil for a claim that does not end by itself.
    var until: Timestamp?
  }

  private var live: [LiveClaim] = []
  private var lastExpired: VerifiedTransaction?
  private var expiry: Timestamp?
  private var lastRevoked: VerifiedTransaction?

  mutating func claim(
    _ transaction: VerifiedTransaction, _ reason: EntitlementClaim.Reason, until: Timestamp? = nil
  ) {
    live.append(LiveClaim(transaction: transaction, reason: reason, until: until))
  }

  /// What was written down of a transaction: nothing new where the rules say the same of it.
  mutating func recall(_ transaction: VerifiedTransaction, _ reason: EntitlementClaim.Reason) {
    guard transaction.revokedDate == nil else { return revoke(transaction) }
    if !live.contains(where: { $0.transaction == transaction }) { claim(transaction, reason) }
  }

  mutating func expire(_ transaction: VerifiedTransaction, at end: Timestamp) {
    lastExpired = Self.later(lastExpired, transaction)
    expiry = expiry.map { max($0, end) } ?? end
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
