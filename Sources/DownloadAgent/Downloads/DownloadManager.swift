import AgentRecords
import Commerce
import ContentLibrary
import CoreTypes
import Crypto
import PullboxAPI
import ServiceRuntime
import SystemCalls

/// Brings what was bought to this device: runs every download from its grant to its report, and the content
/// jobs that they wait for.
///
/// One ``MachineRunner`` holds the downloads and runs their ``DownloadMachine``s, another the jobs and their
/// ``ContentJobMachine``s; ``Scheduler`` chooses what may start; ``DownloadSteps`` and ``ContentJobSteps`` do
/// the work of a step; ``EventHub`` and ``TransactionInbox`` hear what came of it. The manager lives on a
/// thread of its own, since persisting blocks, and nothing in it awaits in the middle of a transition.
///
/// ```swift
/// try await downloads.restore()                         // what an earlier process left
/// try await downloads.add([issue], for: transaction)    // starts as soon as there is a place
/// _ = try await downloads.request(.pauseRequested, of: download)
/// await downloads.stop()                                // what was verified is recorded
/// ```
///
/// Invariants: a digest has at most one job that is not finished; a job is kept while a download claims its
/// digest; a download that is over and saved is not in memory.
actor DownloadManager {
  /// The machines of the downloads that are not over.
  typealias Runner = MachineRunner<DownloadRecord, DownloadActivity>
  /// The machines of the content jobs, with the state of each in this process.
  typealias JobRunner = MachineRunner<ContentJobRecord, JobActivity>

  /// The state of a download in this process.
  struct DownloadActivity: Sendable {
    /// When the report began that is under way, or was last.
    var reportingSince: MonotonicInstant?
  }

  /// The state of a content job in this process.
  struct JobActivity: Sendable {
    /// The counts, which the transfer changes from its own threads.
    var progress: TransferProgress
    /// The speed by the counts so far.
    let estimator = JobEstimator()
    /// When its content began to be placed, where that goes on or was last.
    var placingSince: MonotonicInstant?
    /// Remove what is staged, and the job, as soon as no step runs.
    var discardIsDue = false
    /// The demand of its readers, and the way to what of it they can have.
    let demand: ReadingDemand

    /// An activity that goes on from the counts of the record, with a part of its own of the pacer's rate. Its readers look again at
    /// `changes`.
    init(_ record: ContentJobRecord, _ pacer: TransferPacer, changes: ChangeSignal) {
      demand = ReadingDemand(changes: changes)
      progress = TransferProgress(
        received: record.bytesReceived, verified: record.bytesVerified, reused: record.bytesReused,
        pace: pacer.join())
    }
  }

  /// How often the progress of running transfers is published.
  static let tick: Duration = .milliseconds(250)
  /// How often it is persisted, so that the counts shown after a sudden end are not far off.
  static let saveInterval: Duration = .seconds(5)

  /// After so many ends the history is pruned.
  static let endsBetweenPrunings = 100
  /// How often it is looked whether what failed jobs have staged is old.
  static let cleaningInterval: Duration = .seconds(3600)

  /// The thread of the actor, since persisting blocks.
  private let thread = BlockingThread(name: "downloads")
  nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe thread.asUnownedSerialExecutor() }

  /// The database of all records.
  let database: AgentDatabase
  /// The work of downloads.
  let steps: DownloadSteps
  /// The work of content jobs.
  let jobSteps: ContentJobSteps
  /// The choice of what may start.
  let scheduler: Scheduler
  /// The hub that observers hear from.
  let hub: EventHub
  /// The messages to transactions.
  let inbox: TransactionInbox
  /// The clock of retries and of progress.
  let clock: any MonotonicClock
  /// The log of failures and, for developers, of transitions.
  let log: Log

  /// The downloads in memory: those that are not over, and those whose end is not saved.
  var runner: Runner
  /// The jobs in memory, all of them.
  var jobs: JobRunner
  /// The job of each digest.
  var jobsByDigest: [SHA256Digest: ContentJobIdentifier] = [:]
  /// The downloads for which the content of each digest is kept.
  var claims: [SHA256Digest: Set<DownloadIdentifier>] = [:]
  /// The times of the steps behind a transfer, on this device.
  var phaseTimes = PhaseTimes()
  /// Those that the next start begins with.
  var savedPhaseTimes = PhaseTimes()
  /// The downloads that have readers, or had some a moment ago.
  var readings: [DownloadIdentifier: DownloadReading] = [:]
  /// The staging areas that are being opened for readers while no step of their jobs runs.
  var stagedOpenings: [ContentJobIdentifier: Task<Void, Never>] = [:]
  /// How long a download counts as read, and stays wanted now, when its last request has been answered: a reader turns pages.
  var readingGrace: Duration = .seconds(60)
  /// Signalled when something that readers may wait for has changed.
  nonisolated let readingChanges = ChangeSignal()
  /// Ends since the history was pruned last.
  var endsSincePruning = 0
  /// Those that were delivered once more, since the server had lost their reports.
  var repeated = RepeatedDeliveries()
  /// Nothing is held before the first look at the library.
  var environment = Scheduler.Environment()
  /// The number of the word about the machine that counts.
  var machineNumber: UInt64 = 0
  /// The limits of rate, time and bytes, and what the clock says of them.
  var limitState: LimitState
  /// The zone of this device.
  let calendar: LocalCalendar
  /// Whether the periods of the budget are on the device.
  var areBudgetPeriodsSaved = true
  /// The count of received bytes on the device.
  nonisolated let networkCount: NetworkCountRecord
  /// Nothing starts before everything is known.
  private(set) var isRestored = false
  /// The instant at which progress is persisted next.
  private var nextSave: MonotonicInstant
  /// Tells the watchdog that ``run()`` turns.
  private let loop: LoopPulse
  /// Runs beside the manager.
  nonisolated let reports: VerificationReports
  /// The openings of ``networks`` at the last look.
  private var openings = 0

  /// A manager that starts nothing before ``restore()``. At most `maximumActive` downloads and jobs have a place at a
  /// time.
  init(
    database: AgentDatabase, steps: DownloadSteps, jobSteps: ContentJobSteps, maximumActive: Int,
    retryPolicy: RetryPolicy, hub: EventHub, inbox: TransactionInbox, limits: DownloadLimits,
    calendar: LocalCalendar, clock: any MonotonicClock, log: Log
  ) {
    self.database = database
    self.calendar = calendar
    limitState = LimitState(limits, calendar: calendar)
    networkCount = NetworkCountRecord(database)
    self.steps = steps
    self.jobSteps = jobSteps
    scheduler = Scheduler(maximumActive: maximumActive)
    self.hub = hub
    self.inbox = inbox
    self.clock = clock
    self.log = log
    reports = VerificationReports(server: steps.server, clock: clock, log: log)
    let wakeUp = AsyncSignal()
    runner = Runner(retryPolicy: retryPolicy, clock: clock, wallClock: steps.clock, wakeUp: wakeUp) {
      record in
      // What a canceled one has staged goes.
      try database.makingRoom(record.machine.state == .cancelled) { try database.save(record) }
    }
    jobs = JobRunner(retryPolicy: retryPolicy, clock: clock, wallClock: steps.clock, wakeUp: wakeUp) {
      record in
      try database.makingRoom(record.machine.state == .abandoned) { try database.save(record) }
    }
    nextSave = clock.now() + Self.saveInterval
    // A turn writes to the database, and waits for nothing else.
    loop = LoopPulse(clock: clock, longestTurn: .seconds(120))
  }

  /// Goes on with what was persisted. Throws when the state cannot be read. Nothing else may be asked of the manager until
  /// this returns. Staged bytes of jobs that are not known are removed. Downloads that failed for a refusal
  /// are asked about at once.
  func restore() async throws {
    do {
      try database.makingRoom {
        try database.endOldFailures(now: steps.clock.now())
        try database.pruneDownloads(now: steps.clock.now())
      }
    } catch {
      log.warning("the history of downloads cannot be pruned", ["error": LogValue(error)])
    }
    savedPhaseTimes = try database.phaseTimes()
    phaseTimes = savedPhaseTimes
    let records = try database.liveDownloads()
    for record in records {
      if let digest = record.claimedDigest { claims[digest, default: []].insert(record.identifier) }
      runner.insert(record, context: DownloadActivity(), isSaved: true)
    }
    let known = try database.contentJobs()
    let live = known.filter { claims[$0.digest] != nil && $0.machine.isLive }
    try restoreLimits()
    try steps.library.look()
    await discard(discardLeftovers(except: Set(live.map(\.identifier))))
    for record in known where !live.contains(record) { removeRecord(of: record.identifier) }
    for record in live {
      jobs.insert(
        record, context: JobActivity(record, jobSteps.pacer, changes: readingChanges), isSaved: true)
      jobsByDigest[record.digest] = record.identifier
      processJob(.restored, of: record.identifier)
    }
    for record in records
    where !record.machine.state.isFinal || record.machine.isChecked || record.machine.isTriedAtStart {
      process(.restored, of: record.identifier)
      // Whether a refusal still stands is asked at every start.
      if record.machine.isChecked { runner.cancelRetry(of: record.identifier) }
      publish(record.identifier)
    }
    isRestored = true
    schedule()
  }

  /// Creates the downloads of a transaction that it does not have yet. Throws what the database throws, and
  /// then none is created.
  func add(
    _ products: [ProductIdentifier], for transaction: TransactionIdentifier, session: SessionName? = nil,
    ignored: [IgnoredCondition] = []
  ) throws {
    let records = try database.createDownloads(
      for: transaction, products: products, session: session, ignored: ignored, now: steps.clock.now())
    for record in records { begin(record) }
  }

  /// One more download for a product that is owned and not here, unless one is under way already. One that had failed goes on in
  /// its place. Returns the one that began; nil where one was under way. It belongs to the transaction that
  /// pays for it, also where that is over.
  ///
  /// - Parameters:
  ///   - section: the part of the content that it brings; nil for the content itself.
  ///   - ignored: the conditions that it passes, as does one that is under way; empty to leave those as they are.
  ///   - urgency: that of a download that begins.
  func addMissing(
    _ product: ProductIdentifier, section: SectionTag? = nil, for transaction: TransactionIdentifier,
    session: SessionName? = nil, ignored: [IgnoredCondition] = [], urgency: DownloadUrgency = .normal
  ) throws -> DownloadIdentifier? {
    let known = runner.entries.values.map(\.record).filter { $0.product == product && $0.section == section }
    let underWay = known.filter { !$0.machine.state.isFinal }
    guard underWay.isEmpty else {
      if !ignored.isEmpty { try noteIgnored(ignored, of: underWay.map(\.identifier), keepsOthers: true) }
      return nil
    }
    if let failed = known.last(where: { $0.transaction == transaction && $0.machine.state == .failed }) {
      if let session { _ = try change(AgentDownloadChange(session: session), of: failed.identifier) }
      if !ignored.isEmpty { try noteIgnored(ignored, of: [failed.identifier], keepsOthers: true) }
      _ = try request(.resumeRequested, of: failed.identifier)
      return failed.identifier
    }
    var record = try database.createDownload(
      for: transaction, product: product, section: section, session: session, ignored: ignored,
      now: steps.clock.now())
    if urgency != record.urgency {
      record.urgency = urgency
      try database.save(record)
    }
    begin(record)
    return record.identifier
  }

  /// Runs timers and publishes progress until the task is cancelled.
  func run() async {
    for network in networks { network.signalOpenings(to: runner.wakeUp) }
    while !Task.isCancelled {
      loop.turnBegan()
      handleDue()
      loop.turnEnded()
      await runner.wakeUp.wait(atMost: timeToNextTurn, clock: clock)
    }
  }

  /// Returns once the loop has been seen to turn: a sign of life for the watchdog.
  func pulse() async {
    let wakeUp = runner.wakeUp
    await loop.prove { wakeUp.signal() }
  }

  /// Stops every step; returns when what they verified is recorded. No step starts afterwards.
  func stop() async {
    changeEnvironment { $0.isDraining = true }
    for step in runner.stopSteps() + jobs.stopSteps() { await step.value }
    for opening in stagedOpenings.values { await opening.value }
    for identifier in jobs.entries.keys { saveProgress(of: identifier) }
    endCounting()
  }

  /// Takes a new download into memory, tells observers, and looks for a place.
  private func begin(_ record: DownloadRecord) {
    runner.insert(record, context: DownloadActivity(), isSaved: true)
    publish(record.identifier)
    schedule()
  }

  /// The gates that the calls of downloads pass. Those of the server and of the store.
  private var networks: [NetworkGate] { [steps.server.path.network, steps.store.network] }

  /// The way to a service is open again: what waited for that need not wait for its delay.
  private func cancelRetriesAfterOpening() {
    let now = networks.reduce(0) { $0 + $1.openings }
    guard now != openings else { return }
    openings = now
    cancelRetries(\.isOfTheWay)
  }

  /// Lets everything that waits for such a reason go on before its delay is over.
  func cancelRetries(_ isMeant: (StatusReason) -> Bool) {
    for (identifier, entry) in runner.entries where isMeant(entry.record.machine.reason) {
      runner.cancelRetry(of: identifier)
    }
    for (identifier, entry) in jobs.entries where isMeant(entry.record.machine.reason) {
      jobs.cancelRetry(of: identifier)
    }
  }

  /// One turn: retries whose time has come, old staging, and the progress of what transfers.
  private func handleDue() {
    let now = clock.now()
    let isSaveDue = nextSave <= now
    if isSaveDue { nextSave = now + Self.saveInterval }
    cancelRetriesAfterOpening()
    _ = runner.dequeueDueRetries()
    _ = jobs.dequeueDueRetries()
    discardOldStaging()
    lookAtLimits()
    endIdleReadings()
    for (identifier, entry) in jobs.entries where entry.record.machine.isTransferring {
      let progress = entry.context.progress
      jobs[identifier]?.context.estimator.record(
        received: progress.bytesReceived, verified: progress.bytesVerified, connections: progress.connections,
        at: now)
      if isSaveDue { saveProgress(of: identifier) }
      publishReaders(of: entry.record.digest)
    }
    schedule()
  }

  /// Whether bytes may be moving. The progress is told four times a second while it is so.
  var isTransferring: Bool { jobs.entries.values.contains { $0.record.machine.isTransferring } }

  /// Nil when nothing is to happen by itself.
  var timeToNextTurn: Duration? {
    let hasFailed = jobs.entries.values.contains { $0.record.failedAt != nil }
    return [
      isTransferring ? Self.tick : nil, hasFailed ? Self.cleaningInterval : nil, runner.timeToNextRetry,
      jobs.timeToNextRetry, timeToNextLimit, timeToNextIdleReading,
    ].compactMap { $0 }.min()
  }
}

/// The phases of a job as the manager reads them.
extension ContentJobMachine {
  /// Bytes may be moving.
  var isTransferring: Bool { state == .active && phase == .transfer }
  /// There is something to go on with.
  var isLive: Bool { state == .waiting || state == .active || state == .failed }
}
