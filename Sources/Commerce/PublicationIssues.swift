public import CoreTypes

/// The issues of one publication that have a date, arranged once for all customers whose transactions are judged.
public struct PublicationIssues: Sendable {
  /// In the order of their dates.
  private let issues: [(date: Timestamp, product: Product)]
  /// Each once.
  let dates: [Timestamp]

  /// Creates the list; of `products`, which all belong to the publication, subscriptions and those without a date are left out.
  public init(of products: some Sequence<Product>) {
    issues = products.compactMap { product in
      product.type.isSubscription ? nil : product.publicationDate.map { ($0, product) }
    }.sorted { $0.date < $1.date }
    var dates: [Timestamp] = []
    for issue in issues where dates.last != issue.date { dates.append(issue.date) }
    self.dates = dates
  }

  /// How many there are.
  public var count: Int { issues.count }

  /// When the next issue appears; nil where none is known.
  public func nextDate(after moment: Timestamp) -> Timestamp? {
    let place = dates.partitioningIndex { $0 > moment }
    return place < dates.endIndex ? dates[place] : nil
  }

  /// Those that have appeared between the two moments, both included.
  func issues(from first: Timestamp, through last: Timestamp) -> some Sequence<Product> {
    let start = issues.partitioningIndex { $0.date >= first }
    let end = issues.partitioningIndex { $0.date > last }
    return issues[start..<max(start, end)].lazy.map(\.product)
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
      of: transactions, catalog: named, issueDates: { issues[$0]?.dates ?? [] }, policies: policies,
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
