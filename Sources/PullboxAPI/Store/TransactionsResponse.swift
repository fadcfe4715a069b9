/// `GET /store/v1/transactions`.
public struct TransactionsResponse: Codable, Sendable {
  public var transactions: [StoreTransaction]

  public init(transactions: [StoreTransaction]) {
    self.transactions = transactions
  }
}
