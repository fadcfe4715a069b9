import Commerce
import CoreTypes

/// The time one payment for a subscription bought: from `start` up to but not including `end`.
struct SubscriptionPeriod {
  /// The end of what does not end.
  static let never = Timestamp(millisecondsSinceEpoch: .max)

  let transaction: VerifiedTransaction
  let start: Timestamp
  let end: Timestamp
  /// The end of the grace, as far as it was not paid in the meantime; nil without one.
  private(set) var graceEnd: Timestamp?
  /// The same for the time in which the store tries to charge.
  private(set) var retryEnd: Timestamp?

  /// Nil where the end is not after the start.
  private init?(_ transaction: VerifiedTransaction, from start: Timestamp, to end: Timestamp) {
    guard start < end else { return nil }
    self.transaction = transaction
    self.start = start
    self.end = end
  }

  func contains(_ moment: Timestamp) -> Bool { start <= moment && moment < end }

  /// The period, or what of it is left after the end that a policy gives it.
  func servedEnd(by policy: PublicationPolicy) -> Timestamp {
    var last = end
    if policy.servesInGrace, let graceEnd { last = max(last, graceEnd) }
    if policy.servesInBillingRetry, let retryEnd { last = max(last, retryEnd) }
    return last
  }

  /// For what is said of it.
  var named: EntitlementFinding.Period {
    EntitlementFinding.Period(start: start, end: end == Self.never ? nil : end)
  }

  /// The periods of one subscription: first those that count, in the order of their starts, then those of transactions that
  /// count no more. A payment without an end leads to none, unless the product's type lets one be computed: those that do not
  /// renew by themselves follow one another, and a free subscription does not end.
  static func all(
    of product: Product, paidBy transactions: [VerifiedTransaction],
    lengths: [TransactionIdentifier: BillingPeriod], now: Timestamp
  ) -> (counting: [SubscriptionPeriod], void: [SubscriptionPeriod]) {
    var (counting, void): ([SubscriptionPeriod], [SubscriptionPeriod]) = ([], [])
    var seen: Set<Purchase> = []
    var next: Timestamp?
    // Those that follow one another end where all of them together do: the 31st is not lost in February.
    var row: (start: Timestamp, length: BillingPeriod, end: Timestamp)?
    for transaction in transactions.sorted(by: { $0.precedes($1) }) {
      let counts = transaction.counts(at: now)
      var start = transaction.purchaseDate
      let end: Timestamp?
      switch (product.type, transaction.expiresDate) {
      case (_, let expires?): end = expires
      case (.nonRenewingSubscription, nil):
        // One that is shown under another number is no second payment.
        guard !counts || seen.insert(Purchase(of: transaction)).inserted else { continue }
        if counts, let next { start = max(start, next) }
        let length = lengths[transaction.id] ?? product.period
        if counts, let before = row, before.end == start,
          let whole = length.flatMap({ before.length.followed(by: $0) })
        {
          row = before.start.adding(whole).map { (before.start, whole, $0) }
        } else if counts {
          let begin = start
          row = length.flatMap { length in begin.adding(length).map { (begin, length, $0) } }
        }
        end = counts ? row?.end : length.flatMap { start.adding($0) }
      case (.freeSubscription, nil): end = never
      case (_, nil): end = nil
      }
      guard let end, let period = SubscriptionPeriod(transaction, from: start, to: end) else { continue }
      if counts {
        counting.append(period)
        next = next.map { max($0, period.end) } ?? period.end
      } else {
        void.append(period)
      }
    }
    if counting.contains(where: \.mayBeServedLonger) {
      counting = counting.map { $0.extended(within: counting) }
    }
    return (counting.sorted(by: Self.begins), void)
  }

  /// The order of starts; where several begin at once, of transactions.
  static func begins(_ left: SubscriptionPeriod, before right: SubscriptionPeriod) -> Bool {
    left.start != right.start ? left.start < right.start : left.transaction.precedes(right.transaction)
  }

  private var mayBeServedLonger: Bool {
    transaction.graceExpiresDate != nil || transaction.billingRetryEndDate != nil
  }

