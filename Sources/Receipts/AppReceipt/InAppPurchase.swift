import Commerce
public import CoreTypes

/// One purchase as a receipt and as `verifyReceipt` tell it. The members from ``cancellationReason`` on exist in the
/// answers of `verifyReceipt` only.
public struct InAppPurchase: Hashable, Sendable {
  public var quantity: Int64
  public var productIdentifier: String
  public var transactionIdentifier: String
  /// Differs from ``transactionIdentifier`` in renewals and restored purchases.
  public var originalTransactionIdentifier: String
  public var purchaseDate: Timestamp
  public var originalPurchaseDate: Timestamp
  /// 0 non-consumable, 1 consumable, 2 non-renewing, 3 auto-renewable; undocumented, so only a hint.
  public var productType: Int64?
  /// Subscriptions only.
  public var expiresDate: Timestamp?
  /// Names a subscription period across devices.
  public var webOrderLineItemIdentifier: Int64?
  /// When it was refunded or withdrawn: then it counts as never bought.
  public var cancellationDate: Timestamp?
  public var isTrialPeriod: Bool?
  public var isInIntroductoryOfferPeriod: Bool?
  public var promotionalOfferIdentifier: String?

  /// "1" an issue with the app, "0" another reason.
  public var cancellationReason: String?
  /// `PURCHASED` or `FAMILY_SHARED`.
  public var ownershipType: String?
  public var isUpgraded: Bool?
  public var subscriptionGroupIdentifier: String?
  public var offerCodeReferenceName: String?
  public var appAccountToken: String?

  public init(
    quantity: Int64 = 1, productIdentifier: String, transactionIdentifier: String,
    originalTransactionIdentifier: String, purchaseDate: Timestamp, originalPurchaseDate: Timestamp
  ) {
    self.quantity = quantity
    self.productIdentifier = productIdentifier
    self.transactionIdentifier = transactionIdentifier
    self.originalTransactionIdentifier = originalTransactionIdentifier
    self.purchaseDate = purchaseDate
    self.originalPurchaseDate = originalPurchaseDate
  }
}

extension InAppPurchase {
  /// Nil when a name in it cannot be one of ours. Only for purchases that somebody vouches for.
  func transaction(store: StoreIdentifier, environment: StoreEnvironment) -> VerifiedTransaction? {
    guard let id = TransactionIdentifier(transactionIdentifier),
      let originalID = TransactionIdentifier(originalTransactionIdentifier),
      let product = ProductIdentifier(productIdentifier)
    else { return nil }
    // The period of an upgraded subscription was paid for up to the upgrade; any other cancellation undoes the purchase.
    let end = isUpgraded == true ? [expiresDate, cancellationDate].compactMap { $0 }.min() : expiresDate
    return VerifiedTransaction(
      vouchedForBy: store, in: environment, id: id, originalID: originalID, product: product,
      purchaseDate: purchaseDate, expiresDate: end,
      revokedDate: isUpgraded == true ? nil : cancellationDate,
      quantity: Int(clamping: quantity))
  }
}
