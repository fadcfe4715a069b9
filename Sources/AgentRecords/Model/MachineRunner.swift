package import CoreTypes
package import ServiceRuntime

/// A state machine that a ``MachineRunner`` runs: a pure value that answers an event with the actions it asks
/// for.
package protocol StateMachine: Hashable, Sendable {
  associatedtype Event: Sendable
  associatedtype Action: Sendable

  /// Returns the event that the machine is given when the state after `event` could not be persisted; nil leaves the
  /// machine where it was.
  static func saveFailed(_ error: StepFailure, during event: Event) -> Event?
  /// Whether a timer has to come back to the machine after a transition that could not be persisted.
  var retriesAfterFailedSave: Bool { get }

  /// Whether what `event` changes is of this process alone, so that it counts though it could not be persisted.
  static func isTransient(_ event: Event) -> Bool

  /// Whether a retry that waits goes on waiting, though `event` has changed the machine.
  func leavesRetry(_ event: Event) -> Bool

  /// Pure: the same event in the same state gives the same actions. It never traps.
  mutating func handle(_ event: Event) -> [Action]

  /// Returns the runner's action in place of `action`; nil if the owner performs `action`.
  static func runnerAction(for action: Action) -> RunnerAction?
}

extension StateMachine {
  package static func isTransient(_ event: Event) -> Bool { false }
  package func leavesRetry(_ event: Event) -> Bool { false }
}

/// The actions that every machine has in common.
package enum RunnerAction: Hashable, Sendable {
  /// Come back after the retry policy's delay for that many failures in a row, not before `notBefore` has
  /// passed.
  case scheduleRetry(failures: Int, notBefore: Duration?)
  /// Come back after the retry policy's pause for that many refusals in a row.
  case scheduleCheck(refusals: Int)
  /// Cancel the running step.
  case stopStep
}

/// The persisted state of one machine.
package protocol MachineRecord: Hashable, Sendable {
  associatedtype Identifier: Hashable, Sendable
  associatedtype Machine: StateMachine

  var identifier: Identifier { get }
  var machine: Machine { get set }
  /// Until when a retry waits; kept for the next start, and for people.
  var notBefore: Timestamp? { get set }
}

extension MachineRecord {
  /// Nil for a record whose machine starts anew in the next process; writing it has no effect.
  var notBefore: Timestamp? {
    get { nil }
    set {}
  }
}

