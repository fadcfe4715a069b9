public import Commerce
public import PullboxAPI
import PullboxAPIClient

/// A purchase, from its payment to its end.
///
/// There is no `finish()`. The agent finishes a transaction once everything that it pays for is on this device, verified and placed, and
/// the server has compared that with what it sent: an app cannot close a purchase that was not delivered, and need not run for it to be.
/// What an app awaits is ``delivered``:
///
/// ```swift
/// for try await transaction in Transaction.unfinished { show(transaction.title, transaction.statusText) }
/// let delivery = try await transaction.delivered
/// ```
public struct Transaction: Sendable, Identifiable, Hashable {
  /// How far a transaction has come.
  public typealias State = PaymentTransaction.State

  /// The transaction as the agent tells it, with every member.
  public let value: AgentTransaction
  let agent: AgentClient
  /// The downloads that fetch again what it paid for long ago; empty for a purchase that is not over.
  let fetched: [DownloadIdentifier]

  /// A transaction of the agent's answer, for an app that asks the agent itself.
  public init(_ value: AgentTransaction, agent: AgentClient) {
    self.init(value, fetching: [], agent: agent)
  }

  init(_ value: AgentTransaction, fetching downloads: [DownloadIdentifier], agent: AgentClient) {
    self.value = value
    self.agent = agent
    fetched = downloads
  }

  /// The store's name of it.
  public var id: TransactionIdentifier { value.id }
  /// The product that was bought.
  public var product: ProductIdentifier { value.product }
  /// How far it has come.
  public var state: State { PaymentTransaction(value).state }
  /// When the agent heard that it was taken back, as with a refund; nil for one that counts.
  public var revocationDate: Timestamp? { value.revoked }
  /// The title of the product; nil until the agent knows it.
  public var title: String? { value.title }
  /// Those that it pays for, and those of sections of their content, on which nothing of it depends.
  public var downloads: [DownloadIdentifier] { value.downloads }
  /// Whether nothing more happens to it.
  public var isOver: Bool { PaymentTransaction(value).isOver }
  /// Why it waits or failed, in words for people; nil where it does neither.
  public var statusText: String? { StandingText.why(value) }

  /// Compares what the agent tells.
  public static func == (left: Transaction, right: Transaction) -> Bool { left.value == right.value }
  /// By what the agent tells.
  public func hash(into hasher: inout Hasher) { hasher.combine(value) }

  /// Waits until everything that it pays for is on this device, verified, and the store has closed it: also through restarts of the agent,
  /// however long. Throws ``DeliveryFailure`` when it fails, or when one of its downloads has failed or was cancelled, one of a section apart;
  /// `APICallError` when there is no agent at first, or it does not know the transaction; and `CancellationError`. The delivery goes on whether
  /// one waits or not.
  /// A subscription's transaction waits for the issues of its period, and so may take as long as that.
  public var delivered: Delivery {
    get async throws {
      for try await update in updates where try await isDelivered(after: update) { break }
      return try await delivery()
    }
  }

  /// The updates for one who waits for this transaction.
  var updates: AgentUpdates { agent.updates(fetched.isEmpty ? [id] : []) }

  /// Whether the download is one that this transaction waits for: a section of content bears its name as well, and ends no purchase.
  func covers(_ download: DownloadStatus) -> Bool {
    guard download.section == nil else { return false }
    return fetched.isEmpty ? download.transaction == id : fetched.contains(download.id)
  }

  /// Throws as ``delivered`` does.
  func isDelivered(after update: AgentUpdate) async throws -> Bool {
    switch update {
    case .snapshot(let transactions, _):
      guard fetched.isEmpty else { return try await areHere() }
      guard let now = transactions.first(where: { $0.id == id }) else {
        throw APICallError.problem(Problem(.transactionUnknown))
      }
      return try await isEnded(now)
    case .event(.transaction(let now)) where now.id == id && fetched.isEmpty:
      return try await isEnded(now)
    case .event(.download(let download)) where download.state.isFinal:
      guard covers(download) else { return false }
      guard fetched.isEmpty else { return try await areHere() }
      try check([download])
      return false
    case .event, .lost: return false
    }
  }

  private func isEnded(_ now: AgentTransaction) async throws -> Bool {
    if PaymentTransaction(now).state == .failed {
      throw DeliveryFailure(transaction: Transaction(now, agent: agent), downloads: [])
    }
    if now.reason == "download-failed" || now.reason == "download-cancelled" {
      try check(try await statuses(of: now.downloads))
    }
    return now.step == "finished"
  }

  private func areHere() async throws -> Bool {
    let statuses = try await statuses(of: fetched)
    try check(statuses)
    return statuses.allSatisfy { $0.state == .finished }
  }

  /// A download of content that has failed or was cancelled goes on when a person says so.
  private func check(_ downloads: [DownloadStatus]) throws {
    let ended = downloads.filter {
      $0.section == nil && ($0.state == .failed || $0.state == .cancelled)
    }
    guard !ended.isEmpty else { return }
    throw DeliveryFailure(transaction: self, downloads: ended.map { ContentDownload($0) })
  }

  /// The content that the library holds of it now.
  func delivery() async throws -> Delivery {
    var products: Set<ProductIdentifier> = [product]
    if fetched.isEmpty {
      let now = try await agent.transaction(id)
      products.formUnion(try await statuses(of: now.downloads).map(\.product))
    }
    let library = try await agent.library()
    return Delivery(
      items: products.sorted { $0.description < $1.description }.compactMap { library.current(of: $0) })
  }

  /// Those that the agent has not forgotten.
  private func statuses(of downloads: [DownloadIdentifier]) async throws -> [DownloadStatus] {
    var found: [DownloadStatus] = []
    for id in downloads {
      do {
        found.append(try await agent.download(id))
      } catch {
        guard case .problem(let problem) = error, problem.code == .downloadUnknown else { throw error }
      }
    }
    return found
  }
}

/// The content that a transaction brought to this device.
public struct Delivery: Hashable, Sendable {
  /// The placed content, by product: empty for what has none, such as coins.
  public let items: [LibraryItem]

  /// The content of `items`.
  public init(items: [LibraryItem]) { self.items = items }

  /// The file or folder of the first, absolute; nil for what has no content.
  public var path: String? { items.first?.path }
}

/// Why a transaction is not delivered, and does not become so by itself.
public struct DeliveryFailure: Error, Sendable, CustomStringConvertible {
  /// The transaction.
  public let transaction: Transaction
  /// The downloads that failed or were cancelled; empty where the payment did. ``PaymentQueue/resume(_:)`` tries them again.
  public let downloads: [ContentDownload]

  /// A sentence for people, without a full stop.
  public var description: String {
    guard !downloads.isEmpty else { return transaction.statusText ?? "the payment failed" }
    return downloads.map { StandingText.ending(of: $0.status) }.joined(separator: "; ")
  }
}
