/// A live transaction that entitles to a product, and by which rule.
public struct EntitlementClaim: Hashable, Sendable {
  public enum Reason: String, Codable, Sendable {
    /// The product itself was bought (for a subscription: a period of it runs).
    case purchased
    /// An issue that appeared while a subscription to its publication ran.
    case publishedDuringSubscription = "published-during-subscription"
    /// The issue that was the latest one when an uninterrupted run of a subscription began.
    case unlockedAtStart = "unlocked-at-start"
  }

  public let transaction: TransactionIdentifier
  public let reason: Reason

  public init(transaction: TransactionIdentifier, reason: Reason) {
    self.transaction = transaction
    self.reason = reason
  }
}
