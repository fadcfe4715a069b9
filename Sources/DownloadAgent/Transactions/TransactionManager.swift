import Commerce
import CoreTypes
import PullboxAPI
import ServiceRuntime
import SystemCalls

/// Watches the store's queue and brings every transaction to its end.
///
/// A ``MachineRunner`` holds the transactions and runs their ``TransactionMachine``s. One loop does
/// everything else: it asks the store for its queue, asks the server what is owed and what is finished, and
/// reads what downloads have reported to the ``TransactionInbox``. The manager lives on a thread of its own,
/// since persisting blocks.
///
/// ```swift
/// try await transactions.restore()                  // after the downloads
/// async let running: Void = transactions.run()      // until the task is cancelled
/// let bought = try await transactions.purchase(request)
/// ```
actor TransactionManager {
  typealias Runner = MachineRunner<TransactionRecord, Attention>

  /// What a transaction waits for in this process.
  struct Attention: Sendable {
    /// The server is to be asked: what the transaction entitles to, or whether it is finished.
    var isDue = false
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

  var runner: Runner
  private var generator: any RandomNumberGenerator & Sendable
  private var nextPoll: MonotonicInstant
  private let loop: LoopPulse
  /// Polls in a row that the store did not answer.
  private var pollFailures = 0

  init(
    database: AgentDatabase, store: StoreQueueClient, server: DeliveryClient, downloads: DownloadManager,
    hub: EventHub, inbox: TransactionInbox, pollInterval: Duration, retryPolicy: RetryPolicy,
    clock: any MonotonicClock, log: Log,
    generator: any RandomNumberGenerator & Sendable = SystemRandomNumberGenerator()
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
    self.generator = generator
    runner = Runner(
      retryPolicy: retryPolicy, clock: clock, wakeUp: inbox.wakeUp, generator: generator
    ) { record in try database.save(record) }
    nextPoll = clock.now()
    // A turn waits for store and server, whose answers have their own bounds.
    loop = LoopPulse(clock: clock, longestTurn: .seconds(600))
  }

  /// Goes on with what was persisted. Throws when the state cannot be read.
  func restore() async throws {
    for record in try database.transactions() {
      let isDue = record.machine.step == .planning || record.machine.step == .waitingForServer
      runner.insert(record, context: Attention(isDue: isDue), isSaved: true)
      await publish(record.identifier)
      await processDownloads(of: record.identifier)
    }
  }

  /// Runs until the task is cancelled.
  func run() async {
    while !Task.isCancelled {
      loop.turnBegan()
      await processReports()
      await processDueRetries()
      if nextPoll <= clock.now() { await poll() }
      await askServer()
      loop.turnEnded()
      await inbox.wakeUp.wait(atMost: timeToNextTurn, clock: clock)
    }
  }

  /// Returns once the loop has been seen to turn: a sign of life for the watchdog.
  func pulse() async {
    let wakeUp = inbox.wakeUp
    await loop.prove { wakeUp.signal() }
  }

  /// The store's queue is asked at once, not at the next turn.
  func pollSoon() {
    nextPoll = clock.now()
    inbox.wakeUp.signal()
  }

  /// Buys, once for one `key`; the transaction is known and under way when this returns.
  func purchase(_ request: AgentPurchaseRequest, key: String) async throws -> AgentTransaction {
    let transaction: StoreTransaction
    do {
      transaction = try await store.purchase(request, key: key)
    } catch {
      throw error.problem(of: .store)
    }
    await observe(transaction)
    pollSoon()
    let identifiers = await downloads.downloads(of: transaction.id)
    let record =
      runner[transaction.id]?.record
      ?? TransactionRecord(
        identifier: transaction.id, product: transaction.product, storeState: transaction.state)
    return record.status(downloads: identifiers)
  }

  private func poll() async {
    let asked = clock.now()
    // One that appears while the store answers is not in its answer, and not gone either.
    let known = Set(runner.entries.keys)
    var notBefore: Duration?
    do {
      let listed = try await store.unfinishedTransactions()
      pollFailures = 0
      for transaction in listed {
        if let over = runner[transaction.id]?.context.overSince, over >= asked { continue }
        await observe(transaction)
      }
      let identifiers = Set(listed.map(\.id))
      for identifier in known where !identifiers.contains(identifier) {
        await process(.disappeared, of: identifier)
      }
    } catch {
      pollFailures += 1
      if case .retry(let told) = StepFailure(error, from: .store).recovery { notBefore = told }
      log.info("the store's queue cannot be asked", ["error": LogValue(error)])
    }
    // Devices that were started together, or lost the store together, drift apart.
    var delay = pollInterval * Double.random(in: 0.9...1.1, using: &generator)
    if pollFailures > 0 {
      delay = max(delay, retryPolicy.delay(failures: pollFailures, notBefore: notBefore, using: &generator))
    }
    nextPoll = clock.now() + delay
  }

  private var timeToNextTurn: Duration {
    let timeToNextPoll = max(.zero, nextPoll - clock.now())
    return min(runner.timeToNextRetry ?? timeToNextPoll, timeToNextPoll)
  }
}
