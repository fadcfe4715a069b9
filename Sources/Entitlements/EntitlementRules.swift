public import Commerce
public import CoreTypes

/// Decides from verified transactions what a customer may have. The rules are pure: the catalog, the policies, the
/// transactions, what was written down and the time are arguments, and the report is the result. It has a verdict for every
/// product of the catalog, and the claims that lead to it: which transaction pays for which product, and why.
///
/// ```swift
/// let report = EntitlementRules().evaluate(transactions, catalog: products, now: clock.now)
/// if report[product].isOwned { … }
/// ```
///
/// A product is owned by its own purchase. An issue is owned besides when it appeared while a subscription to its publication
/// ran, or was the current one when the subscription began; such an issue stays owned when the subscription ends, unless the
/// publication's ``PublicationPolicy`` says otherwise, and, once that is written down (``EntitlementRecord``), whatever the
/// catalog says of it later. A refund is judged transaction by transaction: a product that was refunded and bought again is
/// owned.
public struct EntitlementRules: Sendable {
  /// The policy of publications without a policy of their own.
  public var defaultPolicy: PublicationPolicy

  /// Creates the rules.
  public init(defaultPolicy: PublicationPolicy = .standard) {
    self.defaultPolicy = defaultPolicy
  }

  /// The verdict about every product of `catalog` at the moment `now`. Neither the order of `transactions` nor
  /// repetitions among them change it; of several statements about one, the latest counts. `policies` are by publication, and
  /// `record` is what was written down of the transactions.
  public func evaluate(
    _ transactions: [VerifiedTransaction], catalog: [Product],
    policies: [ProductIdentifier: PublicationPolicy] = [:], record: EntitlementRecord = .empty,
    now: Timestamp
  ) -> EntitlementReport {
    let history = PurchaseHistory(
      of: transactions, catalog: catalog, policies: policies, defaultPolicy: defaultPolicy, record: record,
      now: now)
    var report = EntitlementReport()
    for product in catalog { report.note(history.evidence(about: product), of: product, in: history) }
    return report
  }

  /// Why the product was or was not owned at `moment`: by what had been paid and not refunded until then, with the catalog and
  /// the policies as they are given. The other parameters are those of
  /// ``evaluate(_:catalog:policies:record:now:)``.
  public func explain(
    _ product: ProductIdentifier, by transactions: [VerifiedTransaction], catalog: [Product],
    policies: [ProductIdentifier: PublicationPolicy] = [:], record: EntitlementRecord = .empty,
    at moment: Timestamp
  ) -> EntitlementExplanation {
    explain(
      product, by: transactions.compactMap { $0.standing(at: moment) }, catalog: catalog, policies: policies,
      record: record, now: moment)
  }

  /// Why the product is or is not owned now, by the transactions that ``evaluate(_:catalog:policies:record:now:)`` goes by: also those that
  /// a store has dated ahead of `now`.
  public func explain(
    _ product: ProductIdentifier, by transactions: [VerifiedTransaction], catalog: [Product],
    policies: [ProductIdentifier: PublicationPolicy] = [:], record: EntitlementRecord = .empty,
    now: Timestamp
  ) -> EntitlementExplanation {
    guard let product = catalog.first(where: { $0.id == product }) else {
      return EntitlementExplanation(
        isAllowed: false, until: nil, because: [], against: [EntitlementFinding(rule: .notInCatalog)])
    }
    let history = PurchaseHistory(
      of: transactions, catalog: catalog, policies: policies, defaultPolicy: defaultPolicy, record: record,
      now: now)
    return history.evidence(about: product).explanation
  }

  /// The times for which subscriptions to the publication are paid for, as far as their payments count at `now`, in the order of
  /// their beginnings; without any grace. `catalog` has these subscriptions.
  public func paidTimes(
    of publication: ProductIdentifier, by transactions: [VerifiedTransaction], catalog: [Product],
    record: EntitlementRecord = .empty, now: Timestamp
  ) -> [Range<Timestamp>] {
    let history = PurchaseHistory(
      of: transactions, catalog: catalog, policies: [:], defaultPolicy: defaultPolicy, record: record,
      now: now)
    return (history.subscriptions[publication]?.periods ?? []).map { $0.start..<$0.end }
  }
}

