import Commerce
import ContentCatalog
import CoreTypes
import DeliveryModel
import DeliveryRecords
import Entitlements
import PaymentStores

/// How every product that a customer's transactions concern stands for a device. Pure.
///
/// Consumables are left out: what one of the customer's devices bought is delivered there, once.
struct FeedStandings: Sendable {
  private(set) var products: [ProductIdentifier: FeedStanding] = [:]
  /// When it may be another though nothing happens: a period ends, or an issue's date comes. Nil where that cannot be.
  private(set) var next: Timestamp?
  /// Which issues runs of subscriptions unlocked that was not written down yet.
  let unlocked: [TransactionKey: [ProductIdentifier: EntitlementRule]]

  /// `products` are looked up for others as well.
  init(
    of transactions: [VerifiedTransaction], record: EntitlementRecord, device: DeviceIdentifier,
    among products: inout RelatedProducts, rules: EntitlementRules, pace: ReleasePace, devices: Int,
    now: Timestamp
  ) {
    let catalog = products.catalog
    let (report, related) = Self.report(
      of: transactions, record: record, among: &products, rules: rules, now: now)
    unlocked = report.issuesUnlocked(beyond: record).named(by: transactions)
    for date in related.named.compactMap(\.publicationDate) { consider(date, now: now) }
    for date in related.issues.values.compactMap({ $0.nextDate(after: now) }) { consider(date, now: now) }
    for product in report.verdicts.keys.compactMap({ catalog[$0]?.product }) where product.type != .consumable
    {
      // A license ends, or a subscription that takes its issues with it.
      if report[product.id].isOwned, let end = report.ends[product.id] { consider(end, now: now) }
      self.products[product.id] =
        product.type.isSubscription
        ? standing(ofSubscription: product, in: report, now: now)
        : Self.standing(of: product, in: report, device: device, catalog: catalog, now: now) {
          pace.window(for: $0, to: devices)
        }
    }
  }

  /// The verdicts about everything that the transactions concern, and the products that these name.
  static func report(
    of transactions: [VerifiedTransaction], record: EntitlementRecord, among products: inout RelatedProducts,
    rules: EntitlementRules, now: Timestamp
  ) -> (
    report: EntitlementReport, related: (named: [Product], issues: [ProductIdentifier: PublicationIssues])
  ) {
    let related = products.related(to: Set(transactions.map(\.product)).union(record.products))
    let report = rules.evaluate(
      transactions, naming: related.named, issues: related.issues, policies: products.catalog.policies,
      record: record, now: now)
    return (report, related)
  }

  private mutating func consider(_ moment: Timestamp, now: Timestamp) {
    guard moment > now else { return }
    next = next.map { min($0, moment) } ?? moment
  }

  private mutating func standing(
    ofSubscription product: Product, in report: EntitlementReport, now: Timestamp
  ) -> FeedStanding? {
    switch (report[product.id], report.ends[product.id]) {
    case (.owned(let claim), let end?):
      let announces = product.type == .nonRenewingSubscription
      consider(end, now: now)
      if announces { consider(end - FeedPlan.notice, now: now) }
      return .running(
        claim.transaction, until: end, endsSoon: announces && end - now <= FeedPlan.notice)
    case (.expired(let transaction), let end?): return .ended(transaction, at: end)
    case (.revoked(let transaction), _): return .revoked(transaction)
    default: return nil
    }
  }

  private static func standing(
    of product: Product, in report: EntitlementReport, device: DeviceIdentifier, catalog: CatalogSnapshot,
    now: Timestamp, window: (ByteCount) -> Duration
  ) -> FeedStanding? {
    switch report[product.id] {
    case .owned(let claim):
      guard let content = catalog.offered(product.id, to: device) else { return .missing(claim.transaction) }
      return .available(
        content.version, content.length, claim.transaction,
        notBefore: ReleaseWindow.slot(
          of: device, for: product.id, released: content.released, window: window(content.length),
          now: now))
    case .revoked(let transaction), .expired(let transaction): return .revoked(transaction)
    case .notOwned: return nil
    }
  }
}

extension CatalogSnapshot {
  /// When the product appeared, or its content was released to the device where it has no such date; nil for a subscription.
  func date(of product: ProductIdentifier, on device: DeviceIdentifier) -> Timestamp? {
    guard let found = self[product]?.product, !found.type.isSubscription else { return nil }
    return found.publicationDate ?? offered(product, to: device)?.released
      ?? Timestamp(millisecondsSinceEpoch: 0)
  }
}
