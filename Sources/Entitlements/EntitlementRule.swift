public import Commerce
public import CoreTypes

/// The closed list of what speaks for and against an entitlement, as docs/entitlements.md explains it.
public enum EntitlementRule: String, ListedWords, Sendable {
  /// The product itself was bought; for a subscription: a period of it runs.
  case purchased
  /// An issue that appeared while a subscription to its publication ran.
  case publishedDuringSubscription = "published-during-subscription"
  /// An issue whose date was before, and which was first released while a subscription to its publication ran.
  case releasedDuringSubscription = "released-during-subscription"
  /// An issue that appeared between two periods, in a gap that the publication's policy tolerates.
  case publishedInToleratedGap = "published-in-tolerated-gap"
  /// An issue that appeared behind a period, in a grace in which the payment came.
  case publishedInPaidGrace = "published-in-paid-grace"
  /// The issue that was the latest one when an uninterrupted run of a subscription began.
  case unlockedAtStart = "unlocked-at-start"
  /// An issue before that one, as many of which as the publication's policy gives.
  case backIssue = "back-issue"
  /// An issue that appeared in a grace that was never paid, of a publication whose policy gives it.
  case publishedInGrace = "published-in-grace"
  /// It was granted for this transaction before, by a catalog that said otherwise of it.
  case grantedBefore = "granted-before"
  /// A subscription's period is over, and the store gives a grace.
  case inGrace = "in-grace"
  /// A subscription's period is over, the store still tries to charge, and the publication's policy waits for it.
  case inBillingRetry = "in-billing-retry"
  /// The application itself was bought before it was sold otherwise, by the product's condition.
  case ownedWithApplication = "owned-with-application"

  /// Nothing was bought that would lead to it.
  case notBought = "not-bought"
  /// The catalog has no such product.
  case notInCatalog = "not-in-catalog"
  /// The store took the purchase back: a refund, a shared purchase that is shared no more, a withdrawal.
  case revoked
  /// The license of a volume purchase was withdrawn, and its time is over.
  case licenseEnded = "license-ended"
  /// A payment for a subscription without an end, which is never guessed.
  case periodWithoutEnd = "period-without-end"
  /// A period that begins later.
  case periodAhead = "period-ahead"
  /// The subscription's period is over.
  case periodOver = "period-over"
  /// There is a grace, and the publication's policy gives nothing in it.
  case graceNotServed = "grace-not-served"
  /// The store still tries to charge, and the publication's policy does not wait for it.
  case billingRetryNotServed = "billing-retry-not-served"
  /// The issue's date is not here yet.
  case notYetPublished = "not-yet-published"
  /// The issue appeared while no subscription ran, and no run began with it.
  case publishedOutsidePeriods = "published-outside-periods"
  /// The issue appeared in a grace that was not paid, and the publication's policy does not give it.
  case publishedInUnpaidGrace = "published-in-unpaid-grace"
  /// A subscription opened the issue, and by the publication's policy it is closed with the subscription.
  case closedByLapse = "closed-by-lapse"
  /// The application itself was bought too late for the product's condition.
  case applicationBoughtLater = "application-bought-later"

  /// Whether it speaks for the entitlement.
  public var isInFavor: Bool {
    switch self {
    case .purchased, .publishedDuringSubscription, .releasedDuringSubscription, .publishedInToleratedGap,
      .publishedInPaidGrace, .unlockedAtStart, .backIssue, .publishedInGrace, .grantedBefore,
      .inGrace, .inBillingRetry, .ownedWithApplication:
      true
    case .notBought, .notInCatalog, .revoked, .licenseEnded, .periodWithoutEnd, .periodAhead, .periodOver,
      .graceNotServed, .billingRetryNotServed, .notYetPublished, .publishedOutsidePeriods,
      .publishedInUnpaidGrace, .closedByLapse, .applicationBoughtLater:
      false
    }
  }

  /// Whether a run of a subscription opened an issue by it when it began.
  public var isUnlocking: Bool { self == .unlockedAtStart || self == .backIssue }
}

/// One rule that was applied, and to what.
public struct EntitlementFinding: Hashable, Sendable {
  /// From a moment up to but not including another.
  public struct Period: Hashable, Sendable {
    /// When it begins.
    public let start: Timestamp
    /// When it ends; nil for one that does not end.
    public let end: Timestamp?

    /// Creates the period.
    public init(start: Timestamp, end: Timestamp?) {
      self.start = start
      self.end = end
    }
  }

  /// The rule that was applied.
  public let rule: EntitlementRule
  /// The transaction that the rule was applied to; nil where nothing was bought.
  public let transaction: TransactionIdentifier?
  /// The time that was paid for, or the grace, where the rule is about one.
  public let period: Period?
  /// When the rule stops, or stopped, to hold: nil where nothing ends by itself.
  public let until: Timestamp?

  /// Creates the finding.
  public init(
    rule: EntitlementRule, transaction: TransactionIdentifier? = nil, period: Period? = nil,
    until: Timestamp? = nil
  ) {
    self.rule = rule
    self.transaction = transaction
    self.period = period
    self.until = until
  }
}

/// Why a product is or is not owned at one instant.
public struct EntitlementExplanation: Hashable, Sendable {
  /// Whether its content may be delivered.
  public let isAllowed: Bool
  /// Until when unless something is paid for again; of what is owned no more, until when it was. Nil for what does not end, and
  /// for what was never owned.
  public let until: Timestamp?
  /// The rules that speak for the product, the strongest first; empty where it is not owned.
  public let because: [EntitlementFinding]
  /// The rules that speak against the product. For an owned product, those that would apply without the rules
  /// in ``because``.
  public let against: [EntitlementFinding]
}

extension VerifiedTransaction {
  /// The purchase as it stood at `moment`: nil where it was made later, and without a refund that came later.
  public func standing(at moment: Timestamp) -> VerifiedTransaction? {
    guard purchaseDate <= moment else { return nil }
    guard let revokedDate, revokedDate > moment else { return self }
    return revised(revokedDate: nil, asOf: moment)
  }
}
