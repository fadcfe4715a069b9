package import CoreTypes
import PullboxAPI

/// The state machine of a content job: decides, without any I/O, how the content of one digest comes to this
/// device, for every download that waits for it.
///
/// The phase says which step of the chain manifest, transfer, place comes next; it survives everything.
/// ``MachineRunner`` persists the new value before an action is performed:
///
/// ```swift
/// var machine = ContentJobMachine()
/// machine.handle(.started)             // [.run(.manifest)]
/// machine.handle(.manifestVerified)    // [.run(.transfer)]
/// machine.handle(.held(.noReader))     // [.stop, .reschedule]: the last download that wanted it was paused
/// machine.handle(.released(.noReader)) // [.reschedule]
/// ```
package struct ContentJobMachine: StateMachine {
  /// In order; each needs what the one before has brought.
  package enum Phase: String, CaseIterable, Hashable, Sendable {
    case manifest
    case transfer
    case place
  }

  /// `waiting` stands for a delay, for a place that is not free, and for a hold.
  package enum State: String, CaseIterable, Hashable, Sendable {
    case waiting
    /// A step runs, or a ticket is renewed.
    case active
    /// Its downloads failed with it; fresh terms bring it back.
    case failed
    /// The content is in the library.
    case finished
    /// No download claims it any more.
    case abandoned
  }

  package enum Event: Hashable, Sendable {
    /// The scheduler has a place for it.
    case started
    /// The manifest is that of the terms, and is kept.
    case manifestVerified
    /// Every piece is verified and staged.
    case transferCompleted
    /// The content is in the library, with its record.
    case placed
    /// Verified bytes are gone from the disk: so many bytes of a package of that length have to be fetched again.
    case contentLost(ByteCount, of: ByteCount)
    /// The running step ended without success. `length` is the package's.
    case stepFailed(StepFailure, StepEffort, length: ByteCount)
    /// It could not be persisted that the step began or ended.
    case saveFailed(StepFailure)
    /// The record's terms hold the fresh ticket.
    case ticketRenewed
    /// A download brought terms from a new grant.
    case termsRenewed(isSameManifest: Bool)
    /// A user does not want to wait for the delay.
    case retryRequested
    /// The condition stands in its way: a running step is stopped, and loses nothing.
    case held(HoldCondition)
    case released(HoldCondition)
    /// The last download that claimed it is over.
    case abandoned
    /// The agent starts again with what was persisted.
    case restored
  }

  package enum Action: Hashable, Sendable {
    /// Run the step of that phase and report how it ended.
    case run(Phase)
    case renewTicket
    /// End the running step; what it has verified stays.
    case stop
    /// Start again after the retry policy's delay for that many failures in a row.
    case scheduleRetry(failures: Int, notBefore: Duration?)
    /// Ask the scheduler: a place has become free, or another job wants one.
    case reschedule
    /// The downloads that wait for it are to ask for their grants again.
    case requestTerms(StepFailure, madeProgress: Bool)
    /// Tell the downloads that the job finished or failed.
    case notifyDownloads
    /// Remove what lies in the staging folder, and the job with it.
    case discard
  }

  /// Fresh tickets asked for in a row without a verified piece between them, at most.
  static let maximumRenewals = 3

  package private(set) var phase: Phase
  package private(set) var state: State
  package private(set) var reason: StatusReason
  package private(set) var history: FailureHistory
  /// Tickets asked for in a row without a verified piece between them.
  private(set) var renewals: Int
  private(set) var budget: ContentJobBudget
  /// The conditions that hold it now; not persisted.
  package private(set) var holds: Set<HoldCondition> = []

  /// A new job by default; otherwise what was persisted.
  package init(
    phase: Phase = .manifest, state: State = .waiting, reason: StatusReason = .queued,
    history: FailureHistory = FailureHistory(), renewals: Int = 0,
    budget: ContentJobBudget = ContentJobBudget()
  ) {
    self.phase = phase
    self.state = state
    self.reason = reason
    self.history = history
    self.renewals = renewals
    self.budget = budget
  }

  /// Whether the scheduler may start it, once the delay of a retry is over.
  package var isReady: Bool { state == .waiting && holds.isEmpty }

  /// Also after its release could not be saved, which leaves another reason.
  package var waitsForRoom: Bool {
    state == .waiting && (holds.contains(.noRoom) || reason == .insufficientSpace)
  }

  /// A service has asked for the delay that it waits for.
  private var isWaitingAsAsked: Bool { state == .waiting && reason.isWishOfService }

  /// The reason that people are shown: of a waiting job, the condition that holds it, or else why the last try ended.
  var shownReason: StatusReason {
    guard state == .waiting else { return reason }
    return HoldCondition.allCases.lazy.filter(holds.contains).compactMap(\.reason).first ?? reason
  }

  /// An event that does not fit the state changes nothing and asks for nothing. Holds, fresh terms, the last
  /// reader's end and a restart count in every state.
  package mutating func handle(_ event: Event) -> [Action] {
    switch event {
    case .held(let condition): hold(condition)
    case .released(let condition): release(condition)
    case .termsRenewed(let isSameManifest): renewTerms(isSameManifest: isSameManifest)
    case .abandoned: abandon()
    case .restored: restore()
    default:
      switch state {
      case .waiting: whileWaiting(event)
      case .active: whileActive(event)
      // A step that was stopped may still report; what it brought is found again when its phase runs next.
      case .failed, .finished, .abandoned: []
      }
    }
  }
}