  /// With the grace and the time of charging that its transaction names, up to when the subscription was paid again.
  private func extended(within periods: [SubscriptionPeriod]) -> SubscriptionPeriod {
    guard mayBeServedLonger else { return self }
    let paidAgain = periods.filter { $0.end > end }.map { max($0.start, end) }.min() ?? Self.never
    var extended = self
    extended.graceEnd = transaction.graceExpiresDate.map { min($0, paidAgain) }.flatMap {
      $0 > end ? $0 : nil
    }
    extended.retryEnd = transaction.billingRetryEndDate.map { min($0, paidAgain) }.flatMap {
      $0 > end ? $0 : nil
    }
    return extended
  }

  private struct Purchase: Hashable {
    var store: StoreIdentifier
    var environment: StoreEnvironment
    var original: TransactionIdentifier
    /// Stores continue the first purchase with each later one.
    var date: Timestamp

    init(of transaction: VerifiedTransaction) {
      store = transaction.store
      environment = transaction.environment
      original = transaction.originalID
      date = transaction.purchaseDate
    }
  }
}

extension [SubscriptionPeriod] {
  /// Up to when the subscription goes on from `moment` without a payment that is not made yet; nil where it does not run then.
  /// The periods are in the order of their starts.
  func serviceEnd(at moment: Timestamp, by policy: PublicationPolicy) -> Timestamp? {
    var end: Timestamp?
    for period in self {
      guard period.start <= Swift.max(moment, end ?? moment) else { break }
      // Nothing is promised of a grace before it has begun.
      let served = moment < period.end ? period.end : period.servedEnd(by: policy)
      if moment < served { end = end.map { Swift.max($0, served) } ?? served }
    }
    return end
  }
}

/// Periods of a subscription that follow one another without a lapse.
struct ContinuousSubscription {
  /// By their start; never empty.
  private(set) var periods: [SubscriptionPeriod]
  private(set) var end: Timestamp
  /// The latest start of a period that still continues the run.
  private var bridge: Timestamp
  /// Publication dates of the issues that were opened when the run began: up to the latest by its date, and up to the latest that
  /// readers could have by then, where that is another one.
  private var unlocked: [ClosedRange<Timestamp>] = []
  /// Where it was written down which ones those were, the catalog's dates do not count any more.
  private var record: EntitlementRecord = .empty
  private let policy: PublicationPolicy

  private init(_ period: SubscriptionPeriod, policy: PublicationPolicy) {
    periods = [period]
    end = period.end
    bridge = Self.bridge(of: period, policy)
    self.policy = policy
  }

  var start: Timestamp { periods[0].start }

  /// Stores date by whole seconds: what was released in the second in which a run began may have been there before.
  private static let datingUnit: Duration = .seconds(1)

  /// No issue that appeared before is opened by the run, unless it was written down.
  var firstOpened: Timestamp { unlocked.map(\.lowerBound).reduce(start, min) }

  /// For what is said of it.
  var named: EntitlementFinding.Period {
    EntitlementFinding.Period(start: start, end: end == SubscriptionPeriod.never ? nil : end)
  }

  /// "All content published between each subscription start and end date, and the content that was initially unlocked
  /// when the subscription was purchased": the issues that the policy gives at the start of the run, and those that appeared
  /// later, by their dates or, behind its first second, by a first release that came behind them. Answers also the time that speaks for it: of what appeared in a
  /// bridged gap the gap, and else the period. Nil for any other issue.
  func claim(
    on issue: ProductIdentifier, published date: Timestamp, released: Timestamp?
  ) -> (period: SubscriptionPeriod, rule: EntitlementRule, time: EntitlementFinding.Period)? {
    if let (period, rule, gap) = opened(at: date) { return (period, rule, gap ?? period.named) }
    if let rule = ruleAtStart(on: issue, published: date) { return (periods[0], rule, periods[0].named) }
    guard let released, released >= start + Self.datingUnit, let (period, rule, gap) = opened(at: released)
    else { return nil }
    return (
      period, rule == .publishedDuringSubscription ? .releasedDuringSubscription : rule, gap ?? period.named
    )
  }

  /// By which rule the issue was opened when the run began; nil where it was not.
  private func ruleAtStart(on issue: ProductIdentifier, published date: Timestamp) -> EntitlementRule? {
    let first = periods[0].transaction.id
    if record.unlocked[first] != nil { return record.rule(unlocking: issue, by: first) }
    let ranges = unlocked.filter { $0.contains(date) }
    if ranges.contains(where: { $0.upperBound == date }), policy.unlocksLatestIssue {
      return .unlockedAtStart
    }
    return ranges.contains { date < $0.upperBound } ? .backIssue : nil
  }

