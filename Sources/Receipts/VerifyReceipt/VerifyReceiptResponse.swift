import CoreTypes
import FoundationEssentials

/// The answer of `verifyReceipt`.
public struct VerifyReceiptResponse: Sendable {
  /// The store's verdict on the receipt. It decides whether the other members are there.
  public var status: VerifyReceiptStatus
  /// `Sandbox` or `Production`.
  public var environment: String?
  /// The contents of the receipt; nil unless the status is a valid one.
  public var receipt: Receipt?
  /// A fresh receipt in base 64; with auto-renewable subscriptions only.
  public var latestReceipt: String?
  /// With auto-renewable subscriptions only: what the store knows, beyond the receipt.
  public var latestReceiptInfo: [InAppPurchase]?
  /// With auto-renewable subscriptions only: what becomes of each at its next renewal.
  public var pendingRenewalInfo: [PendingRenewal]?
  /// With statuses 21100 to 21199.
  public var isRetryable: Bool?

  /// Creates an answer without a receipt.
  public init(status: VerifyReceiptStatus, isRetryable: Bool? = nil) {
    self.status = status
    self.isRetryable = isRetryable
  }

  /// Reads an answer's body. Throws ``ReceiptError`` `malformed`, without the body's text.
  public init(json: [UInt8]) throws {
    if let read = JSONDocumentReader.value(VerifyReceiptResponse.self, in: json) {
      self = read
      return
    }
    do {
      self = try JSONDecoder().decode(VerifyReceiptResponse.self, from: Data(json))
    } catch {
      throw ReceiptError.malformed("the store's answer is not readable")
    }
  }
}

extension VerifyReceiptResponse: Codable {
  /// Reads an answer. Throws `DecodingError`.
  public init(from decoder: any Decoder) throws {
    let values = try decoder.container(keyedBy: VerifyReceiptKey.self)
    guard let status = try values.lenientNumber(VerifyReceiptKey("status")) else {
      throw DecodingError.keyNotFound(
        VerifyReceiptKey("status"),
        .init(codingPath: values.codingPath, debugDescription: "status is missing"))
    }
    self.init(
      status: VerifyReceiptStatus(rawValue: Int(status)),
      isRetryable: try values.lenientFlag(VerifyReceiptKey("is_retryable"))
        ?? values.lenientFlag(VerifyReceiptKey("is-retryable")))
    environment = try values.lenientText(VerifyReceiptKey("environment"))
    receipt = try values.decodeIfPresent(Receipt.self, forKey: VerifyReceiptKey("receipt"))
    latestReceipt = try values.lenientText(VerifyReceiptKey("latest_receipt"))
    latestReceiptInfo = try values.lenientList(VerifyReceiptKey("latest_receipt_info"))
    pendingRenewalInfo = try values.lenientList(VerifyReceiptKey("pending_renewal_info"))
  }

  /// Writes an answer. Throws `EncodingError`.
  public func encode(to encoder: any Encoder) throws {
    var values = encoder.container(keyedBy: VerifyReceiptKey.self)
    try values.encode(status.rawValue, forKey: VerifyReceiptKey("status"))
    try values.encodeIfPresent(environment, forKey: VerifyReceiptKey("environment"))
    try values.encodeIfPresent(receipt, forKey: VerifyReceiptKey("receipt"))
    try values.encodeIfPresent(latestReceipt, forKey: VerifyReceiptKey("latest_receipt"))
    try values.encodeIfPresent(latestReceiptInfo, forKey: VerifyReceiptKey("latest_receipt_info"))
    try values.encodeIfPresent(pendingRenewalInfo, forKey: VerifyReceiptKey("pending_renewal_info"))
    try values.encodeIfPresent(isRetryable, forKey: VerifyReceiptKey("is_retryable"))
  }
}

extension VerifyReceiptResponse: CustomStringConvertible {
  /// The status alone: receipts stay out of logs.
  public var description: String { "verifyReceipt status \(status.rawValue)" }
}
