import Commerce
import CoreTypes
import PullboxAPI
import ServiceRuntime
import SystemCalls

/// Brings what was bought to this device: runs every download from its grant to its report.
///
/// A ``MachineRunner`` holds the downloads and runs their ``DownloadMachine``s; ``Scheduler`` chooses which
/// of them may start; ``DownloadSteps`` does the work of a step; ``EventHub`` and ``TransactionInbox`` hear
/// what came of it. The manager lives on a thread of its own, since persisting blocks, and nothing in it
/// awaits in the middle of a transition.
///
/// ```swift
/// try await downloads.restore()                         // what an earlier process left
/// try await downloads.add([issue], for: transaction)    // starts as soon as there is a place
/// _ = try await downloads.request(.pauseRequested, of: download)
/// await downloads.stop()                                // what was verified is recorded
/// ```
actor DownloadManager {
  typealias Runner = MachineRunner<DownloadRecord, Activity>

  /// What is going on about a download in this process.
  struct Activity: Sendable {
    /// Kept from the transfer for the placing.
    var session: StagingSession?
    var progress: TransferProgress
    var estimator = ProgressEstimator()
    /// Remove what is staged as soon as no step runs.
    var discardIsDue = false

    init(_ record: DownloadRecord) {
      progress = TransferProgress(received: record.bytesReceived, verified: record.bytesVerified)
    }
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
  let hub: EventHub
  let inbox: TransactionInbox
  let clock: any MonotonicClock
  let log: Log

  var runner: Runner
  private var nextSave: MonotonicInstant

  init(
    database: AgentDatabase, steps: DownloadSteps, maximumActive: Int, retryPolicy: RetryPolicy,
    hub: EventHub, inbox: TransactionInbox, clock: any MonotonicClock, log: Log
  ) {
    self.database = database
    self.steps = steps
    scheduler = Scheduler(maximumActive: maximumActive)
    self.hub = hub
    self.inbox = inbox
    self.clock = clock
    self.log = log
    runner = Runner(retryPolicy: retryPolicy, clock: clock, wakeUp: AsyncSignal()) { record in
      try database.save(record)
    }
    nextSave = clock.now() + Self.saveInterval
  }

  /// Goes on with what was persisted. Throws when the state cannot be read.
  func restore() throws {
    let records = try database.downloads()
    let live = records.filter { !$0.machine.state.isFinal || $0.machine.state == .failed }
    try steps.library.recover()
    try steps.library.discardLeftovers(except: Set(live.map(\.identifier)))
    for record in records {
      runner.insert(record, context: Activity(record), isSaved: true)
      process(.restored, of: record.identifier)
    }
  }

  /// Creates the downloads of a transaction that it does not have yet.
  func add(_ products: [ProductIdentifier], for transaction: TransactionIdentifier) throws {
    for record in try database.createDownloads(for: transaction, products: products) { begin(record) }
  }

  /// One more download for a product that is owned and not here, unless one is under way already. Answers
  /// whether it was made.
  func addMissing(_ product: ProductIdentifier, for transaction: TransactionIdentifier) throws -> Bool {
    let isUnderWay = runner.entries.values.contains { entry in
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
      await runner.wakeUp.wait(atMost: timeToNextTurn, clock: clock)
    }
  }

  /// Stops every step; returns when what they verified is recorded.
  func stop() async {
    for step in runner.stopSteps() { await step.value }
    for identifier in runner.entries.keys { saveProgress(of: identifier) }
  }

  private func begin(_ record: DownloadRecord) {
    runner.insert(record, context: Activity(record), isSaved: true)
    publish(record.identifier)
    schedule()
  }

  private func handleDue() {
    let now = clock.now()
    let isSaveDue = nextSave <= now
    if isSaveDue { nextSave = now + Self.saveInterval }
    for identifier in runner.dequeueDueRetries() { process(.retryDue, of: identifier) }
    for (identifier, entry) in runner.entries where entry.record.machine.isTransferring {
      sample(identifier, at: now)
      if isSaveDue { saveProgress(of: identifier) }
      publish(identifier)
    }
    schedule()
  }

  private var timeToNextTurn: Duration? {
    let isTransferring = runner.entries.values.contains { $0.record.machine.isTransferring }
    guard isTransferring else { return runner.timeToNextRetry }
    return min(runner.timeToNextRetry ?? Self.tick, Self.tick)
  }
}

extension DownloadMachine {
  /// Bytes may be moving.
  var isTransferring: Bool { state == .active && phase == .transfer }
}
