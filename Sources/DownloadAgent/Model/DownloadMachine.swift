import PullboxAPI

/// The state machine of a download: decides, without any I/O, what follows a step's end, a user's request or
/// a delay.
///
/// The phase says which step of the chain grant, manifest, transfer, place, report comes next; it survives
/// everything. State and reason say what is happening about it. ``MachineRunner`` persists the new value
/// before an action is performed:
///
/// ```swift
/// var machine = DownloadMachine()
/// machine.handle(.started)                                // [.run(.grant)]
/// machine.handle(.granted(libraryHoldsContent: false))    // [.run(.manifest)]
/// machine.handle(.pauseRequested)                         // [.stop, .reschedule]
/// ```
struct DownloadMachine: StateMachine {
  typealias State = DownloadStatus.State

  /// In order; each needs what the one before has brought.
  enum Phase: String, CaseIterable, Hashable, Sendable {
    case grant
    case manifest
    case transfer
    case place
    case report
  }

  enum Event: Hashable, Sendable {
    /// The scheduler has a place for it.
    case started
    case granted(libraryHoldsContent: Bool)
    case manifestVerified
    case transferCompleted
    case placed
    /// The server has recorded the completion; the transaction's end is no longer this download's matter.
    case reportAccepted
    /// The running step ended without success. `madeProgress`: pieces were verified meanwhile.
    case stepFailed(StepFailure, madeProgress: Bool)
    case ticketRenewed
    case retryDue
    /// The library lost what had been placed before the server knew of it.
    case contentLost
    case pauseRequested
    case resumeRequested
    case cancelRequested
    /// The agent starts again with what was persisted.
    case restored
  }

  enum Action: Hashable, Sendable {
    /// Run the step of that phase and report how it ended.
    case run(Phase)
    case renewTicket
    /// End the running step; what it has verified stays.
    case stop
    /// Send ``Event/retryDue`` after the retry policy's delay for that many failures in a row.
    case scheduleRetry(failures: Int, notBefore: Duration?)
    /// Ask the scheduler: a place has become free, or another download wants one.
    case reschedule
    /// Remove what lies in the staging folder.
    case discardStaging
    /// Tell the transaction how its download ended, or that it is under way again.
    case notifyTransaction
    /// The request does not fit the state.
    case reject
  }

  /// Fresh tickets asked for in a row without a verified piece between them, at most.
  static let maximumRenewals = 3
  /// Failures in a row that speak against the server's bytes, without a verified piece between them, at most.
  static let maximumViolations = 8

  private(set) var phase: Phase
  private(set) var state: State
  private(set) var reason: StatusReason
  /// What the last failure of a step brought; gone when the step succeeds.
  private(set) var problem: Problem?
  /// Failures in a row.
  private(set) var failures: Int
  private(set) var renewals: Int

  /// A new download by default; otherwise what was persisted.
  init(
    phase: Phase = .grant, state: State = .waiting, reason: StatusReason = .queued,
    problem: Problem? = nil, failures: Int = 0, renewals: Int = 0
  ) {
    self.phase = phase
    self.state = state
    self.reason = reason
    self.problem = problem
    self.failures = failures
    self.renewals = renewals
  }

  /// Whether the scheduler may start it.
  var isReady: Bool { state == .waiting && reason == .queued }

  mutating func handle(_ event: Event) -> [Action] {
    switch event {
    case .pauseRequested, .resumeRequested, .cancelRequested: request(event)
    case .restored: restore()
    default:
      switch state {
      case .waiting: whileWaiting(event)
      case .active: whileActive(event)
      // A step that was stopped may still report; what it brought is found again when its phase runs next.
      case .paused, .finished, .failed, .cancelled: []
      }
    }
  }
}

extension DownloadMachine {
  static var saveFailed: Event? { .stepFailed(.retry(.storageFailure), madeProgress: false) }
  var retriesAfterFailedSave: Bool { state == .waiting }

  static func runnerAction(for action: Action) -> RunnerAction? {
    switch action {
    case .stop: .stopStep
    case .scheduleRetry(let failures, let notBefore):
      .scheduleRetry(failures: failures, notBefore: notBefore)
    case .run, .renewTicket, .reschedule, .discardStaging, .notifyTransaction, .reject: nil
    }
  }
}

extension DownloadMachine {
  private mutating func whileWaiting(_ event: Event) -> [Action] {
    switch event {
    case .started where isReady:
      transition(.active, Self.reason(while: phase))
      return [.run(phase)]
    case .retryDue where !isReady:
      transition(.waiting, .queued)
      return [.reschedule]
    default:
      return []
    }
  }

