public import Commerce

/// The facts that were recorded of transactions when they led to content. No later change of the catalog's
/// dates, prices or publications takes any of them away. Only a transaction's own refund, or the
/// publication's policy, ends one.
public struct EntitlementRecord: Hashable, Sendable {
  /// Nothing was written down.
  public static let empty = EntitlementRecord()

  /// The issues that an uninterrupted run of a subscription unlocked, by its first transaction: no others are unlocked by it.
  public var unlocked: [TransactionIdentifier: Set<ProductIdentifier>]
  /// Those of ``unlocked`` that were issues before the latest one.
  public var backIssues: [TransactionIdentifier: Set<ProductIdentifier>]
  /// Everything that was granted, by the transaction that paid.
  public var granted: [TransactionIdentifier: Set<ProductIdentifier>]
  /// How long each payment for a subscription that does not renew lasts, as the catalog said when it was first seen.
  public var lengths: [TransactionIdentifier: BillingPeriod]

  /// Creates the record from what was written down.
  public init(
    unlocked: [TransactionIdentifier: Set<ProductIdentifier>] = [:],
    backIssues: [TransactionIdentifier: Set<ProductIdentifier>] = [:],
    granted: [TransactionIdentifier: Set<ProductIdentifier>] = [:],
    lengths: [TransactionIdentifier: BillingPeriod] = [:]
  ) {
    self.unlocked = unlocked
    self.backIssues = backIssues
    self.granted = granted
    self.lengths = lengths
  }

  /// Every product that stands here.
  public var products: Set<ProductIdentifier> {
    unlocked.values.reduce(granted.values.reduce([]) { $0.union($1) }) { $0.union($1) }
  }

  /// By which rule the run that began with this transaction unlocked the issue; nil where it did not, as far as was written
  /// down.
  func rule(unlocking issue: ProductIdentifier, by transaction: TransactionIdentifier) -> EntitlementRule? {
    guard unlocked[transaction]?.contains(issue) == true else { return nil }
    return backIssues[transaction]?.contains(issue) == true ? .backIssue : .unlockedAtStart
  }

  /// Returns the recorded claims of these transactions on each product, each with its transaction and its
  /// rule.
  func products(
    of transactions: some Sequence<VerifiedTransaction>
  ) -> [ProductIdentifier: [(transaction: VerifiedTransaction, rule: EntitlementRule)]] {
    guard !unlocked.isEmpty || !granted.isEmpty else { return [:] }
    var found: [ProductIdentifier: [(transaction: VerifiedTransaction, rule: EntitlementRule)]] = [:]
    for transaction in transactions {
      let first = unlocked[transaction.id] ?? []
      for product in first {
        guard let rule = rule(unlocking: product, by: transaction.id) else { continue }
        found[product, default: []].append((transaction, rule))
      }
      for product in granted[transaction.id] ?? [] where !first.contains(product) {
        found[product, default: []].append((transaction, .grantedBefore))
      }
    }
    return found
  }
}
