import Commerce
import CoreTypes
import PullboxAPI
import ServiceRuntime
import SystemCalls

/// Watches the store's queue and sees every transaction through to its end. One loop does everything: it asks the store,
/// asks the server what is owed and what is finished, and hears from downloads. Lives on a thread of its own, since
/// persisting blocks.
actor TransactionManager {
  struct Entry {
    var record: TransactionRecord
    var isSaved = false
    /// The server is to be asked: what the transaction entitles to, or whether it is finished.
    var isDue = false
    /// When a retry is due.
    var retryAt: MonotonicInstant?
    /// When it was over, so that a list that was asked for earlier does not bring it back.
    var overSince: MonotonicInstant?
  }

  private let thread = BlockingThread(name: "transactions")
  nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe thread.asUnownedSerialExecutor() }

  let database: AgentDatabase
  let store: StoreQueueClient
  let server: DeliveryClient
  let downloads: DownloadManager
  let hub: EventHub
  let inbox: TransactionInbox
  let clock: any MonotonicClock
  let log: Log
  private let pollInterval: Duration
  let retryPolicy: RetryPolicy

  var entries: [TransactionIdentifier: Entry] = [:]
  private var nextPoll: MonotonicInstant
  /// Polls in a row that the store did not answer.
  private var pollFailures = 0

  init(
    database: AgentDatabase, store: StoreQueueClient, server: DeliveryClient, downloads: DownloadManager,
    hub: EventHub, inbox: TransactionInbox, pollInterval: Duration, retryPolicy: RetryPolicy,
    clock: any MonotonicClock, log: Log
  ) {
    self.database = database
    self.store = store
    self.server = server
    self.downloads = downloads
    self.hub = hub
    self.inbox = inbox
    self.pollInterval = pollInterval
    self.retryPolicy = retryPolicy
    self.clock = clock
    self.log = log
    nextPoll = clock.now()
  }

  /// Takes up what was persisted. Throws when the state cannot be read.
  func restore() async throws {
    for record in try database.transactions() {
      entries[record.identifier] = Entry(
        record: record, isSaved: true,
        isDue: record.machine.step == .planning || record.machine.step == .waitingForServer)
      await publish(record.identifier)
      await process(.downloads(await downloads.outcomes(of: record.identifier)), record.identifier)
    }
  }

  /// Until the task is cancelled.
  func run() async {
    while !Task.isCancelled {
      await hearNews()
      if nextPoll <= clock.now() { await poll() }
      await askServer()
      await inbox.wakeUp.wait(atMost: timeToNextTurn, clock: clock)
    }
  }

  /// The store's queue is asked at once, not at the next turn.
  func pollSoon() {
    nextPoll = clock.now()
    inbox.wakeUp.signal()
  }

  /// Buys; the transaction is known and under way when this returns.
  func purchase(_ request: AgentPurchaseRequest) async throws -> AgentTransaction {
    let transaction: StoreTransaction
    do {
      transaction = try await store.purchase(request)
    } catch {
      throw error.problem(of: .store)
    }
    await observe(transaction)
    pollSoon()
    let identifiers = await downloads.downloads(of: transaction.id)
    let record =
      entries[transaction.id]?.record
      ?? TransactionRecord(
        identifier: transaction.id, product: transaction.product, storeState: transaction.state)
    return record.status(downloads: identifiers)
  }

  private func poll() async {
    let asked = clock.now()
    // One that appears while the store answers is not in its answer, and not gone either.
    let known = Set(entries.keys)
    do {
      let listed = try await store.unfinishedTransactions()
      pollFailures = 0
      for transaction in listed {
        if let over = entries[transaction.id]?.overSince, over >= asked { continue }
        await observe(transaction)
      }
      let identifiers = Set(listed.map(\.id))
      for identifier in known where !identifiers.contains(identifier) {
        await process(.vanished, identifier)
      }
    } catch {
      pollFailures += 1
      log.info("the store's queue cannot be asked", ["error": LogValue(error)])
    }
    // Devices that were started together, or lost the store together, drift apart.
    let jittered = pollInterval * Double.random(in: 0.9...1.1)
    let delay =
      pollFailures == 0 ? jittered : max(jittered, retryPolicy.delay(failures: pollFailures, notBefore: nil))
    nextPoll = clock.now() + delay
  }

  private var timeToNextTurn: Duration {
    let now = clock.now()
    let due = entries.values.compactMap(\.retryAt) + [nextPoll]
    return due.map { max(.zero, $0 - now) }.min() ?? pollInterval
  }
}