  private mutating func whileActive(_ event: Event) -> [Action] {
    switch (phase, event) {
    case (.grant, .granted(libraryHoldsContent: false)): return advance(to: .manifest)
    case (.grant, .granted(libraryHoldsContent: true)): return advance(to: .report)
    case (.manifest, .manifestVerified): return advance(to: .transfer)
    case (.transfer, .transferCompleted): return advance(to: .place)
    case (.place, .placed): return advance(to: .report)
    case (.place, .contentLost), (.report, .contentLost):
      // Nothing of it is left, so it comes anew; the grant may have changed meanwhile.
      phase = .grant
      transition(.waiting, .queued)
      return [.discardStaging, .reschedule]
    case (.report, .reportAccepted):
      transition(.finished, .placed)
      succeed()
      return [.discardStaging, .notifyTransaction, .reschedule]
    case (.manifest, .ticketRenewed), (.transfer, .ticketRenewed):
      transition(.active, Self.reason(while: phase))
      return [.run(phase)]
    case (_, .stepFailed(let failure, let madeProgress)):
      return handleFailure(failure, madeProgress: madeProgress)
    default:
      return []
    }
  }

  private mutating func handleFailure(_ failure: StepFailure, madeProgress: Bool) -> [Action] {
    if madeProgress { succeed() }
    problem = failure.problem
    switch failure.recovery {
    case .renewTicket:
      guard phase == .manifest || phase == .transfer, renewals < Self.maximumRenewals else {
        return fail(failure.reason)
      }
      renewals += 1
      transition(.active, .renewingTicket)
      return [.renewTicket]
    case .requestGrant:
      // Before there is a grant, or once what it was for is placed, a new one would not help.
      guard phase != .grant, phase != .report else { return fail(failure.reason) }
      failures += 1
      phase = .grant
      transition(.waiting, failure.reason)
      return [.scheduleRetry(failures: failures, notBefore: nil), .reschedule]
    case .retry(let notBefore):
      failures += 1
      if failure.reason == .protocolViolation, failures >= Self.maximumViolations {
        return fail(.integrity)
      }
      transition(.waiting, failure.reason)
      return [.scheduleRetry(failures: failures, notBefore: notBefore), .reschedule]
    case .giveUp:
      return fail(failure.reason)
    }
  }

  private mutating func request(_ event: Event) -> [Action] {
    switch (event, state) {
    case (.pauseRequested, .waiting), (.pauseRequested, .active):
      let wasActive = state == .active
      transition(.paused, .user)
      return wasActive ? [.stop, .reschedule] : [.reschedule]
    case (.pauseRequested, .paused): return []
    case (.resumeRequested, .paused), (.resumeRequested, .failed):
      transition(.waiting, .queued)
      succeed()
      return [.reschedule]
    case (.resumeRequested, .cancelled):
      transition(.waiting, .queued)
      succeed()
      phase = .grant
      return [.reschedule]
    case (.resumeRequested, .waiting):
      // An impatient user need not wait for the timer.
      transition(.waiting, .queued)
      return [.reschedule]
    case (.resumeRequested, .active): return []
    case (.cancelRequested, .waiting), (.cancelRequested, .active), (.cancelRequested, .paused),
      (.cancelRequested, .failed):
      // What is placed belongs to the library: removing it is another request.
      guard phase != .report else { return [.reject] }
      let wasActive = state == .active
      transition(.cancelled, .user)
      problem = nil
      return (wasActive ? [.stop] : []) + [.discardStaging, .notifyTransaction, .reschedule]
    case (.cancelRequested, .cancelled): return []
    default: return [.reject]
    }
  }

  private mutating func restore() -> [Action] {
    guard state == .waiting || state == .active else { return [] }
    transition(.waiting, .queued)
    failures = 0
    renewals = 0
    return [.reschedule]
  }

  private mutating func advance(to phase: Phase) -> [Action] {
    self.phase = phase
    succeed()
    transition(.active, Self.reason(while: phase))
    return [.run(phase)]
  }

  private mutating func fail(_ reason: StatusReason) -> [Action] {
    transition(.failed, reason)
    return [.notifyTransaction, .reschedule]
  }

  private mutating func succeed() {
    failures = 0
    renewals = 0
    problem = nil
  }

  private mutating func transition(_ state: State, _ reason: StatusReason) {
    self.state = state
    self.reason = reason
  }

  private static func reason(while phase: Phase) -> StatusReason {
    switch phase {
    case .grant: .requestingGrant
    case .manifest: .fetchingManifest
    case .transfer: .transferring
    case .place: .placing
    case .report: .reporting
    }
  }
}