extension ContentJobMachine {
  package static func saveFailed(_ error: StepFailure, during event: Event) -> Event? {
    .saveFailed(error)
  }

  package var retriesAfterFailedSave: Bool { false }

  package static func isTransient(_ event: Event) -> Bool {
    switch event {
    case .held, .released, .restored: true
    default: false
    }
  }

  package func leavesRetry(_ event: Event) -> Bool {
    // A download that joins, anew or after a pause, is no way around what a service has asked for.
    if case .termsRenewed = event { return isWaitingAsAsked }
    return Self.isTransient(event)
  }

  package static func runnerAction(for action: Action) -> RunnerAction? {
    switch action {
    case .stop: .stopStep
    case .scheduleRetry(let failures, let notBefore):
      .scheduleRetry(failures: failures, notBefore: notBefore)
    case .run, .renewTicket, .reschedule, .requestTerms, .notifyDownloads, .discard: nil
    }
  }
}

extension ContentJobMachine {
  /// A user shortens no delay that a service has asked for.
  private mutating func whileWaiting(_ event: Event) -> [Action] {
    switch event {
    case .started where isReady:
      transition(.active, Self.reason(while: phase))
      return [.run(phase)]
    case .retryRequested where !reason.isWishOfService:
      holds.remove(.noRoom)
      transition(.waiting, .queued)
      return [.reschedule]
    case .saveFailed(let failure):
      return retry(after: failure, notBefore: nil)
    default:
      return []
    }
  }

  private mutating func whileActive(_ event: Event) -> [Action] {
    switch (phase, event) {
    case (.manifest, .manifestVerified): return advance(to: .transfer)
    case (.transfer, .transferCompleted):
      succeed()
      return advance(to: .place)
    case (_, .placed):
      succeed()
      history.forgetLosses()
      transition(.finished, .placed)
      return [.notifyDownloads, .reschedule]
    case (.place, .contentLost(let bytes, let length)):
      return retryAfterLoss(of: bytes, length: length)
    case (_, .contentLost):
      // The manifest alone is gone; what was staged is read again.
      phase = .manifest
      return retry(
        after: .retry(.storageFailure, cause: "the manifest that was kept is gone"), notBefore: nil)
    case (_, .ticketRenewed):
      transition(.active, Self.reason(while: phase))
      return [.run(phase)]
    case (_, .saveFailed(let failure)):
      return retry(after: failure, notBefore: nil)
    case (_, .stepFailed(let failure, let effort, let length)):
      return handleFailure(failure, effort, length: length)
    default:
      return []
    }
  }

  /// Progress ends the row of failures first. Then the budget decides whether the job gives up, and last the
  /// failure's own recovery.
  private mutating func handleFailure(
    _ failure: StepFailure, _ effort: StepEffort, length: ByteCount
  ) -> [Action] {
    let madeProgress = effort.verified > .zero
    if madeProgress { succeed() }
    if let reason = budget.count(failure, effort, length: length) {
      // No service has refused anything: only a user tries again.
      return fail(.permanent(reason, cause: failure.cause))
    }
    history.note(failure)
    switch failure.recovery {
    case .renewTicket:
      guard phase != .place, renewals < Self.maximumRenewals else { return fail(failure) }
      renewals += 1
      transition(.active, .renewingTicket)
      return [.renewTicket]
    case .requestGrant:
      return requestTerms(failure, madeProgress: madeProgress)
    // What replaces a withdrawn version is in the grant that is asked for now.
    case .giveUp where failure.problem?.code == .contentWithdrawn:
      return requestTerms(failure, madeProgress: madeProgress)
    case .retry(let notBefore):
      return retry(after: failure, notBefore: notBefore)
    case .awaitRoom:
      history.countRetry(after: failure)
      holds.insert(.noRoom)
      transition(.waiting, failure.reason)
      return [.reschedule]
    case .giveUp:
      return fail(failure)
    }
  }

