/// `GET /store/v1/receipt?device=`.
public struct ReceiptResponse: Codable, Sendable {
  /// CMS in base 64.
  public var receipt: String

  public init(receipt: String) {
    self.receipt = receipt
  }
}
