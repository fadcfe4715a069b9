/// What became of asking a store about a receipt. Whether a product is owned, expired or revoked is for the
/// entitlement rules to say, over a valid receipt's transactions.
public enum ReceiptVerdict: Hashable, Sendable {
  case valid(VerifiedAppReceipt)
  case malformed
  case notAuthentic
  case wrongApplication
  case wrongEnvironment
  /// No answer, or none that decides: not a no. The only verdict that may fall back to an earlier one.
  case undetermined(retryAfter: Duration, reason: String)
}
