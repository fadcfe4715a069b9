import Commerce
public import CoreTypes

/// One purchase as a receipt and as `verifyReceipt` tell it. The members from ``cancellationReason`` on exist in the
/// answers of `verifyReceipt` only. The others name their attribute in a receipt, and its member in those answers.
public struct InAppPurchase: Hashable, Sendable {
  /// Attribute 1701 (`quantity`): how many were bought.
  public var quantity: Int64
  /// Attribute 1702 (`product_id`).
  public var productIdentifier: String
  /// Attribute 1703 (`transaction_id`): digits in practice, compared as text.
  public var transactionIdentifier: String
  /// Differs from ``transactionIdentifier`` in renewals and restored purchases.
  public var originalTransactionIdentifier: String
  /// Attribute 1704 (`purchase_date`): when it was paid for, or restored.
  public var purchaseDate: Timestamp
  /// Attribute 1706 (`original_purchase_date`): the date of the first transaction of the chain.
  public var originalPurchaseDate: Timestamp
  /// 0 non-consumable, 1 consumable, 2 non-renewing, 3 auto-renewable; undocumented, so only a hint.
  public var productType: Int64?
  /// Subscriptions only.
  public var expiresDate: Timestamp?
  /// Names a subscription period across devices.
  public var webOrderLineItemIdentifier: Int64?
  /// When it was refunded or withdrawn: then it counts as never bought.
  public var cancellationDate: Timestamp?
  /// Attribute 1713 (`is_trial_period`); nil when the receipt does not say.
  public var isTrialPeriod: Bool?
  /// Attribute 1719 (`is_in_intro_offer_period`, documented); nil when the receipt does not say.
  public var isInIntroductoryOfferPeriod: Bool?
  /// Attribute 1721 (`promotional_offer_id`).
  public var promotionalOfferIdentifier: String?

  /// "1" an issue with the app, "0" another reason.
  public var cancellationReason: String?
  /// `PURCHASED` or `FAMILY_SHARED`.
  public var ownershipType: String?
  /// `is_upgraded`: whether a subscription was left for a better one of its group.
  public var isUpgraded: Bool?
  /// `subscription_group_identifier`.
  public var subscriptionGroupIdentifier: String?
  /// `offer_code_ref_name`: the offer code that was redeemed.
  public var offerCodeReferenceName: String?
  /// `app_account_token`: what the application called its user, a UUID.
  public var appAccountToken: String?

  /// Creates a purchase of these members; all others are nil.
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
  /// Nil when a name in it cannot be one of ours. Only for purchases that a signature or the store vouches for.
  ///
  /// - Parameters:
  ///   - asOf: up to when the store knew what is written here; a cancellation of a later date was known as well.
  ///   - graceExpiresDate: the end of the grace after this period.
  ///   - billingRetryEndDate: up to when the store charges again after it.
  ///   - licenseAsOf: up to when the store knew of the end of a license, or of none.
  ///   - application: whose receipt it is in.
  func transaction(
    store: StoreIdentifier, environment: StoreEnvironment, asOf: Timestamp,
    graceExpiresDate: Timestamp? = nil, billingRetryEndDate: Timestamp? = nil,
    licenseEndDate: Timestamp? = nil, licenseAsOf: Timestamp? = nil,
    application: ApplicationIdentifier? = nil
  ) -> VerifiedTransaction? {
    guard let id = TransactionIdentifier(transactionIdentifier),
      let originalID = TransactionIdentifier(originalTransactionIdentifier),
      let product = ProductIdentifier(productIdentifier)
    else { return nil }
    // The period of an upgraded subscription was paid for up to the upgrade; any other cancellation undoes the purchase.
    let end = isUpgraded == true ? [expiresDate, cancellationDate].compactMap { $0 }.min() : expiresDate
    return VerifiedTransaction(
      vouchedForBy: store, in: environment, id: id, originalID: originalID, product: product,
      purchaseDate: purchaseDate, expiresDate: end, graceExpiresDate: graceExpiresDate,
      billingRetryEndDate: billingRetryEndDate, revokedDate: isUpgraded == true ? nil : cancellationDate,
      licenseEndDate: licenseEndDate, licenseAsOf: licenseAsOf, quantity: Int(clamping: quantity),
      account: appAccountToken.flatMap { ApplicationAccount($0) }, application: application,
      asOf: max(asOf, cancellationDate ?? asOf))
  }
}

/// The time after a period in which a store tries to charge for the next one.
enum BillingRetry {
  /// Stores give up after that; they tell no date.
  static let length: Duration = .seconds(60 * 86_400)

  /// Up to when it lasts: the end of the period where the store said, after it, that it does not try. Nil where nothing is
  /// known of it.
  static func end(
    of expires: Timestamp?, isInBillingRetry: Bool?, asOf: Timestamp?
  ) -> Timestamp? {
    guard let expires, let isInBillingRetry else { return nil }
    if isInBillingRetry { return (expires + length).writable }
    return asOf.map { expires <= $0 } == true ? expires : nil
  }
}
