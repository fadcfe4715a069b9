import AgentRecords
import Commerce
import ContentLibrary
import CoreTypes
import PullboxAPI
import ServiceAPI
import ServiceRuntime
import SystemCalls

/// Watches the store's queue and brings every transaction to its end.
///
/// A ``MachineRunner`` holds the transactions that are not over and runs their ``TransactionMachine``s; those that are
/// over are in the database alone. Three loops do everything else, side by side, so that a service that does not answer
/// holds up nothing but its own questions: one asks the store for its queue, one asks the server what is owed and what
/// is finished, and one reads what downloads have reported to the ``TransactionInbox``. The manager lives on a thread of
/// its own, since persisting blocks.
///
/// ```swift
/// try await transactions.restore()                  // after the downloads
/// async let running: Void = transactions.run()      // until the task is cancelled
/// let bought = try await transactions.purchase(request)
/// ```
actor TransactionManager {
  typealias Runner = MachineRunner<TransactionRecord, Attention>

  /// The work that a transaction waits for in this process.
  struct Attention: Sendable {
    /// The server is to be asked: what the transaction entitles to, or whether it is finished.
    var isDue = false
    /// The store's queue listed it when it was last complete.
    var isListed = true
    /// How its downloads stand could not be read when it was to be.
    var hasUnreadDownloads = false
  }

  /// Questions about the state of grants that are asked at the same time.
  static let questionsAtOnce = 4
  /// After so many ends the history is pruned.
  static let endsBetweenPrunings = 256

  private let thread = BlockingThread(name: "transactions")
  nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe thread.asUnownedSerialExecutor() }

  let database: AgentDatabase
  let store: StoreQueueClient
  let server: DeliveryClient
  let downloads: DownloadManager
  let hub: EventHub
  let inbox: TransactionInbox
  let clock: any MonotonicClock
  let wallClock: any WallClock
  let log: Log
  /// Between two polls; a tenth more or less at random.
  let pollInterval: Duration
  let retryPolicy: RetryPolicy

  var runner: Runner
  /// When transactions were over, so that a list that was asked for earlier does not bring them back.
  var recentEnds: [TransactionIdentifier: MonotonicInstant] = [:]
  var endsSincePruning = 0
  /// The server has something to be asked. Signalled, it turns the loop of questions.
  let questions = AsyncSignal()
  let pollWakeUp = AsyncSignal()
  private var generator: any RandomNumberGenerator & Sendable
  var nextPoll: MonotonicInstant
  /// The queue is to be asked, since the present poll has begun.
  private var wantsPoll = false
  private let queueLoop: LoopPulse
  let serverLoop: LoopPulse
  private let downloadLoop: LoopPulse
  /// The earliest time of the next poll that the store's last answer allows.
  private(set) var pollNotBefore: MonotonicInstant
  /// The time that is saved for the next start; nil where the store has named none.
  private var storeNotBefore: Timestamp?
  /// Polls in a row that the store did not answer.
  private var pollFailures = 0
  private var openings = 0
  /// The feed that the server named for the receipt that was shown last.
  var latestFeed: FeedReference?
  /// Signalled when the account's purchases differ from those at the last look, also by another device, so that its
  /// receipt is another one.
  nonisolated let receiptChanged = AsyncSignal()
  private var receiptRevision: Int64?
  /// The queue's tag at the last answer, all of which was taken up; nil where the store tells none.
  var queueTag: String?
  /// Signalled when ``queueTag`` is to be waited behind.
  let tagChanged = AsyncSignal()
  /// The question that waits at the store; cancelled where the way is another one, on which its answer may never come.
  var waiting: Task<String?, any Error>?
  /// Between two questions by the clock while the store is to tell of a change.
  private static let awaitedInterval: Duration = .seconds(600)
  /// The store's queue was asked once, or wants not to be asked yet: a receipt that is read from then on holds what the queue told of.
  nonisolated let hasLooked = Event()
  /// Whether a receipt was shown, or is being shown, in this process.
  var hasShownReceipt = false

  init(
    database: AgentDatabase, store: StoreQueueClient, server: DeliveryClient, downloads: DownloadManager,
    hub: EventHub, inbox: TransactionInbox, pollInterval: Duration, retryPolicy: RetryPolicy,
    clock: any MonotonicClock, wallClock: any WallClock = SystemWallClock(), log: Log,
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
    self.wallClock = wallClock
    self.log = log
    self.generator = generator
    runner = Runner(
      retryPolicy: retryPolicy, clock: clock, wallClock: wallClock, wakeUp: inbox.wakeUp,
      generator: generator
    ) { record in try database.save(record, now: wallClock.now()) }
    nextPoll = clock.now()
    // Between two signs of life lie a few questions to store and server, whose answers have their own bounds.
    let longestTurn: Duration = .seconds(600)
    queueLoop = LoopPulse(clock: clock, longestTurn: longestTurn)
    serverLoop = LoopPulse(clock: clock, longestTurn: longestTurn)
    downloadLoop = LoopPulse(clock: clock, longestTurn: longestTurn)
    pollNotBefore = clock.now()
  }

  /// Goes on with what was persisted. Throws when the state cannot be read. Store and server are not asked
  /// before ``run()``.
  func restore() async throws {
    if let time = try database.storeNotBefore() {
      let rest = min(time - wallClock.now(), retryPolicy.longestRequestedDelay)
      storeNotBefore = time
      pollNotBefore = clock.now() + max(rest, .zero)
      nextPoll = pollNotBefore
    }
    pruneHistory()
    for record in try database.unfinishedTransactions() {
      let waits = record.machine.step == .planning || record.machine.step == .waitingForServer
      runner.insert(record, context: Attention(), isSaved: true)
      // A delay that an earlier process began is waited for to its end.
      let isDue = waits && runner.isDue(record.identifier)
      runner[record.identifier]?.context.isDue = isDue
      await publish(record)
      await processDownloads(of: record.identifier)
    }
  }

  /// Runs until the task is cancelled.
  func run() async {
    for network in [store.network, server.path.network] {
      network.signalOpenings(to: inbox.wakeUp)
      network.signalOpenings(to: pollWakeUp)
    }
    await withTaskGroup(of: Void.self) { group in
      group.addTask { await self.watchQueue() }
      group.addTask { await self.awaitChanges() }
      group.addTask { await self.watchServer() }
      group.addTask { await self.watchDownloads() }
    }
  }

  /// Returns once each of the three loops has been seen to turn: a sign of life for the watchdog.
  func pulse() async {
    for (loop, wakeUp) in [
      (queueLoop, pollWakeUp), (serverLoop, questions), (downloadLoop, inbox.wakeUp),
    ] {
      await loop.prove { wakeUp.signal() }
    }
  }

  /// Those of the library, which all that is told to people uses.
  nonisolated var titles: ProductTitles { downloads.steps.library.titles }

  /// The store's queue is asked at once, unless the store wants to be left alone; where it is being asked, once more.
  func pollSoon() {
    wantsPoll = true
    nextPoll = max(clock.now(), pollNotBefore)
    pollWakeUp.signal()
  }

  /// Buys, once for one `key`; the transaction is known and under way when this returns. Throws `device-limit` before anything is paid
  /// where the server says that the device has no place with its customer; where that cannot be asked the
  /// purchase goes on. Throws the store's problem, or `store-unavailable`.
  ///
  /// - Parameter user: the number of the user who buys, who answers for the conditions that are to be passed.
  func purchase(
    _ request: AgentPurchaseRequest, key: String, by user: UInt32? = nil
  ) async throws -> AgentTransaction {
    try await requirePlace("nothing was bought")
    let transaction: StoreTransaction
    do {
      transaction = try await store.purchase(request, key: key)
    } catch {
      throw error.problem(of: .store)
    }
    return try await begin(transaction, session: request.session, ignoring: request.ignore, by: user)
  }

  /// Redeems a code at the store, as ``purchase(_:key:by:)`` buys.
  func redeem(
    _ code: GiftCode, _ request: AgentRedeemRequest, key: String, by user: UInt32? = nil
  ) async throws -> AgentTransaction {
    try await requirePlace("the code was not redeemed")
    let transaction: StoreTransaction
    do {
      transaction = try await store.redeem(code, key: key)
    } catch {
      throw error.problem(of: .store)
    }
    return try await begin(transaction, session: request.session, ignoring: request.ignore, by: user)
  }

  /// Throws `device-limit` only where the server says so.
  ///
  /// - Parameter consequence: a clause for the message.
  private func requirePlace(_ consequence: String) async throws(Problem) {
    guard let answer = try? await entitlements(), answer.hasPlace == false else { return }
    throw Problem(
      .deviceLimit, "\(consequence): the account is in use on as many devices as the store allows")
  }

  /// Takes up what the store has just sold. The queue is asked as well, since its answer may be the first to
  /// know the next state.
  private func begin(
    _ transaction: StoreTransaction, session: SessionName?, ignoring conditions: [MachineConditionName]?,
    by user: UInt32?
  ) async throws -> AgentTransaction {
    let ignored = (conditions ?? []).map { IgnoredCondition(name: $0, by: user) }
    try await observe(transaction, session: session, ignored: ignored)
    // The queue may have told of it before.
    if let session { try await downloads.noteSession(session, of: transaction.id) }
    if !ignored.isEmpty { try await downloads.noteIgnored(ignored, of: transaction.id) }
    pollSoon()
    let identifiers = await downloads.downloads(of: transaction.id)
    let record =
      runner[transaction.id]?.record
      ?? TransactionRecord(
        identifier: transaction.id, product: transaction.product, storeState: transaction.state)
    return record.status(downloads: identifiers, title: titles[record.product])
  }

  /// The loop of the store's queue.
  func watchQueue() async {
    while !Task.isCancelled {
      queueLoop.turnBegan()
      if nextPoll <= clock.now() { await poll() }
      hasLooked.happen()
      queueLoop.turnEnded()
      await pollWakeUp.wait(atMost: max(.zero, nextPoll - clock.now()), clock: clock)
    }
  }

  /// The loop of questions to the server: a turn at each signal.
  func watchServer() async {
    while !Task.isCancelled {
      serverLoop.turnBegan()
      await askServer()
      serverLoop.turnEnded()
      await questions.wait(atMost: nil, clock: clock)
    }
  }

  /// The loop of what downloads report, of retries, and of networks that are open again.
  func watchDownloads() async {
    while !Task.isCancelled {
      downloadLoop.turnBegan()
      await processReports()
      await processDueRetries()
      await processOpenings()
      downloadLoop.turnEnded()
      await inbox.wakeUp.wait(atMost: runner.timeToNextRetry, clock: clock)
    }
  }

  /// The way to a service is open again: what waited for that goes on.
  private func processOpenings() async {
    let now = store.network.openings + server.path.network.openings
    guard now != openings else { return }
    openings = now
    for (identifier, entry) in runner.entries where entry.record.machine.reason?.isOfTheWay == true {
      await process(.retryDue, of: identifier)
    }
    waiting?.cancel()
    if pollFailures > 0 || waiting != nil { pollSoon() }
  }

  /// Keeps for the next start when the store wants to be asked. Nil forgets it. Never throws.
  private func noteStoreWish(_ time: Timestamp?) {
    guard time != storeNotBefore else { return }
    do {
      try database.setStoreNotBefore(time)
      storeNotBefore = time
    } catch {
      log.warning("when the store wants to be asked cannot be saved", ["error": LogValue(error)])
    }
  }

  /// Asks for the whole queue, and takes up what it lists. A transaction that a complete answer does not list
  /// has left the queue. A failure is logged and makes the next poll later, up to the policy's longest delay
  /// and not before the store's `Retry-After`.
  private func poll() async {
    let asked = clock.now()
    wantsPoll = false
    // One that appears while the store answers is not in its answer, and not gone either.
    let known = Set(runner.entries.keys)
    recentEnds = recentEnds.filter { $0.value >= asked }
    var notBefore: Duration?
    queueTag = nil
    do {
      // A long queue comes in many answers.
      let queue = try await store.unfinishedTransactions { [queueLoop] in queueLoop.turnBegan() }
      pollFailures = 0
      pollNotBefore = clock.now()
      // What ended here since the question was asked is in the answer still.
      let listed = queue.transactions.filter { recentEnds[$0.id].map { $0 < asked } ?? true }
      // What is new here was bought before the answer, so that one receipt from now on holds all of it.
      if listed.contains(where: { runner[$0.id]?.record.storeState != $0.state }) {
        await store.noteNewPurchase()
      }
      if queue.revision != receiptRevision {
        let isFirst = receiptRevision == nil
        receiptRevision = queue.revision
        await store.noteNewPurchase()
        // What is shown for the first time from now on holds it.
        if !isFirst || hasShownReceipt { receiptChanged.signal() }
      }
      // What is left out here, or cannot be written down, the store has to say again.
      var isTakenUp = listed.count == queue.transactions.count
      for transaction in listed {
        // One may have ended while those before it were looked at.
        if let over = recentEnds[transaction.id], over >= asked {
          isTakenUp = false
          continue
        }
        if try await !observe(transaction) { isTakenUp = false }
      }
      if queue.isComplete {
        for identifier in known.subtracting(queue.transactions.map(\.id))
        where runner[identifier]?.context.isListed == true {
          runner[identifier]?.context.isListed = false
          // What could not be saved has not happened, and the next poll says it again.
          if await !process(.disappeared, of: identifier), runner[identifier] != nil {
            runner[identifier]?.context.isListed = true
            isTakenUp = false
          }
        }
      } else {
        log.warning("the store's queue has no end", ["transactions": "\(queue.transactions.count)"])
      }
      queueTag = isTakenUp ? queue.tag : nil
    } catch {
      pollFailures += 1
      let failure = StepFailure(error, from: .store)
      if case .retry(let told) = failure.recovery { notBefore = told }
      log.info(
        "the store's queue cannot be read",
        ["reason": LogValue(failure.reason), "error": LogValue(error)])
    }
    // Devices that were started together, or lost the store together, drift apart.
    var delay = pollInterval * Double.random(in: 0.9...1.1, using: &generator)
    if pollFailures > 0 {
      delay = max(delay, retryPolicy.delay(failures: pollFailures, notBefore: notBefore, using: &generator))
    }
    if queueTag != nil {
      delay = max(delay, Self.awaitedInterval)
      tagChanged.signal()
    }
    nextPoll = clock.now() + delay
    if notBefore != nil { pollNotBefore = nextPoll }
    // The answer may be from before that for which it was to be asked.
    if wantsPoll, pollFailures == 0 { nextPoll = max(clock.now(), pollNotBefore) }
    noteStoreWish(notBefore == nil ? nil : wallClock.now() + delay)
  }
}