/// A customer's transactions, arranged for questions about one moment.
struct PurchaseHistory {
  private let now: Timestamp
  private let transactions: [ProductIdentifier: [VerifiedTransaction]]
  /// Purchases of applications themselves.
  private let applications: [VerifiedTransaction]
  /// The recorded claims on each product.
  private let recorded: [ProductIdentifier: [(transaction: VerifiedTransaction, rule: EntitlementRule)]]
  /// By subscription.
  private var periods: [ProductIdentifier: (counting: [SubscriptionPeriod], void: [SubscriptionPeriod])] = [:]
  /// By publication; several products may subscribe to the same one.
  private(set) var subscriptions: [ProductIdentifier: PublicationSubscription] = [:]
  private let policies: [ProductIdentifier: PublicationPolicy]
  private let defaultPolicy: PublicationPolicy

  init(
    of transactions: [VerifiedTransaction], catalog: [Product],
    policies: [ProductIdentifier: PublicationPolicy], defaultPolicy: PublicationPolicy,
    record: EntitlementRecord, now: Timestamp
  ) {
    // Only where something was paid for a subscription, and then in one pass, however many publications there are.
    lazy var issues = Dictionary(
      grouping: catalog.lazy.filter { $0.publication != nil }, by: \.publication
    ).mapValues { PublicationIssues(of: $0).dates }
    self.init(
      of: transactions, catalog: catalog, issueDates: { issues[$0] ?? IssueDates() }, policies: policies,
      defaultPolicy: defaultPolicy, record: record, now: now)
  }

  /// `catalog` may be without products that neither the transactions nor the record name, as long as `issueDates` has the dates of
  /// every issue of a publication.
  init(
    of transactions: [VerifiedTransaction], catalog: [Product],
    issueDates: (ProductIdentifier) -> IssueDates, policies: [ProductIdentifier: PublicationPolicy],
    defaultPolicy: PublicationPolicy, record: EntitlementRecord, now: Timestamp
  ) {
    self.now = now
    self.policies = policies
    self.defaultPolicy = defaultPolicy
    let latest = transactions.latestStatements
    applications = latest.filter { $0.origin != nil }
    let purchases = applications.isEmpty ? latest : latest.filter { $0.origin == nil }
    self.transactions = Dictionary(grouping: purchases.sales(of: catalog), by: \.product)
    // What was granted stays granted, whichever application the product was given to since.
    recorded = record.products(of: latest)
    for product in catalog where product.type.isSubscription {
      guard let publication = product.publication, let own = self.transactions[product.id] else { continue }
      let periods = SubscriptionPeriod.all(of: product, paidBy: own, lengths: record.lengths, now: now)
      self.periods[product.id] = periods
      var subscription =
        subscriptions[publication] ?? PublicationSubscription(policy: policies[publication] ?? defaultPolicy)
      subscription.periods += periods.counting
      subscription.revokedPeriods += periods.void.filter { $0.transaction.revokedDate != nil }
      subscriptions[publication] = subscription
    }
    for publication in subscriptions.keys {
      subscriptions[publication]?.arrange(issueDates: issueDates(publication), record: record, now: now)
    }
  }

  /// When the run began that a subscription is in now or was in last.
  func runStart(of product: Product) -> Timestamp? {
    guard product.type.isSubscription, let publication = product.publication else { return nil }
    return subscriptions[publication]?.live.last { $0.start <= now }?.start
  }

  func evidence(about product: Product) -> EntitlementEvidence {
    product.type.isSubscription ? evidence(aboutSubscription: product) : evidence(aboutIssue: product)
  }

  private func policy(of product: Product) -> PublicationPolicy {
    product.publication.flatMap { policies[$0] } ?? defaultPolicy
  }