  /// The period that opens what appears at `moment`, and by which rule: the last that runs then. In a bridged gap it is the one
  /// before the gap that reaches it, by its grace or by the tolerance. Nil outside the run.
  private func opened(
    at moment: Timestamp
  ) -> (period: SubscriptionPeriod, rule: EntitlementRule, gap: EntitlementFinding.Period?)? {
    guard start <= moment, moment < end else { return nil }
    if let period = periods.last(where: { $0.contains(moment) }) {
      return (period, .publishedDuringSubscription, nil)
    }
    let before = periods.filter { $0.end <= moment }
    guard let next = periods.first(where: { $0.start > moment }),
      let last = before.map(\.end).max(),
      let period = before.last(where: { Self.bridge(of: $0, policy) >= next.start })
    else { return nil }
    return (
      period, period.graceEnd == nil ? .publishedInToleratedGap : .publishedInPaidGrace,
      EntitlementFinding.Period(start: last, end: next.start)
    )
  }

  /// The runs of `periods`, which are in the order of their starts. A gap within the policy's tolerance is no lapse, and
  /// neither is one in whose grace the payment came.
  static func runs(
    of periods: [SubscriptionPeriod], policy: PublicationPolicy, issueDates: IssueDates,
    record: EntitlementRecord
  ) -> [ContinuousSubscription] {
    var runs: [ContinuousSubscription] = []
    for period in periods {
      // In its place: a copy would copy all periods with each that is added.
      if let last = runs.indices.last, period.start <= runs[last].bridge {
        runs[last].periods.append(period)
        runs[last].end = max(runs[last].end, period.end)
        runs[last].bridge = max(runs[last].bridge, bridge(of: period, policy))
      } else {
        runs.append(ContinuousSubscription(period, policy: policy))
      }
    }
    for index in runs.indices {
      let start = runs[index].start
      let latest = issueDates.latest(at: start, andBefore: policy.backIssues)
      let released = issueDates.latestReleased(at: start, andBefore: policy.backIssues)
      runs[index].unlocked = [latest, released == latest ? nil : released].compactMap { $0 }
      runs[index].record = record
    }
    return runs
  }

  /// A store that gives a grace has said that the payment is late: then only a payment within it continues the run.
  private static func bridge(of period: SubscriptionPeriod, _ policy: PublicationPolicy) -> Timestamp {
    guard period.end != SubscriptionPeriod.never else { return period.end }
    return period.graceEnd ?? period.end + policy.tolerance(after: period.end - period.start)
  }
}

/// The subscription periods that were ever paid for one publication.
struct PublicationSubscription {
  var policy: PublicationPolicy
  /// Those that count, in the order of their starts.
  var periods: [SubscriptionPeriod] = []
  /// Those that were refunded or withdrawn.
  var revokedPeriods: [SubscriptionPeriod] = []
  /// The uninterrupted runs of ``periods``.
  var live: [ContinuousSubscription] = []
  /// Made of refunded and withdrawn periods only: they entitle to nothing, but explain a refusal.
  var revoked: [ContinuousSubscription] = []
  /// Up to when a subscription to the publication runs; nil where none does.
  var serviceEnd: Timestamp?

  init(policy: PublicationPolicy) {
    self.policy = policy
  }

  /// Nothing was paid that concerns an issue which appeared before, unless it was written down; nil where nothing was paid at all.
  var firstOpened: Timestamp? { (live + revoked).map(\.firstOpened).min() }

  mutating func arrange(issueDates: IssueDates, record: EntitlementRecord, now: Timestamp) {
    periods.sort(by: SubscriptionPeriod.begins)
    revokedPeriods.sort(by: SubscriptionPeriod.begins)
    live = ContinuousSubscription.runs(
      of: periods, policy: policy, issueDates: issueDates, record: record)
    revoked = ContinuousSubscription.runs(
      of: revokedPeriods, policy: policy, issueDates: issueDates, record: record)
    serviceEnd = periods.serviceEnd(at: now, by: policy)
  }
}
