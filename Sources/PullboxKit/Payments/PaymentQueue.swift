public import Commerce
import CoreTypes
import PullboxAPI
import PullboxAPIClient
import Synchronization

/// The payment queue of this device, shaped as app developers know it: payments go in, transactions come out, and each
/// brings its downloads.
///
/// ```swift
/// let queue = PaymentQueue(try AgentClient(socketPath: path))
/// queue.add(observer: shelf)
/// async let running: Void = queue.run()          // for as long as the app wants to hear
/// try await queue.add(Payment(product: issue))
/// ```
///
/// Two things differ, both for the better. Downloads need not be started: the agent fetches what is paid for, also when no
/// app runs. And there is no call to finish a transaction: the agent finishes it once its content is verified and placed, so
/// no app can close a purchase that was not delivered.
public final class PaymentQueue: Sendable {
  private struct State {
    var observers: [any PaymentQueueObserver] = []
    var transactions: [TransactionIdentifier: PaymentTransaction] = [:]
    var downloads: [DownloadIdentifier: ContentDownload] = [:]
  }

  private let connection: AgentClient
  private let state = Mutex(State())

  public init(_ connection: AgentClient) {
    self.connection = connection
  }

  /// Not over, by identifier; empty before the queue runs.
  public var transactions: [PaymentTransaction] {
    state.withLock { $0.transactions.values.sorted { $0.id.text < $1.id.text } }
  }

  /// Of this run, ended ones too.
  public var downloads: [ContentDownload] {
    state.withLock { $0.downloads.values.sorted { $0.id < $1.id } }
  }

  /// Kept until it is removed. Add observers before ``run()``, so that they miss nothing.
  public func add(observer: any PaymentQueueObserver) {
    state.withLock { $0.observers.append(observer) }
  }

  public func remove(observer: any PaymentQueueObserver) {
    state.withLock { $0.observers.removeAll { $0 === observer } }
  }

  /// Buys. Answers when the store has taken the payment; throws `APICallError`.
  @discardableResult
  public func add(_ payment: Payment) async throws -> PaymentTransaction {
    PaymentTransaction(try await connection.buy(payment.product, quantity: payment.quantity))
  }

  /// Fetches everything that was bought before and is not here; answers which products that is.
  @discardableResult
  public func restoreCompletedTransactions() async throws -> [ProductIdentifier] {
    try await connection.restore()
  }

  /// Starts again what was paused.
  public func start(_ downloads: [ContentDownload]) async throws { try await resume(downloads) }

  public func pause(_ downloads: [ContentDownload]) async throws {
    for download in downloads { try await connection.pause(download.id) }
  }

  public func resume(_ downloads: [ContentDownload]) async throws {
    for download in downloads { try await connection.resume(download.id) }
  }

  /// The purchase stays: ``restoreCompletedTransactions()`` fetches its content later.
  public func cancel(_ downloads: [ContentDownload]) async throws {
    for download in downloads { try await connection.cancel(download.id) }
  }

  /// Tells the observers what happens, until the task is cancelled. Throws `APICallError` when there is no agent, or it
  /// does not come back.
  public func run() async throws {
    try await connection.follow { update in
      switch update {
      case .snapshot(let transactions, let downloads):
        await tell { await $0.paymentQueue(self, isConnected: true) }
        await take(downloads.filter { !$0.state.isFinal }.map(ContentDownload.init))
        await take(snapshot: transactions.map(PaymentTransaction.init))
      case .event(.transaction(let transaction)): await take([PaymentTransaction(transaction)])
      case .event(.download(let download)): await take([ContentDownload(download)])
      case .event(.library): break
      case .lost: await tell { await $0.paymentQueue(self, isConnected: false) }
      }
      return .goOn
    }
  }

  /// Ended transactions matter only where they were known before.
  private func take(snapshot transactions: [PaymentTransaction]) async {
    let known = state.withLock { Set($0.transactions.keys) }
    await take(transactions.filter { !$0.isOver || known.contains($0.id) })
  }

  private func take(_ transactions: [PaymentTransaction]) async {
    let changed = state.withLock { state in
      let changed = transactions.filter { state.transactions[$0.id] != $0 }
      for transaction in changed {
        state.transactions[transaction.id] = transaction.isOver ? nil : transaction
      }
      return changed
    }
    guard !changed.isEmpty else { return }
    await tell { await $0.paymentQueue(self, updated: changed) }
    let over = changed.filter(\.isOver)
    if !over.isEmpty { await tell { await $0.paymentQueue(self, removed: over) } }
  }

  private func take(_ downloads: [ContentDownload]) async {
    let changed = state.withLock { state in
      let changed = downloads.filter { state.downloads[$0.id] != $0 }
      for download in changed { state.downloads[download.id] = download }
      return changed
    }
    guard !changed.isEmpty else { return }
    await tell { await $0.paymentQueue(self, updated: changed) }
  }

  private func tell(_ body: (any PaymentQueueObserver) async -> Void) async {
    for observer in state.withLock({ $0.observers }) { await body(observer) }
  }
}

/// Is told what happens in a ``PaymentQueue``, in order, one call at a time, from the task that runs the queue.
public protocol PaymentQueueObserver: AnyObject, Sendable {
  /// New transactions, and those that changed. An observer that is there before the queue runs first gets every
  /// transaction that is not over.
  func paymentQueue(_ queue: PaymentQueue, updated transactions: [PaymentTransaction]) async
  /// Transactions that are over, finished or failed; each was told as updated before.
  func paymentQueue(_ queue: PaymentQueue, removed transactions: [PaymentTransaction]) async
  func paymentQueue(_ queue: PaymentQueue, updated downloads: [ContentDownload]) async
  /// The agent is gone or back. Nothing is lost meanwhile.
  func paymentQueue(_ queue: PaymentQueue, isConnected: Bool) async
}

extension PaymentQueueObserver {
  public func paymentQueue(_ queue: PaymentQueue, removed transactions: [PaymentTransaction]) async {}
  public func paymentQueue(_ queue: PaymentQueue, updated downloads: [ContentDownload]) async {}
  public func paymentQueue(_ queue: PaymentQueue, isConnected: Bool) async {}
}

/// A wish to buy, for ``PaymentQueue/add(_:)``.
public struct Payment: Hashable, Sendable {
  public var product: ProductIdentifier
  /// 1 to 10; stores refuse more than 1 of anything but consumables.
  public var quantity: Int

  public init(product: ProductIdentifier, quantity: Int = 1) {
    self.product = product
    self.quantity = quantity
  }
}
