public import Commerce
import CoreTypes
import PullboxAPI
import PullboxAPIClient
import Synchronization

/// The payment queue of this device, with the words that app developers know: payments go in, transactions
/// come out, and each brings its downloads.
///
/// The queue is a view of the agent: ``run()`` follows the agent's events and notifies the observers, and the
/// properties hold what it last reported.
///
/// ```swift
/// let queue = PaymentQueue(try AgentClient(socketPath: path))
/// queue.add(observer: shelf)
/// async let running: Void = queue.run()          // until the app's task is cancelled
/// try await queue.add(Payment(product: issue))
/// ```
///
/// Two things differ from a store's own queue. Downloads need not be started: the agent fetches what is paid
/// for, also while no app runs. And no call finishes a transaction: the agent finishes it once its content is
/// verified and placed, so an app cannot close a purchase that was not delivered.
public final class PaymentQueue: Sendable {
  private struct State {
    var observers: [any PaymentQueueObserver] = []
    var transactions: [TransactionIdentifier: PaymentTransaction] = [:]
    var downloads: [DownloadIdentifier: ContentDownload] = [:]
    /// In the order in which they ended.
    var ended: [DownloadIdentifier] = []
  }

  private let agent: AgentClient
  private let state = Mutex(State())

  /// A queue of the agent that `agent` reaches; empty until it runs.
  public init(_ agent: AgentClient) {
    self.agent = agent
  }

  /// The transactions that are not over, by identifier; empty before the queue runs.
  public var transactions: [PaymentTransaction] {
    state.withLock { $0.transactions.values.sorted { $0.id.description < $1.id.description } }
  }

  /// Ended downloads that a queue remembers; the oldest are forgotten first.
  public static let maximumEndedDownloads = 200

  /// The downloads that were reported since the queue was made, by identifier: those under way, and the last
  /// ``maximumEndedDownloads`` that ended.
  public var downloads: [ContentDownload] {
    state.withLock { $0.downloads.values.sorted { $0.id < $1.id } }
  }

  /// Notifies `observer` until it is removed; the queue holds it strongly. Observers that are added before
  /// ``run()`` miss nothing.
  public func add(observer: any PaymentQueueObserver) {
    state.withLock { $0.observers.append(observer) }
  }

  /// The observer is not notified any more, but for a notification that is under way.
  public func remove(observer: any PaymentQueueObserver) {
    state.withLock { $0.observers.removeAll { $0 === observer } }
  }

  /// Buys, and returns once the store has accepted the payment. Throws `APICallError`.
  @discardableResult
  public func add(_ payment: Payment) async throws -> PaymentTransaction {
    PaymentTransaction(
      try await agent.buy(
        AgentPurchaseRequest(
          product: payment.product, quantity: payment.quantity,
          applicationUsername: payment.applicationUsername,
          shown: payment.shown, optIn: payment.optsIn ? true : nil)))
  }

  /// Redeems a gift or promotional code, and returns once the store has accepted it; its content is delivered as with a purchase. Throws
  /// `APICallError` as ``AgentClient/redeem(_:key:)`` does.
  @discardableResult
  public func redeem(_ code: String) async throws -> PaymentTransaction {
    PaymentTransaction(try await agent.redeem(code))
  }

  /// The store's side of the agent: where it sells, and whether this device's account may buy. Throws `APICallError`, with
  /// `store-unavailable` while the store is away.
  public func storefront() async throws -> Storefront {
    Storefront(try await agent.products([]).account)
  }

  /// Whether purchases are allowed to the account: what an app asks before it shows a shop. Throws as ``storefront()`` does.
  public func canMakePayments() async throws -> Bool {
    try await agent.products([]).account.canMakePayments
  }

  /// Starts a download of everything that is owned and not on this device, and returns those products. Throws
  /// `APICallError`.
  @discardableResult
  public func restoreCompletedTransactions() async throws -> [ProductIdentifier] {
    try await agent.restore()
  }

  /// The same as ``resume(_:)``: downloads start by themselves.
  public func start(_ downloads: [ContentDownload]) async throws { try await resume(downloads) }

  /// Pauses the downloads; what was verified is kept. Throws `APICallError` at the first that its state does
  /// not allow (`state-conflict`).
  public func pause(_ downloads: [ContentDownload]) async throws {
    for download in downloads { try await agent.pause(download.id) }
  }

  /// Continues paused downloads, and starts failed and cancelled ones again. Throws `APICallError`, as
  /// ``pause(_:)`` does.
  public func resume(_ downloads: [ContentDownload]) async throws {
    for download in downloads { try await agent.resume(download.id) }
  }

  /// Drops what was fetched. The purchase stays: ``restoreCompletedTransactions()`` fetches its content
  /// later. Throws `APICallError`, as ``pause(_:)`` does.
  public func cancel(_ downloads: [ContentDownload]) async throws {
    for download in downloads { try await agent.cancel(download.id) }
  }

  /// Follows the agent and notifies the observers until the task is cancelled: an agent that stops, as for an upgrade, is
  /// waited for, however long. Throws `APICallError` when there is no agent at first, or one refuses, and
  /// `CancellationError`.
  public func run() async throws { try await run(clock: SystemMonotonicClock()) }

