public import CoreTypes

/// Decides from verified transactions what a customer may have. Pure: the catalog, the transactions and the time are
/// arguments, the verdicts are the result.
///
/// A refund is judged transaction by transaction: a product that was refunded and bought again is owned.
public struct EntitlementRules: Sendable {
  /// The longest gap between two periods that does not count as a lapse: a store may renew a little late.
  public var bridgedGap: Duration

  public init(bridgedGap: Duration = .seconds(300)) {
    self.bridgedGap = bridgedGap
  }

  /// The verdict about every product of `catalog` at the moment `now`. Neither the order of `transactions` nor
  /// repetitions among them change it.
  public func evaluate(
    _ transactions: [VerifiedTransaction], catalog: [Product], now: Timestamp
  ) -> EntitlementReport {
    let byProduct = Dictionary(grouping: Set(transactions), by: \.product)
    let subscriptions = subscriptions(byProduct, catalog: catalog)
    var report = EntitlementReport()
    for product in catalog {
      let own = byProduct[product.id] ?? []
      let subscription = product.publication.flatMap { subscriptions[$0] }
      let findings =
        product.type.isSubscription
        ? findings(aboutSubscription: product, transactions: own, now: now)
        : findings(aboutIssue: product, transactions: own, subscription: subscription, now: now)
      report.verdicts[product.id] = findings.verdict
      if !findings.claims.isEmpty { report.claims[product.id] = findings.claims }
    }
    return report
  }

  /// The periods paid for by publication; several products may subscribe to the same one.
  private func subscriptions(
    _ transactions: [ProductIdentifier: [VerifiedTransaction]], catalog: [Product]
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
          of: live[publication] ?? [], bridging: bridgedGap, issueDates: dates),
        revoked: ContinuousSubscription.runs(
          of: revoked[publication] ?? [], bridging: bridgedGap, issueDates: dates))
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
        findings.claim(transaction, .purchased)
      } else if period.end <= now {
        findings.expire(transaction)
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
    // What has not appeared yet belongs to nobody's subscription yet.
    guard let subscription, let published = product.publicationDate, published <= now else { return findings }
    for run in subscription.live {
      if let claim = run.claim(onIssuePublished: published) {
        findings.claim(claim.transaction, claim.reason)
      }
    }
    for run in subscription.revoked {
      if let claim = run.claim(onIssuePublished: published) {
        findings.revoke(claim.transaction)
      }
    }
    if let last = subscription.live.last, last.end <= now, last.end <= published,
      let period = last.periods.last
    {
      findings.expire(period.transaction)
    }
    return findings
  }
}
