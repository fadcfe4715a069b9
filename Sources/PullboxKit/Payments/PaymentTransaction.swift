public import Commerce
public import PullboxAPI

/// An entry of the payment queue.
public struct PaymentTransaction: Hashable, Sendable, Identifiable {
  /// How far a transaction has come.
  public enum State: Hashable, Sendable {
    /// The store has not decided yet.
    case purchasing
    /// Another person, such as a parent, has to approve the purchase first.
    case deferred
    /// Paid: its content is being delivered.
    case purchased
    /// Bought before, delivered again.
    case restored
    /// The payment failed; nothing is owed.
    case failed
    /// Everything it pays for is on this device, verified, and the store has closed it.
    case finished
  }

  /// The store's identifier of the transaction.
  public let id: TransactionIdentifier
  /// The product that was bought.
  public let product: ProductIdentifier
  /// How far it has come.
  public let state: State
  /// Why it is in that state: one of the agent's reasons, such as `store-unreachable`; nil when there is
  /// nothing to say.
  public let reason: String?
  /// The last answer of the store or the server, if it was a refusal.
  public let error: Problem?
  /// Its ``ContentDownload``s, in the order of their creation.
  public let downloads: [DownloadIdentifier]

  init(_ transaction: AgentTransaction) {
    id = transaction.id
    product = transaction.product
    reason = transaction.reason
    error = transaction.error
    downloads = transaction.downloads
    state =
      switch (transaction.step, transaction.state) {
      case ("finished", _): .finished
      case ("failed", _), (_, "failed"): .failed
      case (_, "purchased"): .purchased
      case (_, "restored"): .restored
      case (_, "deferred"): .deferred
      default: .purchasing
      }
  }

  /// Whether it has left the queue.
  public var isOver: Bool { state == .finished || state == .failed }
}
