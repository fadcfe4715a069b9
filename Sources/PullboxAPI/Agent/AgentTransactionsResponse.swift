/// `GET /v1/transactions` of the agent.
public struct AgentTransactionsResponse: Codable, Sendable {
  public var transactions: [AgentTransaction]

  public init(transactions: [AgentTransaction]) {
    self.transactions = transactions
  }
}
