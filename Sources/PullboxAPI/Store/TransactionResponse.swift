/// The answer to a purchase and to `finish`.
public struct TransactionResponse: Codable, Sendable {
  public var transaction: StoreTransaction

  public init(transaction: StoreTransaction) {
    self.transaction = transaction
  }
}
