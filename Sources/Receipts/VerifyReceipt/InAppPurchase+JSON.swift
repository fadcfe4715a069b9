import CoreTypes

/// A member of `in_app` and of `latest_receipt_info`: every value a string when written, any spelling when read.
extension InAppPurchase: Codable {
  /// Reads a member of `in_app` or `latest_receipt_info`, in each of the spellings that stores have used.
  /// Throws `DecodingError`.
  public init(from decoder: any Decoder) throws {
    let values = try decoder.container(keyedBy: VerifyReceiptKey.self)
    func text(_ name: String) throws -> String? { try values.lenientText(VerifyReceiptKey(name)) }
    func required<Value>(_ name: String, _ value: Value?) throws -> Value {
      guard let value else {
        throw DecodingError.keyNotFound(
          VerifyReceiptKey(name), .init(codingPath: values.codingPath, debugDescription: "\(name) is missing")
        )
      }
      return value
    }
    let transaction = try required("transaction_id", text("transaction_id"))
    let purchased = try required("purchase_date", values.date("purchase_date"))
    self.init(
      quantity: try values.lenientInteger(VerifyReceiptKey("quantity")) ?? 1,
      productIdentifier: try required("product_id", text("product_id")),
      transactionIdentifier: transaction,
      originalTransactionIdentifier: try text("original_transaction_id") ?? transaction,
      purchaseDate: purchased,
      originalPurchaseDate: try values.date("original_purchase_date") ?? purchased)
    expiresDate = try values.date("expires_date")
    webOrderLineItemIdentifier = try values.lenientInteger(VerifyReceiptKey("web_order_line_item_id"))
    cancellationDate = try values.date("cancellation_date")
    isTrialPeriod = try values.lenientFlag(VerifyReceiptKey("is_trial_period"))
    isInIntroductoryOfferPeriod = try values.lenientFlag(VerifyReceiptKey("is_in_intro_offer_period"))
    promotionalOfferIdentifier = try text("promotional_offer_id")
    cancellationReason = try text("cancellation_reason")
    ownershipType = try text("in_app_ownership_type")
    isUpgraded = try values.lenientFlag(VerifyReceiptKey("is_upgraded"))
    subscriptionGroupIdentifier = try text("subscription_group_identifier")
    offerCodeReferenceName = try text("offer_code_ref_name")
    appAccountToken = try text("app_account_token")
  }

  /// Writes the purchase as `verifyReceipt` does: numbers and booleans as strings, each date three times.
  /// Throws `EncodingError`.
  public func encode(to encoder: any Encoder) throws {
    var values = encoder.container(keyedBy: VerifyReceiptKey.self)
    func encode(_ value: String?, _ name: String) throws {
      try values.encodeIfPresent(value, forKey: VerifyReceiptKey(name))
    }
    func encode(_ value: Bool?, _ name: String) throws {
      try encode(value.map { $0 ? "true" : "false" }, name)
    }
    try encode(String(quantity), "quantity")
    try encode(productIdentifier, "product_id")
    try encode(transactionIdentifier, "transaction_id")
    try encode(originalTransactionIdentifier, "original_transaction_id")
    try encode(webOrderLineItemIdentifier.map { String($0) }, "web_order_line_item_id")
    try encode(isTrialPeriod, "is_trial_period")
    try encode(isInIntroductoryOfferPeriod, "is_in_intro_offer_period")
    try encode(promotionalOfferIdentifier, "promotional_offer_id")
    try encode(cancellationReason, "cancellation_reason")
    try encode(ownershipType, "in_app_ownership_type")
    try encode(isUpgraded, "is_upgraded")
    try encode(subscriptionGroupIdentifier, "subscription_group_identifier")
    try encode(offerCodeReferenceName, "offer_code_ref_name")
    try encode(appAccountToken, "app_account_token")
    try values.encode(date: purchaseDate, "purchase_date")
    try values.encode(date: originalPurchaseDate, "original_purchase_date")
    try values.encode(date: expiresDate, "expires_date")
    try values.encode(date: cancellationDate, "cancellation_date")
  }
}
