import CoreTypes

/// The answer of `verifyReceipt` to a ``TransactionReceipt``: flat, all of it text but the status and `auto_renew_status`.
/// Clients read it as a ``VerifyReceiptResponse``.
public struct TransactionReceiptResponse: Sendable {
  /// The status: `subscriptionExpired` for a subscription that has ended. The receipt is in the answer all
  /// the same.
  public var status: VerifyReceiptStatus
  /// `receipt`: the receipt that was sent.
  public var receipt: TransactionReceipt
  /// `latest_receipt_info`, or `latest_expired_receipt_info` of a subscription that has ended: its last period.
  public var latest: InAppPurchase?
  /// `latest_receipt`, of a subscription that runs.
  public var latestReceipt: String?
  /// The next renewal of the subscription; its members stand beside the others.
  public var renewal: PendingRenewal?

  /// Creates an answer about a purchase that is no subscription.
  public init(status: VerifyReceiptStatus, receipt: TransactionReceipt) {
    self.status = status
    self.receipt = receipt
  }
}

extension TransactionReceiptResponse: Encodable {
  /// Writes the answer. Throws `EncodingError`.
  public func encode(to encoder: any Encoder) throws {
    var values = encoder.container(keyedBy: VerifyReceiptKey.self)
    try values.encode(status.rawValue, forKey: VerifyReceiptKey("status"))
    try values.encode(Flat(receipt: receipt, purchase: receipt.purchase), forKey: VerifyReceiptKey("receipt"))
    let isOver = status == .subscriptionExpired
    try values.encodeIfPresent(
      latest.map { Flat(receipt: receipt, purchase: $0) },
      forKey: VerifyReceiptKey(isOver ? "latest_expired_receipt_info" : "latest_receipt_info"))
    try values.encodeIfPresent(latestReceipt, forKey: VerifyReceiptKey("latest_receipt"))
    guard let renewal else { return }
    try values.encodeIfPresent(
      renewal.autoRenews.map { $0 ? 1 : 0 }, forKey: VerifyReceiptKey("auto_renew_status"))
    try values.encodeIfPresent(
      renewal.autoRenewProductIdentifier, forKey: VerifyReceiptKey("auto_renew_product_id"))
    try values.encodeIfPresent(renewal.expirationIntent, forKey: VerifyReceiptKey("expiration_intent"))
    try values.encodeIfPresent(
      renewal.isInBillingRetryPeriod.map { $0 ? "1" : "0" },
      forKey: VerifyReceiptKey("is_in_billing_retry_period"))
  }

  private struct Flat: Encodable {
    let receipt: TransactionReceipt
    let purchase: InAppPurchase

    func encode(to encoder: any Encoder) throws {
      var values = encoder.container(keyedBy: VerifyReceiptKey.self)
      func encode(_ value: String?, _ name: String) throws {
        try values.encodeIfPresent(value, forKey: VerifyReceiptKey(name))
      }
      try encode(receipt.bundleIdentifier, "bid")
      try encode(receipt.applicationVersion, "bvrs")
      try encode("0", "item_id")
      try encode(String(purchase.quantity), "quantity")
      try encode(purchase.productIdentifier, "product_id")
      try encode(purchase.transactionIdentifier, "transaction_id")
      try encode(purchase.originalTransactionIdentifier, "original_transaction_id")
      try encode(purchase.webOrderLineItemIdentifier.map { String($0) }, "web_order_line_item_id")
      try values.encode(date: purchase.purchaseDate, "purchase_date")
      try values.encode(date: purchase.originalPurchaseDate, "original_purchase_date")
      try values.encode(date: purchase.cancellationDate, "cancellation_date")
      guard let end = purchase.expiresDate else { return }
      try encode(String(end.millisecondsSinceEpoch), "expires_date")
      try encode(end.wallText(zone: "Etc/GMT"), "expires_date_formatted")
      try encode(end.californiaText, "expires_date_formatted_pst")
    }
  }
}