  func run(clock: any MonotonicClock) async throws {
    try await agent.follow(maximumFailures: .max, clock: clock) { update in
      switch update {
      case .snapshot(let transactions, let downloads):
        await notify { await $0.paymentQueue(self, isConnected: true) }
        let known = state.withLock { Set($0.downloads.keys) }
        await apply(
          downloads.filter { !$0.state.isFinal || known.contains($0.id) }.map { ContentDownload($0) })
        await apply(snapshot: transactions.map(PaymentTransaction.init))
      case .event(.transaction(let transaction)): await apply([PaymentTransaction(transaction)])
      case .event(.download(let download)): await apply([ContentDownload(download)])
      case .event(.library), .event(.issueReady), .event(.correctionReady), .event(.owned): break
      case .lost: await notify { await $0.paymentQueue(self, isConnected: false) }
      }
      return .continue
    }
  }

  /// Ended transactions matter only where they were known before.
  private func apply(snapshot transactions: [PaymentTransaction]) async {
    let known = state.withLock { Set($0.transactions.keys) }
    await apply(transactions.filter { !$0.isOver || known.contains($0.id) })
  }

  private func apply(_ transactions: [PaymentTransaction]) async {
    let changed = state.withLock { state in
      let changed = transactions.filter { state.transactions[$0.id] != $0 }
      for transaction in changed {
        state.transactions[transaction.id] = transaction.isOver ? nil : transaction
      }
      return changed
    }
    guard !changed.isEmpty else { return }
    await notify { await $0.paymentQueue(self, updated: changed) }
    let over = changed.filter(\.isOver)
    if !over.isEmpty { await notify { await $0.paymentQueue(self, removed: over) } }
  }

  private func apply(_ downloads: [ContentDownload]) async {
    let changed = state.withLock { state in
      let changed = downloads.filter { state.downloads[$0.id] != $0 }
      for download in changed {
        state.downloads[download.id] = download
        state.ended.removeAll { $0 == download.id }
        if download.state.isFinal { state.ended.append(download.id) }
      }
      for id in state.ended.prefix(max(0, state.ended.count - Self.maximumEndedDownloads)) {
        state.downloads[id] = nil
      }
      state.ended = state.ended.suffix(Self.maximumEndedDownloads)
      return changed
    }
    guard !changed.isEmpty else { return }
    await notify { await $0.paymentQueue(self, updated: changed) }
  }

  private func notify(_ body: (any PaymentQueueObserver) async -> Void) async {
    for observer in state.withLock({ $0.observers }) { await body(observer) }
  }
}

/// Is notified of what happens in a ``PaymentQueue``, in order, one call at a time, from the task that runs
/// the queue: a slow observer delays the others. Every method but the first has an empty default.
public protocol PaymentQueueObserver: AnyObject, Sendable {
  /// Transactions that are new or have changed. An observer that was added before the queue runs first gets
  /// every transaction that is not over.
  func paymentQueue(_ queue: PaymentQueue, updated transactions: [PaymentTransaction]) async
  /// Transactions that are over, finished or failed; each was reported as updated before.
  func paymentQueue(_ queue: PaymentQueue, removed transactions: [PaymentTransaction]) async
  /// Downloads that are new, have changed, or have made progress.
  func paymentQueue(_ queue: PaymentQueue, updated downloads: [ContentDownload]) async
  /// The connection to the agent is lost or there again. Nothing is lost meanwhile.
  func paymentQueue(_ queue: PaymentQueue, isConnected: Bool) async
}

extension PaymentQueueObserver {
  /// Does nothing.
  public func paymentQueue(_ queue: PaymentQueue, removed transactions: [PaymentTransaction]) async {}
  /// Does nothing.
  public func paymentQueue(_ queue: PaymentQueue, updated downloads: [ContentDownload]) async {}
  /// Does nothing.
  public func paymentQueue(_ queue: PaymentQueue, isConnected: Bool) async {}
}

/// A product to buy, for ``PaymentQueue/add(_:)``.
public struct Payment: Hashable, Sendable {
  /// The product in the store's catalog.
  public var product: ProductIdentifier
  /// 1 to 10; stores refuse more than 1 of anything but consumables.
  public var quantity: Int
  /// The app's name for its user, at most 255 bytes and no address: the store refuses a name with an `@`. Nil for none.
  public var applicationUsername: String?
  /// The price that the buyer saw. If the price is another by now, nothing is bought (`price-changed`). Nil: any price is
  /// paid.
  public var shown: ShownPrice?
  /// Whether the buyer gives the store contact data, for the bonus of a subscription.
  public var optsIn = false

  /// A payment for one of `product` by default.
  public init(product: ProductIdentifier, quantity: Int = 1, applicationUsername: String? = nil) {
    self.product = product
    self.quantity = quantity
    self.applicationUsername = applicationUsername
  }

  /// A payment for what ``ProductsRequest`` answered, at the price and under the offer that it showed; with its bonus if the buyer gives
  /// contact data.
  public init(
    product: AgentProduct, quantity: Int = 1, applicationUsername: String? = nil, optsIn: Bool = false
  ) {
    self.init(product: product.listing.id, quantity: quantity, applicationUsername: applicationUsername)
    self.optsIn = optsIn
    shown = ShownPrice(
      of: product.listing, under: product.offer, with: optsIn ? product.bonusPeriod : nil)
  }
}
