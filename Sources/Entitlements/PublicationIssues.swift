public import Commerce
public import CoreTypes

/// The issues of one publication that have a date, arranged once for all customers whose transactions are judged.
public struct PublicationIssues: Sendable {
  private typealias Dated = (date: Timestamp, product: Product)

  /// In the order of their dates.
  private let issues: [Dated]
  /// Those that were released later than their dates, in the order of their first releases.
  private let late: [Dated]
  let dates: IssueDates

  /// Creates the list; of `products`, which all belong to the publication, subscriptions and those without a date are left out.
  public init(of products: some Sequence<Product>) {
    issues = products.compactMap { product in
      product.type.isSubscription ? nil : product.publicationDate.map { ($0, product) }
    }.sorted { $0.date < $1.date }
    late = issues.compactMap { issue in issue.product.lateRelease.map { ($0, issue.product) } }
      .sorted { $0.date < $1.date }
    dates = IssueDates(issues.map { ($0.date, $0.product.firstReleased) })
  }

  /// How many there are.
  public var count: Int { issues.count }

  /// When the next issue appears; nil where none is known.
  public func nextDate(after moment: Timestamp) -> Timestamp? { dates.next(after: moment) }

  /// Whether a subscription that begins at `moment` opens the issue of that date at once, by the policy.
  package func areOpened(
    of date: Timestamp, toSubscriberSince moment: Timestamp, under policy: PublicationPolicy
  ) -> Bool {
    [
      dates.latest(at: moment, andBefore: policy.backIssues),
      dates.latestReleased(at: moment, andBefore: policy.backIssues),
    ].contains { range in
      guard let range, range.contains(date) else { return false }
      return date < range.upperBound || policy.unlocksLatestIssue
    }
  }

  /// Those that have appeared between the two moments, both included, by their dates or by their first releases.
  func issues(from first: Timestamp, through last: Timestamp) -> [Product] {
    Self.slice(issues, from: first, through: last).map(\.product)
      + Self.slice(late, from: first, through: last).map(\.product).filter {
        $0.publicationDate.map { $0 < first } ?? false
      }
  }

  private static func slice(
    _ issues: [Dated], from first: Timestamp, through last: Timestamp
  ) -> ArraySlice<Dated> {
    let start = issues.partitioningIndex { $0.date >= first }
    let end = issues.partitioningIndex { $0.date > last }
    return issues[start..<max(start, end)]
  }
}

/// The dates of a publication's issues, each once, in their order.
struct IssueDates: Sendable {
  private var dates: [Timestamp] = []
  /// The first release of an issue of each date, in the order of ``dates``; nil where no issue of that date
  /// was released.
  private var releases: [Timestamp?] = []

  /// `issues` are in the order of their dates.
  init(_ issues: some Sequence<(date: Timestamp, firstReleased: Timestamp?)> = []) {
    for issue in issues {
      if dates.last == issue.date {
        let other = releases.removeLast()
        releases.append([other, issue.firstReleased].compactMap { $0 }.min())
      } else {
        dates.append(issue.date)
        releases.append(issue.firstReleased)
      }
    }
  }

  func next(after moment: Timestamp) -> Timestamp? {
    let place = dates.partitioningIndex { $0 > moment }
    return place < dates.endIndex ? dates[place] : nil
  }

  /// From the date of the issue that was `count` before the latest one at `moment` up to that one's; nil before the first date.
  func latest(at moment: Timestamp, andBefore count: Int) -> ClosedRange<Timestamp>? {
    range(endingAt: dates.partitioningIndex { $0 > moment } - 1, andBefore: count)
  }

  /// The same of those that readers could have at `moment`: later ones may have a date, and no release yet.
  func latestReleased(at moment: Timestamp, andBefore count: Int) -> ClosedRange<Timestamp>? {
    let dated = dates.partitioningIndex { $0 > moment }
    let latest = releases[..<dated].lastIndex { $0.map { $0 <= moment } ?? false }
    return latest.flatMap { range(endingAt: $0, andBefore: count) }
  }

  private func range(endingAt latest: Int, andBefore count: Int) -> ClosedRange<Timestamp>? {
    latest < 0 ? nil : dates[max(0, latest - max(0, count))]...dates[latest]
  }
}

extension EntitlementRules {
  /// The same report without what is not owned and never was, for many customers of the same publications: an issue that
  /// nothing a customer paid concerns costs nothing. `named` are the products that the transactions and the record name, and those
  /// that applications may own; `issues` are those of each publication that a product of these subscribes to.
  public func evaluate(
    _ transactions: [VerifiedTransaction], naming named: [Product],
    issues: [ProductIdentifier: PublicationIssues], policies: [ProductIdentifier: PublicationPolicy] = [:],
    record: EntitlementRecord = .empty, now: Timestamp
  ) -> EntitlementReport {
    let history = PurchaseHistory(
      of: transactions, catalog: named, issueDates: { issues[$0]?.dates ?? IssueDates() }, policies: policies,
      defaultPolicy: defaultPolicy, record: record, now: now)
    var report = EntitlementReport()
    func note(_ product: Product) {
      let evidence = history.evidence(about: product)
      if evidence.verdict != .notOwned { report.note(evidence, of: product, in: history) }
    }
    for product in named { note(product) }
    for (publication, subscription) in history.subscriptions {
      guard let first = subscription.firstOpened, let issues = issues[publication] else { continue }
      for issue in issues.issues(from: first, through: now) where report.verdicts[issue.id] == nil {
        note(issue)
      }
    }
    return report
  }
}

extension EntitlementReport {
  mutating func note(_ evidence: EntitlementEvidence, of product: Product, in history: PurchaseHistory) {
    verdicts[product.id] = evidence.verdict
    ends[product.id] = evidence.end
    let claims = evidence.claims
    if !claims.isEmpty { self.claims[product.id] = claims }
    if evidence.verdict.isOwned { subscribedSince[product.id] = history.runStart(of: product) }
  }
}
