public import Commerce
import CoreTypes
public import PullboxAPI
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
    /// Those that are not over, by their numbers.
    var restores: [Int: RunningRestore] = [:]
    /// The number of the next one.
    var nextRestore = 0
    var transactionUpdates: [WeakUpdateMailbox<PaymentTransaction>] = []
    var downloadUpdates: [WeakUpdateMailbox<ContentDownload>] = []
  }

  private let agent: AgentClient
  private let state = Mutex(State())
  /// One notification at a time, whichever task it is from.
  private let turns = NotificationTurns()

  /// A queue of the agent that `agent` reaches; empty until it runs.
  public init(_ agent: AgentClient) {
    self.agent = agent
  }

  deinit {
    let (transactions, downloads) = state.locked { ($0.transactionUpdates, $0.downloadUpdates) }
    transactions.close()
    downloads.close()
  }

  /// The transactions that are not over, by identifier; empty before the queue runs.
  public var transactions: [PaymentTransaction] {
    state.locked { $0.transactions.values.sorted { $0.id.description < $1.id.description } }
  }

  /// Ended downloads that a queue remembers; the oldest are forgotten first.
  public static let maximumEndedDownloads = 200

  /// The downloads that were reported since the queue was made, by identifier: those under way, and the last
  /// ``maximumEndedDownloads`` that ended.
  public var downloads: [ContentDownload] {
    state.locked { $0.downloads.values.sorted { $0.id < $1.id } }
  }

  /// Notifies `observer` until it is removed; the queue holds it strongly. Observers that are added before
  /// ``run()`` miss nothing.
  public func add(observer: any PaymentQueueObserver) {
    state.locked { $0.observers.append(observer) }
  }

  /// The observer is not notified any more, but for a notification that is under way.
  public func remove(observer: any PaymentQueueObserver) {
    state.locked { $0.observers.removeAll { $0 === observer } }
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
  /// `APICallError` as ``AgentClient/redeem(_:_:key:)`` does.
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

  /// Starts a download of everything that is owned, wanted and not on this device, and returns those products. While the queue runs,
  /// observers hear of the end: ``PaymentQueueObserver/paymentQueue(_:restored:)`` once all of it is here, or
  /// ``PaymentQueueObserver/paymentQueue(_:restoreFailed:)``. ``AgentClient/restorePlan()`` says before what there is to choose from.
  ///
  /// Throws `APICallError`, of which observers hear as well: `purchase-required` for a wanted product that is not owned; nothing is started
  /// then.
  @discardableResult
  public func restoreCompletedTransactions(
    _ wanted: AgentRestoreRequest = AgentRestoreRequest()
  ) async throws -> [ProductIdentifier] {
    // What ends before the answer is read counts as well.
    let number = state.locked { state in
      state.nextRestore += 1
      state.restores[state.nextRestore] = RunningRestore()
      return state.nextRestore
    }
    let products: [ProductIdentifier]
    do {
      products = try await agent.restore(wanted)
    } catch {
      state.locked { $0.restores[number] = nil }
      post { [self] observer in
        await observer.paymentQueue(
          self, restoreFailed: RestoreFailure(error: error, restored: [], downloads: []))
      }
      throw error
    }
    state.locked { $0.restores[number]?.begin(products) }
    reportRestores()
    return products
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

  /// Drops what was fetched. The purchase stays: ``restoreCompletedTransactions(_:)`` fetches its content
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
        let known = state.locked { Set($0.downloads.keys) }
        await apply(
          downloads.filter { !$0.state.isFinal || known.contains($0.id) }.map { ContentDownload($0) })
        await apply(snapshot: transactions.map(PaymentTransaction.init))
        try await lookForRestored()
      case .event(.transaction(let transaction)): await apply([PaymentTransaction(transaction)])
      case .event(.download(let download)): await apply([ContentDownload(download)])
      case .event(.library(let event)):
        await notify { await $0.paymentQueue(self, library: event) }
        try await lookForRestored(event.item.product)
      case .event(.issueReady(let item)): await notify { await $0.paymentQueue(self, issueReady: item) }
      case .event(.correctionReady(let item)):
        await notify { await $0.paymentQueue(self, correctionReady: item) }
      case .event(.owned(let entry)): await notify { await $0.paymentQueue(self, owned: entry) }
      case .lost: await notify { await $0.paymentQueue(self, isConnected: false) }
      }
      return .continue
    }
  }

  /// Ended transactions matter only where they were known before.
  private func apply(snapshot transactions: [PaymentTransaction]) async {
    let known = state.locked { Set($0.transactions.keys) }
    await apply(transactions.filter { !$0.isOver || known.contains($0.id) })
  }

  private func apply(_ transactions: [PaymentTransaction]) async {
    let changed = state.locked { state in
      let changed = transactions.filter { state.transactions[$0.id] != $0 }
      for transaction in changed {
        state.transactions[transaction.id] = transaction.isOver ? nil : transaction
      }
      state.transactionUpdates.post(changed)
      return changed
    }
    guard !changed.isEmpty else { return }
    await notify { await $0.paymentQueue(self, updated: changed) }
    let over = changed.filter(\.isOver)
    if !over.isEmpty { await notify { await $0.paymentQueue(self, removed: over) } }
  }

  private func apply(_ downloads: [ContentDownload]) async {
    let changed = state.locked { state in
      let changed = downloads.filter { state.downloads[$0.id] != $0 }
      for download in changed {
        state.downloads[download.id] = download
        state.ended.removeAll { $0 == download.id }
        if download.state.isFinal {
          state.ended.append(download.id)
          for number in state.restores.keys { state.restores[number]?.note(download) }
        }
      }
      state.downloadUpdates.post(changed)
      for id in state.ended.prefix(max(0, state.ended.count - Self.maximumEndedDownloads)) {
        state.downloads[id] = nil
      }
      state.ended = state.ended.suffix(Self.maximumEndedDownloads)
      return changed
    }
    guard !changed.isEmpty else { return }
    await notify { await $0.paymentQueue(self, updated: changed) }
    reportRestores()
  }

  /// Downloads that began and ended while the agent did not answer are told by no event, and content whose volume is there again by none
  /// of a download. Those of restores that begin meanwhile are not listed yet.
  ///
  /// - Parameter product: the product whose content has changed; nil to look for all of them.
  private func lookForRestored(_ product: ProductIdentifier? = nil) async throws {
    let begun = state.locked { state in
      state.restores.filter { product.map($0.value.awaits) ?? $0.value.hasBegun }.map(\.key)
    }
    guard !begun.isEmpty else { return }
    let downloads: [DownloadStatus]
    let library: [LibraryItem]
    do throws(APICallError) {
      // The newest first.
      downloads = try await agent.downloads().filter { $0.section == nil }
      library = try await agent.library()
    } catch {
      // An agent that is away is looked at again with the next snapshot.
      guard error.isUnavailable else { throw error }
      return
    }
    let present = library.filter { ($0.state ?? .present) == .present }
    var held = Dictionary(grouping: present, by: \.product).mapValues { Set($0.map(\.version)) }
    // Also of a product whose earlier version is here.
    let coming = Set(downloads.filter { !$0.state.isFinal }.map(\.product))
    for product in coming { held[product] = nil }
    let latest = Dictionary(downloads.map { ($0.product, $0) }) { newest, _ in newest }
    let failed = latest.values.filter { $0.state != .finished && !coming.contains($0.product) }
      .map { ContentDownload($0) }
    state.locked { [held] state in
      for number in begun {
        for download in failed where state.restores[number]?.awaits(download.product) == true {
          state.restores[number]?.note(download)
        }
        state.restores[number]?.noteHeld(held)
      }
    }
    reportRestores()
  }

  /// Tells of the restores that are over.
  private func reportRestores() {
    let over = state.locked { state in
      let over = state.restores.sorted { $0.key < $1.key }.compactMap(\.value.outcome)
      state.restores = state.restores.filter { $0.value.outcome == nil }
      return over
    }
    for outcome in over {
      post { [self] observer in
        switch outcome {
        case .success(let products): await observer.paymentQueue(self, restored: products)
        case .failure(let failure): await observer.paymentQueue(self, restoreFailed: failure)
        }
      }
    }
  }

  /// Notifies behind what is under way, and does not wait for it: an observer may have asked.
  private func post(_ body: @escaping @Sendable (any PaymentQueueObserver) async -> Void) {
    let observers = state.locked { $0.observers }
    turns.post { for observer in observers { await body(observer) } }
  }

  private func notify(_ body: @escaping @Sendable (any PaymentQueueObserver) async -> Void) async {
    let observers = state.locked { $0.observers }
    await turns.run { for observer in observers { await body(observer) } }
  }
}

/// Sequences beside the observers.
extension PaymentQueue {
  /// The transactions that are not over, and then every transaction that is new or has changed, also its end. The queue has to run. One
  /// reader of each sequence; a reader that is slow gets the latest of each transaction. It ends with the queue or the reader's task.
  public var transactionUpdates: PaymentQueueUpdates<PaymentTransaction> {
    state.locked { state in
      let known = state.transactions.values.sorted { $0.id.description < $1.id.description }
      let mailbox = UpdateMailbox(known)
      state.transactionUpdates.add(mailbox)
      return PaymentQueueUpdates(mailbox)
    }
  }

  /// The downloads that are not over, and then every download that is new, has changed or has made progress, in the way of
  /// ``transactionUpdates``.
  public var downloadUpdates: PaymentQueueUpdates<ContentDownload> {
    state.locked { state in
      let known = state.downloads.values.filter { !$0.state.isFinal }.sorted { $0.id < $1.id }
      let mailbox = UpdateMailbox(known)
      state.downloadUpdates.add(mailbox)
      return PaymentQueueUpdates(mailbox)
    }
  }
}
