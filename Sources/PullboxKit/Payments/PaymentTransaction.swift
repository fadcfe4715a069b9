public import Commerce
public import PullboxAPI

/// An entry of the payment queue.
public struct PaymentTransaction: Hashable, Sendable, Identifiable {
  public enum State: Hashable, Sendable {
    /// With the store.
    case purchasing
    /// Somebody else has to agree first (a parent).
    case deferred
    /// Paid: its content is being delivered.
    case purchased
    /// Bought before, delivered again.
    case restored
    case failed
    /// Everything it pays for is on this device, verified, and the store has closed it.
    case finished
  }

  public let id: TransactionIdentifier
  public let product: ProductIdentifier
  public let state: State
  /// Why it stands where it stands; one of the agent's reasons, such as `store-unreachable`.
  public let reason: String?
  public let error: Problem?
  /// Its ``ContentDownload``s.
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
