/// The body of `POST /verifyReceipt`.
public struct VerifyReceiptRequest: Codable, Sendable {
  /// Standard base 64.
  public var receiptData: String
  /// The app's shared secret; needed for receipts with subscriptions at stores that ask for it.
  public var password: String?
  /// Only the latest renewal of each subscription in the answer's `latest_receipt_info`.
  public var excludesOldTransactions: Bool?

  /// Creates the request; what is nil is left out.
  public init(receiptData: String, password: String? = nil, excludesOldTransactions: Bool? = nil) {
    self.receiptData = receiptData
    self.password = password
    self.excludesOldTransactions = excludesOldTransactions
  }

  private enum CodingKeys: String, CodingKey {
    case receiptData = "receipt-data"
    case password
    case excludesOldTransactions = "exclude-old-transactions"
  }
}

extension VerifyReceiptRequest: CustomStringConvertible {
  /// Without the receipt and the secret.
  public var description: String { "verifyReceipt request of \(receiptData.utf8.count) characters" }
}