/// Runs the state machines of many records, each transition in the same order: the machine decides, the new
/// record is persisted, then actions are performed. A transition that cannot be persisted has not happened, unless the event is
/// of this process alone: a job that could not be held would be held again and again.
///
/// The runner belongs to one actor and does no I/O but what `save` does. It keeps the records, each with the
/// owner's `Context`, the delayed retries on the injected clock, and the step that runs for each record.
/// Retries and the end of a step are performed here; every other action is handed back to the owner, which
/// performs it after ``process(_:of:change:)`` has returned:
///
/// ```swift
/// guard let transition = runner.process(.retryDue, of: identifier) else { return }
/// for action in transition.actions { perform(action, on: identifier) }
/// ```
package struct MachineRunner<Record: MachineRecord, Context: Sendable>: Sendable {
  package typealias Identifier = Record.Identifier
  package typealias Machine = Record.Machine

  /// One record in memory, with what its owner and its step need.
  package struct Entry: Sendable {
    /// A record is long. It stands beside the table, whose free rows, half of them at worst, would be as long.
    private final class Storage: Sendable {
      let record: Record
      init(_ record: Record) { self.record = record }
    }

    private var storage: Storage
    /// The owner's data about the record, in this process.
    package var context: Context
    /// The step that runs, or that was stopped and is not over.
    package fileprivate(set) var step: Task<Void, Never>?
    /// When the delay of a retry is over.
    package fileprivate(set) var retryAt: MonotonicInstant?
    /// The record is on disk as it is here.
    package fileprivate(set) var isSaved: Bool

    fileprivate init(record: Record, context: Context, retryAt: MonotonicInstant?, isSaved: Bool) {
      storage = Storage(record)
      self.context = context
      self.retryAt = retryAt
      self.isSaved = isSaved
    }

    package fileprivate(set) var record: Record {
      get { storage.record }
      set { storage = Storage(newValue) }
    }
  }

  /// The result of one event.
  package struct Transition {
    package let before: Record
    package let after: Record
    /// For the owner, in the machine's order.
    package let actions: [Machine.Action]
    /// Whether there was anything to persist.
    package let hasChanged: Bool
    /// Why the transition was not persisted; `after` and `actions` are then what the machine made of that, or what a transient
    /// event led to all the same.
    package let saveError: (any Error)?
  }

  /// Until a transition that could not be persisted is tried again.
  package static var saveRetryDelay: Duration { .seconds(5) }

  package private(set) var entries: [Identifier: Entry] = [:]
  /// Set by ``stopSteps()``: from then on no step starts.
  package private(set) var isStopping = false
  /// Signaled when a retry was scheduled: the owner's loop waits on it for ``timeToNextRetry`` at most.
  package let wakeUp: AsyncSignal

  private let clock: any MonotonicClock
  private let wallClock: any WallClock
  private let retryPolicy: RetryPolicy
  private var generator: any RandomNumberGenerator & Sendable
  private let save: @Sendable (Record) throws -> Void

  /// `save` blocks until the record is durable. `generator` is where the jitter of retries comes from.
  package init(
    retryPolicy: RetryPolicy, clock: any MonotonicClock, wallClock: any WallClock = SystemWallClock(),
    wakeUp: AsyncSignal,
    generator: any RandomNumberGenerator & Sendable = SystemRandomNumberGenerator(),
    save: @escaping @Sendable (Record) throws -> Void
  ) {
    self.retryPolicy = retryPolicy
    self.clock = clock
    self.wallClock = wallClock
    self.wakeUp = wakeUp
    self.generator = generator
    self.save = save
  }

  /// Nil for a record that was never inserted.
  package subscript(identifier: Identifier) -> Entry? {
    get { entries[identifier] }
    set { entries[identifier] = newValue }
  }

  /// Takes a record in; one that is not on disk yet is persisted with its first event. A delay that an
  /// earlier process began is waited for to its end.
  package mutating func insert(_ record: Record, context: Context, isSaved: Bool) {
    let delay = record.notBefore.map { min($0 - wallClock.now(), retryPolicy.longestRequestedDelay) }
    let retryAt = delay.flatMap { $0 > .zero ? clock.now() + $0 : nil }
    entries[record.identifier] = Entry(record: record, context: context, retryAt: retryAt, isSaved: isSaved)
  }

  /// Forgets a record; its step must be over.
  package mutating func remove(_ identifier: Identifier) {
    entries[identifier] = nil
  }

  /// One transition: the machine, then `change` to the rest of the record, then the disk, then the runner's
  /// own actions. A machine that changed has no retry pending but one that this event schedules. Nil when
  /// there is no such record.
  package mutating func process(
    _ event: Machine.Event, of identifier: Identifier, change: (inout Record) -> Void = { _ in }
  ) -> Transition? {
    guard let entry = entries[identifier] else { return nil }
    var record = entry.record
    let actions = record.machine.handle(event)
    change(&record)
    let delay = setDelay(of: &record, comingFrom: entry.record, by: event, actions)
    let hasChanged = !entry.isSaved || record != entry.record
    var saveError: (any Error)?
    do {
      if hasChanged { try save(record) }
    } catch {
      guard Machine.isTransient(event) else {
        return handleFailedSave(of: entry.record, during: event, error)
      }
      saveError = error
    }
    entries[identifier]?.record = record
    entries[identifier]?.isSaved = saveError == nil
    if record.machine != entry.record.machine, !entry.record.machine.leavesRetry(event) {
      entries[identifier]?.retryAt = nil
    }
    return Transition(
      before: entry.record, after: record, actions: perform(actions, on: identifier, delay),
      hasChanged: hasChanged, saveError: saveError)
  }

  /// The delay of the retry that `actions` ask for, noted in `record`.
  private mutating func setDelay(
    of record: inout Record, comingFrom before: Record, by event: Machine.Event, _ actions: [Machine.Action]
  ) -> Duration? {
    for action in actions {
      let delay: Duration
      switch Machine.runnerAction(for: action) {
      case .scheduleRetry(let failures, let notBefore):
        delay = retryPolicy.delay(failures: failures, notBefore: notBefore, using: &generator)
      case .scheduleCheck(let refusals):
        delay = retryPolicy.checks.delay(afterFailures: max(refusals, 1), using: &generator)
      case .stopStep, nil: continue
      }
      record.notBefore = wallClock.now() + delay
      return delay
    }
    if record.machine != before.machine, !before.machine.leavesRetry(event) { record.notBefore = nil }
    return nil
  }

  /// Changes a record beside its machine; throws, and leaves it as it was, when it cannot be persisted.
  package mutating func update(_ identifier: Identifier, _ change: (inout Record) -> Void) throws {
    guard let entry = entries[identifier] else { return }
    var record = entry.record
    change(&record)
    guard !entry.isSaved || record != entry.record else { return }
    try save(record)
    entries[identifier]?.record = record
    entries[identifier]?.isSaved = true
  }

  /// The machine gets the event of the failure instead. That state is not persisted either, so that the
  /// record counts as unsaved.
  private mutating func handleFailedSave(
    of before: Record, during event: Machine.Event, _ error: any Error
  ) -> Transition {
    let identifier = before.identifier
    var after = before
    let failure = StepFailure(savingFailedWith: error)
    let actions = Machine.saveFailed(failure, during: event).map { after.machine.handle($0) } ?? []
    let delay = setDelay(of: &after, comingFrom: before, by: event, actions)
    entries[identifier]?.record = after
    if after != before { entries[identifier]?.isSaved = false }
    let remaining = perform(actions, on: identifier, delay)
    if after.machine.retriesAfterFailedSave { scheduleRetry(of: identifier, after: Self.saveRetryDelay) }
    return Transition(before: before, after: after, actions: remaining, hasChanged: true, saveError: error)
  }

  /// Performs the runner's own actions, and answers the others in their order.
  private mutating func perform(
    _ actions: [Machine.Action], on identifier: Identifier, _ delay: Duration?
  ) -> [Machine.Action] {
    var remaining: [Machine.Action] = []
    for action in actions {
      switch Machine.runnerAction(for: action) {
      case .scheduleRetry, .scheduleCheck: if let delay { scheduleRetry(of: identifier, after: delay) }
      case .stopStep: entries[identifier]?.step?.cancel()
      case nil: remaining.append(action)
      }
    }
    return remaining
  }
}

