import Commerce
import CoreTypes
import PullboxAPI
import ServiceRuntime
import SystemCalls

/// Runs every download: feeds its machine, persists what comes of it, then acts. Lives on a thread of its own, since
/// persisting blocks; nothing here awaits in the middle of a transition.
actor DownloadManager {
  /// A download and what is going on about it in this process.
  struct Entry {
    var record: DownloadRecord
    /// The step that runs, or that was stopped and is not over.
    var step: Task<Void, Never>?
    /// Kept from the transfer for the placing.
    var session: StagingSession?
    var progress: TransferProgress
    var estimator = ProgressEstimator()
    /// When the delay of a retry is over.
    var retryAt: MonotonicInstant?
    /// Remove what is staged as soon as no step runs.
    var discardIsDue = false
  }

  /// How often the progress of running transfers is published.
  static let tick: Duration = .milliseconds(250)
  /// How often it is persisted, so that the counts shown after a sudden end are not far off.
  static let saveInterval: Duration = .seconds(5)

  private let thread = BlockingThread(name: "downloads")
  nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe thread.asUnownedSerialExecutor() }

  let database: AgentDatabase
  let steps: DownloadSteps
  let scheduler: Scheduler
  let retryPolicy: RetryPolicy
  let hub: EventHub
  let inbox: TransactionInbox
  let clock: any MonotonicClock
  let log: Log
  let wakeUp = AsyncSignal()

  var entries: [DownloadIdentifier: Entry] = [:]
  private(set) var isStopping = false
  private var nextSave: MonotonicInstant

  init(
    database: AgentDatabase, steps: DownloadSteps, maximumActive: Int, retryPolicy: RetryPolicy,
    hub: EventHub, inbox: TransactionInbox, clock: any MonotonicClock, log: Log
  ) {
    self.database = database
    self.steps = steps
    scheduler = Scheduler(maximumActive: maximumActive)
    self.retryPolicy = retryPolicy
    self.hub = hub
    self.inbox = inbox
    self.clock = clock
    self.log = log
    nextSave = clock.now() + Self.saveInterval
  }

  /// Takes up what was persisted. Throws when the state cannot be read.
  func restore() throws {
    let records = try database.downloads()
    let live = records.filter { !$0.machine.state.isFinal || $0.machine.state == .failed }
    try steps.library.recover()
    try steps.library.discardLeftovers(except: Set(live.map(\.identifier)))
    for record in records {
      entries[record.identifier] = entry(for: record)
      apply(.restored, to: record.identifier)
    }
  }

  /// Creates the downloads of a transaction that it does not have yet.
  func add(_ products: [ProductIdentifier], for transaction: TransactionIdentifier) throws {
    for record in try database.createDownloads(for: transaction, products: products) { begin(record) }
  }

  /// One more download for a product that is owned and not here, unless one is under way already. Answers whether it was
  /// made.
  func addMissing(_ product: ProductIdentifier, for transaction: TransactionIdentifier) throws -> Bool {
    let isUnderWay = entries.values.contains { entry in
      entry.record.product == product && !entry.record.machine.state.isFinal
    }
    guard !isUnderWay else { return false }
    begin(try database.createDownload(for: transaction, product: product))
    return true
  }

  /// Runs timers and publishes progress until the task is cancelled.
  func run() async {
    while !Task.isCancelled {
      handleDue()
      await wakeUp.wait(atMost: timeToNextTurn, clock: clock)
    }
  }

  /// Stops every step; returns when what they verified is recorded.
  func stop() async {
    isStopping = true
    let running = entries.values.compactMap(\.step)
    for step in running { step.cancel() }
    for step in running { await step.value }
    for identifier in entries.keys { saveProgress(of: identifier) }
  }

  private func begin(_ record: DownloadRecord) {
    entries[record.identifier] = entry(for: record)
    publish(record.identifier)
    schedule()
  }

  private func entry(for record: DownloadRecord) -> Entry {
    Entry(
      record: record,
      progress: TransferProgress(received: record.bytesReceived, verified: record.bytesVerified))
  }

  private func handleDue() {
    let now = clock.now()
    let isSaveDue = nextSave <= now
    if isSaveDue { nextSave = now + Self.saveInterval }
    for (identifier, entry) in entries {
      if let due = entry.retryAt, due <= now {
        entries[identifier]?.retryAt = nil
        apply(.retryDue, to: identifier)
      }
      if entry.record.machine.isTransferring {
        sample(identifier, at: now)
        if isSaveDue { saveProgress(of: identifier) }
        publish(identifier)
      }
    }
    schedule()
  }

  private var timeToNextTurn: Duration? {
    let now = clock.now()
    var time = entries.values.compactMap(\.retryAt).min().map { max(.zero, $0 - now) }
    if entries.values.contains(where: { $0.record.machine.isTransferring }) {
      time = min(time ?? Self.tick, Self.tick)
    }
    return time
  }
}

extension DownloadMachine {
  /// Bytes may be moving.
  var isTransferring: Bool { state == .active && phase == .transfer }
}
