import Commerce
import PullboxAPI

/// Everything the agent remembers of a transaction.
struct TransactionRecord: Sendable {
  let identifier: TransactionIdentifier
  let product: ProductIdentifier
  /// As the store said last.
  var storeState: StoreTransaction.State
  var machine = TransactionMachine()

  func status(downloads: [DownloadIdentifier]) -> AgentTransaction {
    AgentTransaction(
      id: identifier, product: product, state: storeState.rawValue, step: machine.step.rawValue,
      reason: machine.reason?.rawValue, error: machine.problem, downloads: downloads)
  }
}
