/// Why a transaction failed. The text is what clients see in a transaction's `error`.
struct PurchaseFailure: RawRepresentable, Hashable, Sendable {
  let rawValue: String

  /// The catalog does not sell it.
  static let productUnknown = PurchaseFailure(rawValue: "product-unknown")
  static let catalogUnavailable = PurchaseFailure(rawValue: "catalogue-unavailable")
  /// A test asked for it.
  static let paymentDeclined = PurchaseFailure(rawValue: "payment-declined")
  /// The store ended in the middle of the purchase, so nobody was told of a sale: there was none.
  static let interrupted = PurchaseFailure(rawValue: "interrupted")
}