  /// The job waits for the terms of another grant; its phase stays.
  private mutating func requestTerms(_ failure: StepFailure, madeProgress: Bool) -> [Action] {
    transition(.waiting, failure.reason)
    return [.requestTerms(failure, madeProgress: madeProgress), .reschedule]
  }

  /// A step that runs is stopped, but for placing.
  private mutating func hold(_ condition: HoldCondition) -> [Action] {
    guard holds.insert(condition).inserted, state == .active, phase != .place else { return [] }
    // Placing is short, and its end is a rename: it is not stopped between the two.
    transition(.waiting, .queued)
    return [.stop, .reschedule]
  }

  private mutating func release(_ condition: HoldCondition) -> [Action] {
    guard holds.remove(condition) != nil, isReady else { return [] }
    return [.reschedule]
  }

  /// Terms of another manifest begin with the manifest again. A job that had failed starts with a clean
  /// history, and one that was abandoned anew. A finished one stays as it is.
  private mutating func renewTerms(isSameManifest: Bool) -> [Action] {
    switch state {
    case .waiting, .failed:
      if !isSameManifest { phase = .manifest }
      if state == .failed {
        succeed()
        history.forgetLosses()
        budget = ContentJobBudget()
      }
      renewals = 0
      holds.remove(.noRoom)
      transition(.waiting, isWaitingAsAsked ? reason : .queued)
      return [.reschedule]
    case .active where !isSameManifest:
      phase = .manifest
      transition(.waiting, .queued)
      return [.stop, .reschedule]
    case .active, .finished:
      return []
    case .abandoned:
      let holds = holds
      self = ContentJobMachine()
      self.holds = holds
      return [.reschedule]
    }
  }

  /// A finished job has nothing to discard.
  private mutating func abandon() -> [Action] {
    guard state != .abandoned, state != .finished else { return [] }
    let wasActive = state == .active
    transition(.abandoned, .user)
    return (wasActive ? [.stop] : []) + [.discard, .reschedule]
  }

  /// A step that ran begins again; holds are told anew.
  private mutating func restore() -> [Action] {
    if state == .active { transition(.waiting, .queued) }
    return state == .waiting ? [.reschedule] : []
  }

  private mutating func advance(to phase: Phase) -> [Action] {
    self.phase = phase
    history.forgetCause()
    transition(.active, Self.reason(while: phase))
    return [.run(phase)]
  }

  private mutating func retry(after failure: StepFailure, notBefore: Duration?) -> [Action] {
    history.countRetry(after: failure)
    transition(.waiting, failure.reason)
    return [.scheduleRetry(failures: history.failures, notBefore: notBefore), .reschedule]
  }

  /// Bytes that a disk keeps losing are fetched ever later, and not for ever: they came in vain.
  private mutating func retryAfterLoss(of bytes: ByteCount, length: ByteCount) -> [Action] {
    let failure = StepFailure.retry(.storageFailure, cause: "what was written is not on the disk any more")
    phase = .manifest
    history.countLoss(failure)
    let verdict = budget.countLoss(of: bytes, length: length)
    if let reason = history.isHopeless ? .wasteful : verdict {
      return fail(.permanent(reason, cause: failure.cause))
    }
    transition(.waiting, failure.reason)
    return [.scheduleRetry(failures: history.failures, notBefore: nil), .reschedule]
  }

  /// Its staged bytes stay for a while; fresh terms bring it back.
  private mutating func fail(_ failure: StepFailure) -> [Action] {
    history.note(failure)
    transition(.failed, failure.reason)
    return [.notifyDownloads, .reschedule]
  }

  /// The next failure is the first, and tickets may be renewed again.
  private mutating func succeed() {
    history.forgetFailures()
    renewals = 0
  }

  private mutating func transition(_ state: State, _ reason: StatusReason) {
    self.state = state
    self.reason = reason
  }

  private static func reason(while phase: Phase) -> StatusReason {
    switch phase {
    case .manifest: .fetchingManifest
    case .transfer: .transferring
    case .place: .placing
    }
  }
}