// Delayed retries.
extension MachineRunner {
  /// Replaces a retry that was scheduled earlier.
  package mutating func scheduleRetry(of identifier: Identifier, after delay: Duration) {
    let due = clock.now() + delay
    entries[identifier]?.retryAt = due
    wakeUp.signal()
  }

  /// The records whose retry is due, the longest due first; each is named once.
  package mutating func dequeueDueRetries() -> [Identifier] {
    let now = clock.now()
    let due = entries.compactMap { identifier, entry in
      entry.retryAt.flatMap { $0 <= now ? (identifier: identifier, at: $0) : nil }
    }
    for retry in due { entries[retry.identifier]?.retryAt = nil }
    return due.sorted { $0.at < $1.at }.map(\.identifier)
  }

  /// Whether no retry of the record is still to wait.
  package func isDue(_ identifier: Identifier) -> Bool {
    entries[identifier]?.retryAt.map { $0 <= clock.now() } ?? true
  }

  /// The record need not wait any more.
  package mutating func cancelRetry(of identifier: Identifier) {
    entries[identifier]?.retryAt = nil
  }

  /// Zero when one is due; nil when none is scheduled.
  package var timeToNextRetry: Duration? {
    guard let next = entries.values.compactMap(\.retryAt).min() else { return nil }
    return max(.zero, next - clock.now())
  }
}

// Steps.
extension MachineRunner {
  /// Runs `body` as the record's step. A step outlives the call that starts it: it is kept here until
  /// ``endStep(of:)``, which `body` brings about at its end, and ``stopSteps()`` cancels it. A record has one
  /// step at a time. Does nothing for a record that is gone, and after ``stopSteps()``.
  package mutating func startStep(of identifier: Identifier, _ body: @escaping @Sendable () async -> Void) {
    guard !isStopping, let entry = entries[identifier] else { return }
    precondition(entry.step == nil, "a record has one step at a time")
    let step = Task { await body() }
    entries[identifier]?.step = step
  }

  /// The record's step is over.
  package mutating func endStep(of identifier: Identifier) {
    entries[identifier]?.step = nil
  }

  /// Cancels every step, and lets none start any more; the caller awaits what is returned.
  package mutating func stopSteps() -> [Task<Void, Never>] {
    isStopping = true
    let running = entries.values.compactMap(\.step)
    for step in running { step.cancel() }
    return running
  }
}

/// How long to wait before a step is tried again: a backoff, so that devices that lost the same server do not
/// come back together, and what the other side asked for, up to a bound, plus a random part of it.
package struct RetryPolicy: Hashable, Sendable {
  package var backoff = Backoff(initial: .seconds(1), factor: 2, cap: .seconds(60), jitter: 0.5)
  /// The pauses between two questions whether a refusal still stands.
  var checks = Backoff(initial: .seconds(60), factor: 2, cap: .seconds(3600), jitter: 0.25)
  /// The longest `Retry-After` that is honored.
  package var longestRequestedDelay: Duration = .seconds(RetryAfter.obeyedRange.upperBound)
  /// The largest part of a requested delay, and of a second, that is added to it at random: a service that told many
  /// devices the same time does not see them all at that time.
  var requestedJitter = 0.25

  package init(
    backoff: Backoff = Backoff(initial: .seconds(1), factor: 2, cap: .seconds(60), jitter: 0.5),
    checks: Backoff = Backoff(initial: .seconds(60), factor: 2, cap: .seconds(3600), jitter: 0.25),
    longestRequestedDelay: Duration = .seconds(RetryAfter.obeyedRange.upperBound),
    requestedJitter: Double = 0.25
  ) {
    self.backoff = backoff
    self.checks = checks
    self.longestRequestedDelay = longestRequestedDelay
    self.requestedJitter = requestedJitter
  }

  /// `failures` counts those in a row, this one included; fewer than 1 count as 1. The requested delay is a
  /// lower bound: chance only adds to it.
  package func delay(
    failures: Int, notBefore: Duration?, using generator: inout some RandomNumberGenerator
  ) -> Duration {
    let delay = backoff.delay(afterFailures: max(failures, 1), using: &generator)
    guard let notBefore else { return delay }
    let requested = min(notBefore, longestRequestedDelay)
    let chance = Double.random(in: 0...1, using: &generator)
    return max(delay, requested + (requested + .seconds(1)) * (requestedJitter * chance))
  }
}