  private func evidence(aboutSubscription product: Product) -> EntitlementEvidence {
    var evidence = EntitlementEvidence()
    guard let own = transactions[product.id], let counting = periods[product.id]?.counting else {
      return evidence
    }
    let policy = policy(of: product)
    let serviceEnd = counting.serviceEnd(at: now, by: policy)
    let running = counting.filter { $0.contains(now) }
    for period in running { evidence.claim(period.transaction, .purchased, in: period, until: serviceEnd) }
    for period in counting where now < period.start {
      evidence.object(.periodAhead, to: period.transaction, period: period.named, until: period.start)
    }
    let over = counting.filter { $0.end <= now }
    if let last = over.max(by: { $0.end < $1.end }) {
      evidence.object(.periodOver, to: last.transaction, period: last.named, until: last.end)
    }
    for period in over {
      evidence.expire(period.transaction, at: period.servedEnd(by: policy))
      guard running.isEmpty else { continue }
      if let end = period.graceEnd, now < end {
        let grace = EntitlementFinding.Period(start: period.end, end: end)
        if policy.servesInGrace {
          evidence.claim(period.transaction, .inGrace, during: grace, until: serviceEnd)
          continue
        }
        evidence.object(.graceNotServed, to: period.transaction, period: grace, until: end)
      }
      if let end = period.retryEnd, now < end {
        let retry = EntitlementFinding.Period(start: period.end, end: end)
        if policy.servesInBillingRetry {
          evidence.claim(period.transaction, .inBillingRetry, during: retry, until: serviceEnd)
        } else {
          evidence.object(.billingRetryNotServed, to: period.transaction, period: retry, until: end)
        }
      }
    }
    for transaction in own where !transaction.counts(at: now) { evidence.discount(transaction, at: now) }
    for transaction in own
    where transaction.expiresDate == nil && product.needsToldEnds && transaction.counts(at: now) {
      evidence.object(.periodWithoutEnd, to: transaction)
    }
    return evidence
  }

  private func evidence(aboutIssue product: Product) -> EntitlementEvidence {
    var evidence = EntitlementEvidence()
    for transaction in transactions[product.id] ?? [] {
      if transaction.counts(at: now) {
        evidence.claim(transaction, .purchased, until: transaction.licenseEndDate)
      } else {
        evidence.discount(transaction, at: now)
      }
    }
    if let condition = product.ownedIf { judge(product, by: condition, into: &evidence) }
    let subscription = product.publication.flatMap { subscriptions[$0] }
    if let subscription, let published = product.publicationDate {
      // What has not appeared yet belongs to no subscription yet.
      if now < published {
        evidence.object(.notYetPublished, until: published)
      } else {
        judge(
          product.id, published: published, released: product.lateRelease.flatMap { $0 <= now ? $0 : nil },
          by: subscription, into: &evidence)
      }
    }
    for (transaction, rule) in recorded[product.id] ?? [] {
      guard !evidence.isJudged(by: transaction) else { continue }
      if transaction.counts(at: now) {
        guard transaction.origin == nil else {
          evidence.claim(transaction, rule, until: transaction.licenseEndDate)
          continue
        }
        open(transaction, rule, by: subscription, policy: policy(of: product), into: &evidence)
      } else {
        evidence.discount(transaction, at: now)
      }
    }
    return evidence
  }

  private func judge(
    _ product: Product, by condition: OwnershipCondition, into evidence: inout EntitlementEvidence
  ) {
    for purchase in applications where purchase.isSale(of: product) {
      if !condition.holds(for: purchase) {
        evidence.object(.applicationBoughtLater, to: purchase)
      } else if purchase.counts(at: now) {
        evidence.claim(purchase, .ownedWithApplication, until: purchase.licenseEndDate)
      } else {
        evidence.discount(purchase, at: now)
      }
    }
  }

  /// `released` is the first release of an issue whose date was before it.
  private func judge(
    _ issue: ProductIdentifier, published: Timestamp, released: Timestamp?,
    by subscription: PublicationSubscription, into evidence: inout EntitlementEvidence
  ) {
    let moments = [published] + [released].compactMap { $0 }
    var isOpened = false
    for run in subscription.live {
      guard let (period, rule, time) = run.claim(on: issue, published: published, released: released) else {
        continue
      }
      isOpened = true
      open(
        period.transaction, rule, during: time, by: subscription, policy: subscription.policy,
        into: &evidence)
    }
    var isOfGrace = false
    for period in subscription.periods {
      guard let end = period.graceEnd, moments.contains(where: { period.end <= $0 && $0 < end }),
        !evidence.isJudged(by: period.transaction)
      else { continue }
      let grace = EntitlementFinding.Period(start: period.end, end: end)
      guard subscription.policy.keepsIssuesOfUnrecoveredGrace else {
        guard !isOpened else { continue }
        isOfGrace = true
        evidence.object(.publishedInUnpaidGrace, to: period.transaction, period: grace)
        continue
      }
      isOpened = true
      open(
        period.transaction, .publishedInGrace, during: grace, by: subscription, policy: subscription.policy,
        into: &evidence)
    }
    for run in subscription.revoked {
      if let (period, _, _) = run.claim(on: issue, published: published, released: released) {
        evidence.discount(period.transaction, at: now, period: period.named)
      }
    }
    guard !isOpened, let last = subscription.live.last, let period = last.periods.last else { return }
    if !isOfGrace {
      let nearest = subscription.live.last { $0.start <= published } ?? subscription.live[0]
      evidence.object(
        .publishedOutsidePeriods, to: nearest.periods.last?.transaction, period: nearest.named)
    }
    if last.end <= now, last.end <= published { evidence.expire(period.transaction) }
  }

