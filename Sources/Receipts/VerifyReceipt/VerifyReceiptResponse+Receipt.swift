public import CoreTypes

extension VerifyReceiptResponse {
  /// The `receipt` member: the payload as the store reads it.
  public struct Receipt: Hashable, Sendable {
    /// `receipt_type`: the environment, spelled like ``AppReceipt/environmentName``.
    public var receiptType: String?
    /// `bundle_id`, or `bid` in old answers.
    public var bundleIdentifier: String
    /// `adam_id`, or `app_item_id` in old answers.
    public var appIdentifier: Int64?
    /// `application_version`.
    public var applicationVersion: String?
    /// `download_id`.
    public var downloadIdentifier: Int64?
    /// `version_external_identifier`.
    public var versionExternalIdentifier: Int64?
    /// `receipt_creation_date`.
    public var creationDate: Timestamp?
    /// `request_date`: when the store was asked.
    public var requestDate: Timestamp?
    /// `original_purchase_date` of the application.
    public var originalPurchaseDate: Timestamp?
    /// `original_application_version`.
    public var originalApplicationVersion: String?
    /// `expiration_date`: volume purchases only.
    public var expirationDate: Timestamp?
    /// Not in any order.
    public var purchases: [InAppPurchase]

    /// Creates the store's account of `receipt` at `requestDate`.
    public init(_ receipt: AppReceipt, requestDate: Timestamp) {
      receiptType = receipt.environmentName
      bundleIdentifier = receipt.bundleIdentifier
      appIdentifier = receipt.appIdentifier
      applicationVersion = receipt.applicationVersion
      downloadIdentifier = receipt.downloadIdentifier
      versionExternalIdentifier = receipt.versionExternalIdentifier
      creationDate = receipt.creationDate
      self.requestDate = requestDate
      originalPurchaseDate = receipt.originalPurchaseDate
      originalApplicationVersion = receipt.originalApplicationVersion
      expirationDate = receipt.expirationDate
      purchases = receipt.purchases
    }
  }
}

extension VerifyReceiptResponse.Receipt: Codable {
  /// Reads the receipt of an answer, in each of the spellings that stores have used. Throws `DecodingError`.
  public init(from decoder: any Decoder) throws {
    let values = try decoder.container(keyedBy: VerifyReceiptKey.self)
    func text(_ name: String) throws -> String? { try values.lenientText(VerifyReceiptKey(name)) }
    func number(_ name: String) throws -> Int64? { try values.lenientNumber(VerifyReceiptKey(name)) }
    // Old-style receipts are flat, and call the bundle identifier `bid`.
    guard let bundle = try text("bundle_id") ?? text("bid") else {
      throw DecodingError.keyNotFound(
        VerifyReceiptKey("bundle_id"),
        .init(codingPath: values.codingPath, debugDescription: "bundle_id is missing"))
    }
    bundleIdentifier = bundle
    receiptType = try text("receipt_type")
    appIdentifier = try number("adam_id") ?? number("app_item_id")
    applicationVersion = try text("application_version")
    downloadIdentifier = try number("download_id")
    versionExternalIdentifier = try number("version_external_identifier")
    creationDate = try values.date("receipt_creation_date")
    requestDate = try values.date("request_date")
    originalPurchaseDate = try values.date("original_purchase_date")
    originalApplicationVersion = try text("original_application_version")
    expirationDate = try values.date("expiration_date")
    if values.contains(VerifyReceiptKey("transaction_id")) {
      purchases = [try InAppPurchase(from: decoder)]
    } else {
      purchases = try values.lenientList(VerifyReceiptKey("in_app")) ?? []
    }
  }

  /// Writes the receipt as `verifyReceipt` does. Throws `EncodingError`.
  public func encode(to encoder: any Encoder) throws {
    var values = encoder.container(keyedBy: VerifyReceiptKey.self)
    func encode(_ value: (some Encodable)?, _ name: String) throws {
      try values.encodeIfPresent(value, forKey: VerifyReceiptKey(name))
    }
    try encode(receiptType, "receipt_type")
    try encode(bundleIdentifier, "bundle_id")
    try encode(appIdentifier, "adam_id")
    try encode(appIdentifier, "app_item_id")
    try encode(applicationVersion, "application_version")
    try encode(downloadIdentifier, "download_id")
    try encode(versionExternalIdentifier, "version_external_identifier")
    try encode(originalApplicationVersion, "original_application_version")
    try encode(purchases, "in_app")
    try values.encode(date: creationDate, "receipt_creation_date")
    try values.encode(date: requestDate, "request_date")
    try values.encode(date: originalPurchaseDate, "original_purchase_date")
    try values.encode(date: expirationDate, "expiration_date")
  }
}
