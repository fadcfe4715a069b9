public import CoreTypes

/// The verdict of the rules about one product.
public enum Entitlement: Hashable, Sendable {
  /// The customer may have the content, because of this claim (the strongest one, see ``EntitlementReport/claims``).
  case owned(EntitlementClaim)
  /// Only periods of a subscription that are over would have led to it; the last of them.
  case expired(TransactionIdentifier)
  /// Only refunded or withdrawn purchases would have led to it; the last of them.
  case revoked(TransactionIdentifier)
  case notOwned

  /// Whether the product's content may be delivered.
  public var isOwned: Bool {
    if case .owned = self { true } else { false }
  }
}

/// A live transaction that entitles to a product, and by which rule.
public struct EntitlementClaim: Hashable, Sendable {
  /// How a transaction comes to pay for a product.
  public enum Reason: String, Codable, Sendable {
    /// The product itself was bought (for a subscription: a period of it runs).
    case purchased
    /// An issue that appeared while a subscription to its publication ran.
    case publishedDuringSubscription = "published-during-subscription"
    /// The issue that was the latest one when an uninterrupted run of a subscription began.
    case unlockedAtStart = "unlocked-at-start"
    /// It was granted for this transaction before, by a catalog that said otherwise of it.
    case grantedBefore = "granted-before"
  }

  /// The transaction that pays.
  public let transaction: TransactionIdentifier
  /// How it comes to pay for the product.
  public let reason: Reason

  /// Creates the claim.
  public init(transaction: TransactionIdentifier, reason: Reason) {
    self.transaction = transaction
    self.reason = reason
  }
}

/// What the rules make of a customer's transactions, product by product.
public struct EntitlementReport: Hashable, Sendable {
  /// One verdict for every product of the catalog.
  public internal(set) var verdicts: [ProductIdentifier: Entitlement] = [:]
  /// All live claims of every owned product, the strongest first: purchases of the product itself before
  /// subscriptions, later ones before earlier ones.
  public internal(set) var claims: [ProductIdentifier: [EntitlementClaim]] = [:]

  /// When what is owned ends by itself: a subscription's period, or the grace after it. For what is owned no more, when it
  /// ended. Nothing for what does not end.
  public internal(set) var ends: [ProductIdentifier: Timestamp] = [:]

  /// `notOwned` for a product that is not in the catalog.
  public subscript(product: ProductIdentifier) -> Entitlement {
    verdicts[product] ?? .notOwned
  }

  /// The products this transaction entitles to, alone or beside others, in the order of their names.
  public func products(claimedBy transaction: TransactionIdentifier) -> [ProductIdentifier] {
    claims.filter { $0.value.contains { $0.transaction == transaction } }.keys.sorted()
  }

  /// The issues that a run of a subscription unlocked which began with this transaction, in the order of their names.
  public func products(unlockedBy transaction: TransactionIdentifier) -> [ProductIdentifier] {
    let claim = EntitlementClaim(transaction: transaction, reason: .unlockedAtStart)
    return claims.filter { $0.value.contains(claim) }.keys.sorted()
  }
}

/// What was written down of transactions when they led to content. Nothing in it is taken away by the catalog: dates, prices
/// and publications may change afterwards. Only a transaction's own refund ends it.
public struct EntitlementRecord: Hashable, Sendable {
  /// Nothing was written down.
  public static let empty = EntitlementRecord()

  /// The issues that an uninterrupted run of a subscription unlocked, by its first transaction: no others are unlocked by it.
  public var unlocked: [TransactionIdentifier: Set<ProductIdentifier>]
  /// Everything that was granted, by the transaction that paid.
  public var granted: [TransactionIdentifier: Set<ProductIdentifier>]

  /// Creates the record from what was written down.
  public init(
    unlocked: [TransactionIdentifier: Set<ProductIdentifier>] = [:],
    granted: [TransactionIdentifier: Set<ProductIdentifier>] = [:]
  ) {
    self.unlocked = unlocked
    self.granted = granted
  }

  /// Every product that stands here.
  public var products: Set<ProductIdentifier> {
    unlocked.values.reduce(granted.values.reduce([]) { $0.union($1) }) { $0.union($1) }
  }

  /// What speaks for each product, of these transactions.
  func products(
    of transactions: Set<VerifiedTransaction>
  ) -> [ProductIdentifier: [(VerifiedTransaction, EntitlementClaim.Reason)]] {
    guard !unlocked.isEmpty || !granted.isEmpty else { return [:] }
    var found: [ProductIdentifier: [(VerifiedTransaction, EntitlementClaim.Reason)]] = [:]
    for transaction in transactions {
      let first = unlocked[transaction.id] ?? []
      for product in first { found[product, default: []].append((transaction, .unlockedAtStart)) }
      for product in granted[transaction.id] ?? [] where !first.contains(product) {
        found[product, default: []].append((transaction, .grantedBefore))
      }
    }
    return found
  }
}
