public import CoreTypes

/// A member of `pending_renewal_info`: what becomes of an auto-renewable subscription at its next renewal.
public struct PendingRenewal: Hashable, Sendable {
  /// `original_transaction_id`: the subscription.
  public var originalTransactionIdentifier: String
  /// `product_id`: what runs, or ran last.
  public var productIdentifier: String?
  /// `auto_renew_product_id`: what the next renewal is of.
  public var autoRenewProductIdentifier: String?
  /// `auto_renew_status`: whether it renews; not whether it runs.
  public var autoRenews: Bool?
  /// `expiration_intent`: "1" canceled by the customer, "2" billing error, "3" price rise refused, "4" product not
  /// available, "5" unknown.
  public var expirationIntent: String?
  /// `is_in_billing_retry_period`.
  public var isInBillingRetryPeriod: Bool?
  /// `grace_period_expires_date`: up to then the service goes on although the renewal was not paid for.
  public var gracePeriodExpiresDate: Timestamp?
  /// `price_consent_status`: whether the customer has agreed to a price rise.
  public var consentsToPrice: Bool?
  /// `price_increase_status`: whether a price rise that needs consent has it.
  public var acceptsPriceIncrease: Bool?
  /// `promotional_offer_id`.
  public var promotionalOfferIdentifier: String?
  /// `offer_code_ref_name`.
  public var offerCodeReferenceName: String?

  /// Creates the renewal of that subscription; all other members are nil.
  public init(originalTransactionIdentifier: String) {
    self.originalTransactionIdentifier = originalTransactionIdentifier
  }
}

extension PendingRenewal {
  /// The ends of graces, each by the identifier of its subscription's last period among `purchases`.
  static func graceDates(
    of renewals: [PendingRenewal], for purchases: [InAppPurchase]
  ) -> [String: Timestamp] {
    dates(of: renewals, for: purchases) { renewal, _ in renewal.gracePeriodExpiresDate }
  }

  /// Up to when the store charges again, each by the identifier of its subscription's last period among `purchases`: the
  /// period's own end where it told by `asked` that it does not.
  static func chargingDates(
    of renewals: [PendingRenewal], for purchases: [InAppPurchase], asked: Timestamp?
  ) -> [String: Timestamp] {
    dates(of: renewals, for: purchases) { renewal, period in
      BillingRetry.end(of: period.expiresDate, isInBillingRetry: renewal.isInBillingRetryPeriod, asOf: asked)
    }
  }

  private static func dates(
    of renewals: [PendingRenewal], for purchases: [InAppPurchase],
    _ date: (PendingRenewal, InAppPurchase) -> Timestamp?
  ) -> [String: Timestamp] {
    var dates: [String: Timestamp] = [:]
    for renewal in renewals {
      let periods = purchases.filter {
        $0.originalTransactionIdentifier == renewal.originalTransactionIdentifier && $0.expiresDate != nil
      }
      let last = periods.max {
        ($0.expiresDate ?? $0.purchaseDate, $0.transactionIdentifier)
          < ($1.expiresDate ?? $1.purchaseDate, $1.transactionIdentifier)
      }
      guard let last, let found = date(renewal, last) else { continue }
      dates[last.transactionIdentifier] = found
    }
    return dates
  }
}

extension PendingRenewal: Codable {
  /// Reads a member of `pending_renewal_info`, in each of the spellings that stores have used. Throws `DecodingError`.
  public init(from decoder: any Decoder) throws {
    let values = try decoder.container(keyedBy: VerifyReceiptKey.self)
    func text(_ name: String) throws -> String? { try values.lenientText(VerifyReceiptKey(name)) }
    func flag(_ name: String) throws -> Bool? { try values.lenientFlag(VerifyReceiptKey(name)) }
    guard let original = try text("original_transaction_id") else {
      throw DecodingError.keyNotFound(
        VerifyReceiptKey("original_transaction_id"),
        .init(codingPath: values.codingPath, debugDescription: "original_transaction_id is missing"))
    }
    self.init(originalTransactionIdentifier: original)
    productIdentifier = try text("product_id")
    autoRenewProductIdentifier = try text("auto_renew_product_id")
    autoRenews = try flag("auto_renew_status")
    expirationIntent = try text("expiration_intent")
    isInBillingRetryPeriod = try flag("is_in_billing_retry_period")
    gracePeriodExpiresDate = try values.date("grace_period_expires_date")
    consentsToPrice = try flag("price_consent_status")
    acceptsPriceIncrease = try flag("price_increase_status")
    promotionalOfferIdentifier = try text("promotional_offer_id")
    offerCodeReferenceName = try text("offer_code_ref_name")
  }

  /// Writes the member as `verifyReceipt` does, all of it text. Throws `EncodingError`.
  public func encode(to encoder: any Encoder) throws {
    var values = encoder.container(keyedBy: VerifyReceiptKey.self)
    func encode(_ value: String?, _ name: String) throws {
      try values.encodeIfPresent(value, forKey: VerifyReceiptKey(name))
    }
    func encode(_ value: Bool?, _ name: String) throws { try encode(value.map { $0 ? "1" : "0" }, name) }
    try encode(originalTransactionIdentifier, "original_transaction_id")
    try encode(productIdentifier, "product_id")
    try encode(autoRenewProductIdentifier, "auto_renew_product_id")
    try encode(autoRenews, "auto_renew_status")
    try encode(expirationIntent, "expiration_intent")
    try encode(isInBillingRetryPeriod, "is_in_billing_retry_period")
    try encode(consentsToPrice, "price_consent_status")
    try encode(acceptsPriceIncrease, "price_increase_status")
    try encode(promotionalOfferIdentifier, "promotional_offer_id")
    try encode(offerCodeReferenceName, "offer_code_ref_name")
    try values.encode(date: gracePeriodExpiresDate, "grace_period_expires_date")
  }
}
