import CoreTypes

/// Periods of a subscription that follow one another without a lapse.
struct ContinuousSubscription {
  /// By their start; never empty.
  private(set) var periods: [SubscriptionPeriod]
  let start: Timestamp
  private(set) var end: Timestamp
  /// The publication date of the issue that was the latest one at ``start``.
  private var unlocked: Timestamp?
  /// What was written down of that; then the catalog's dates do not count any more. Nil where nothing was.
  private var recordedIssues: Set<ProductIdentifier>?

  private init(_ period: SubscriptionPeriod) {
    periods = [period]
    start = period.start
    end = period.end
  }

  /// "All content published between each subscription start and end date, and the content that was initially unlocked
  /// when the subscription was purchased": the latest issue at the start of the run. Nil for any other issue.
  func claim(
    on issue: ProductIdentifier, published date: Timestamp
  ) -> (transaction: VerifiedTransaction, reason: EntitlementClaim.Reason)? {
    if let period = period(at: date) { return (period.transaction, .publishedDuringSubscription) }
    let isUnlocked = recordedIssues?.contains(issue) ?? (date == unlocked)
    return isUnlocked ? (periods[0].transaction, .unlockedAtStart) : nil
  }

  /// The period that `moment` belongs to: the last that began before it, so that a moment in a bridged gap belongs to
  /// the period before the gap. Nil outside the run.
  private func period(at moment: Timestamp) -> SubscriptionPeriod? {
    guard start <= moment, moment < end else { return nil }
    return periods.last { $0.contains(moment) } ?? periods.last { $0.start <= moment }
  }

  /// A gap of at most `bridging` between two periods is no lapse.
  static func runs(
    of periods: [SubscriptionPeriod], bridging: Duration, issueDates: [Timestamp], record: EntitlementRecord
  ) -> [ContinuousSubscription] {
    var runs: [ContinuousSubscription] = []
    for period in periods.sorted(by: { $0.transaction.precedes($1.transaction) }) {
      if let last = runs.last, period.start <= last.end + bridging {
        runs[runs.count - 1].periods.append(period)
        runs[runs.count - 1].end = max(last.end, period.end)
      } else {
        runs.append(ContinuousSubscription(period))
      }
    }
    for index in runs.indices {
      runs[index].unlocked = issueDates.filter { $0 <= runs[index].start }.max()
      runs[index].recordedIssues = record.unlocked[runs[index].periods[0].transaction.id]
    }
    return runs
  }
}

/// The time one payment for a subscription bought: from `start` up to but not including `end`.
struct SubscriptionPeriod {
  let transaction: VerifiedTransaction
  let start: Timestamp
  let end: Timestamp

  /// Nil when the transaction says no end and the product's type does not let us compute one, or the end is not after
  /// the start.
  init?(_ transaction: VerifiedTransaction, of product: Product) {
    let computed: Timestamp? =
      product.type == .nonRenewingSubscription
      ? product.period.flatMap { transaction.purchaseDate.adding($0) } : nil
    guard let end = transaction.expiresDate ?? computed, end > transaction.purchaseDate else { return nil }
    self.transaction = transaction
    start = transaction.purchaseDate
    self.end = end
  }

  func contains(_ moment: Timestamp) -> Bool { start <= moment && moment < end }

  /// Whether the service goes on after the period, while its renewal is tried again.
  func isInGrace(at moment: Timestamp) -> Bool {
    guard let last = transaction.graceExpiresDate else { return false }
    return end <= moment && moment < last
  }
}

/// What was ever paid for a publication, as uninterrupted runs by their start.
struct PublicationSubscription {
  let live: [ContinuousSubscription]
  /// Made of refunded and withdrawn periods only: they entitle to nothing, but explain a refusal.
  let revoked: [ContinuousSubscription]
}
