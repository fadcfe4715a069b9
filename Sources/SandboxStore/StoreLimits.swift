/// How much the store takes in. What would go beyond is answered `too-many-requests`.
struct StoreLimits: Sendable {
  var accounts = 100_000
  var transactionsPerAccount = 10_000
  /// Transactions in one answer.
  var transactionsPerPage = 1000
}
