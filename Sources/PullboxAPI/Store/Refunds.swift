public import Commerce
import CoreTypes

/// Why a customer asks for a refund.
public enum RefundReason: String, ListedWords, Hashable, Sendable {
  case unintendedPurchase = "UNINTENDED_PURCHASE"
  case fulfillmentIssue = "FULFILLMENT_ISSUE"
  case unsatisfiedWithPurchase = "UNSATISFIED_WITH_PURCHASE"
  case legal = "LEGAL"
  case other = "OTHER"
}

/// The body of `POST /store/v1/transactions/{id}/refund-request`, and of the agent's `POST /v1/transactions/{id}/refund-request`: a customer asks for
/// the price back. The store decides later.
public struct RefundApplication: Codable, Hashable, Sendable {
  /// The customer's reason; absent for `OTHER`.
  public var reason: RefundReason?

  /// Creates the document from its members.
  public init(reason: RefundReason? = nil) {
    self.reason = reason
  }
}