  /// Adds a claim on an issue that a subscription opened. Under the policy it lasts for good, or while a
  /// subscription to the publication runs.
  private func open(
    _ transaction: VerifiedTransaction, _ rule: EntitlementRule,
    during period: EntitlementFinding.Period? = nil, by subscription: PublicationSubscription?,
    policy: PublicationPolicy, into evidence: inout EntitlementEvidence
  ) {
    if policy.keepsIssuesAfterLapse {
      evidence.claim(transaction, rule, during: period)
    } else if let end = subscription?.serviceEnd {
      evidence.claim(transaction, rule, during: period, until: end)
    } else {
      let ended = subscription?.periods.map { $0.servedEnd(by: policy) }.filter { $0 <= now }.max()
      evidence.close(transaction, period: period, at: ended)
    }
  }
}

extension Product {
  /// Whether a payment that its store tells no end of has none that could be computed.
  fileprivate var needsToldEnds: Bool {
    switch type {
    case .autoRenewableSubscription: true
    case .nonRenewingSubscription: period == nil
    case .freeSubscription, .consumable, .nonConsumable: false
    }
  }
}

extension VerifiedTransaction {
  /// Whether nothing took it back until `moment`. A refund counts whatever its date: the store has decided.
  func counts(at moment: Timestamp) -> Bool {
    revokedDate == nil && (licenseEndDate.map { moment < $0 } ?? true)
  }
}

extension [VerifiedTransaction] {
  /// Without those of other applications than their products'.
  fileprivate func sales(of catalog: [Product]) -> [VerifiedTransaction] {
    let owned = Dictionary(
      catalog.filter { $0.application != nil }.map { ($0.id, $0) }, uniquingKeysWith: { first, _ in first })
    guard !owned.isEmpty else { return self }
    return filter { owned[$0.product].map($0.isSale) ?? true }
  }

  /// Each transaction once, by the latest word of its store; of two of one date the one that gives less.
  fileprivate var latestStatements: [VerifiedTransaction] {
    var latest: [TransactionName: VerifiedTransaction] = [:]
    latest.reserveCapacity(count)
    for transaction in self {
      let name = TransactionName(of: transaction)
      if let other = latest[name], !transaction.replaces(other) { continue }
      latest[name] = transaction
    }
    return Array(latest.values)
  }
}

private struct TransactionName: Hashable {
  var id: TransactionIdentifier
  var store: StoreIdentifier
  var environment: StoreEnvironment

  init(of transaction: VerifiedTransaction) {
    id = transaction.id
    store = transaction.store
    environment = transaction.environment
  }
}

extension VerifiedTransaction {
  fileprivate func replaces(_ other: VerifiedTransaction) -> Bool {
    if asOf != other.asOf { return other.asOf < asOf }
    if (revokedDate == nil) != (other.revokedDate == nil) { return revokedDate != nil }
    return isLess(than: other, by: [\.revokedDate, \.expiresDate, \.licenseEndDate, \.graceExpiresDate])
  }

  /// By the first of these dates that differs; the earlier one gives less, and so does any before none.
  private func isLess(
    than other: VerifiedTransaction, by dates: [KeyPath<VerifiedTransaction, Timestamp?>]
  ) -> Bool {
    for date in dates where self[keyPath: date] != other[keyPath: date] {
      return self[keyPath: date]?.millisecondsSinceEpoch ?? .max
        < other[keyPath: date]?.millisecondsSinceEpoch ?? .max
    }
    return false
  }
}
