package import PullboxAPI

/// The state machine of a download: decides, without any I/O, what follows a step's end, a user's request or
/// the end of its content job.
///
/// The phase says which step of the chain grant, content, report comes next; it survives everything. State
/// and reason say what is happening about it. ``MachineRunner`` persists the new value before an action is
/// performed:
///
/// ```swift
/// var machine = DownloadMachine()
/// machine.handle(.started)           // [.run(.grant)]
/// machine.handle(.granted)           // [.run(.content)]: looks whether the library has it
/// machine.handle(.contentMissing)    // [.joinJob, .reschedule], and it waits for the job
/// machine.handle(.contentReady)      // [.run(.content)]
/// machine.handle(.contentHeld)       // [.run(.report)]
/// ```
package struct DownloadMachine: StateMachine {
  package typealias State = DownloadStatus.State

  /// In order; each needs what the one before has brought.
  package enum Phase: String, CaseIterable, Hashable, Sendable {
    case grant
    /// Its content is in the library, or a ``ContentJobMachine`` brings it there.
    case content
    case report
  }

  package enum Event: Hashable, Sendable {
    /// The scheduler has a place for it.
    case started
    case granted
    /// The library has the content.
    case contentHeld
    /// The library does not have the content.
    case contentMissing
    /// The job that it waits for has ended well.
    case contentReady
    /// The job that it waits for has ended well, for another manifest of the same content: what it placed is
    /// not this download's yet.
    case relatedContentReady
    /// The job that it waits for has failed.
    case contentFailed(StepFailure)
    /// It cannot be told what its job is to bring, so that none begins for it.
    case joinFailed(StepFailure)
    /// The job that it waits for needs another grant.
    case termsNeeded(StepFailure, madeProgress: Bool)
    /// The server has recorded the completion; the transaction's end is no longer this download's matter.
    case reportAccepted
    /// The running step ended without success.
    case stepFailed(StepFailure)
    /// The library lost what had been placed before the server knew of it.
    case contentLost
    case pauseRequested
    case resumeRequested
    case cancelRequested
    /// The user removed from the library what it had placed, before the server knew of it.
    case contentRemoved
    /// The agent starts again with what was persisted.
    case restored
  }

  package enum Action: Hashable, Sendable {
    /// Run the step of that phase and report how it ended.
    case run(Phase)
    /// End the running step.
    case stop
    /// Start again after the retry policy's delay for that many failures in a row.
    case scheduleRetry(failures: Int, notBefore: Duration?)
    /// Ask for the grant again after the retry policy's pause for that many refusals in a row.
    case scheduleCheck(refusals: Int)
    /// Ask the scheduler: a place has become free, or another download wants one.
    case reschedule
    /// Wait for the job of the content's digest, which begins if there is none.
    case joinJob
    /// The job is not to wait for its delay.
    case hurryJob
    /// Tell the transaction how its download ended, or that it is under way again.
    case notifyTransaction
    /// The request does not fit the state.
    case reject
  }

  package private(set) var phase: Phase
  package private(set) var state: State
  package private(set) var reason: StatusReason
  /// A loss here is content that was placed and was not there, or not right, when it was looked at.
  package private(set) var history: FailureHistory
  /// Its content job goes on in its place; not persisted, since it looks again after a restart.
  package private(set) var awaitsJob = false
  /// The grant is asked for, though it has failed; not persisted.
  package private(set) var isChecking = false
  /// Refusals in a row; not persisted.
  private(set) var refusals = 0
  /// The content was fetched for this download alone, since the server wanted it so; not persisted.
  package private(set) var hasFetchedEverything = false
  /// Its job has just placed the content, so that the library must have it; not persisted.
  private(set) var expectsContent = false

  /// A new download by default; otherwise what was persisted.
  package init(
    phase: Phase = .grant, state: State = .waiting, reason: StatusReason = .queued,
    history: FailureHistory = FailureHistory()
  ) {
    self.phase = phase
    self.state = state
    self.reason = reason
    self.history = history
  }

  /// Whether the scheduler may start it, once the delay of a retry is over.
  package var isReady: Bool { (state == .waiting && !awaitsJob) || (isChecked && !isChecking) }

  /// A service's refusal may be taken back, so that the grant is asked for again, in growing pauses. What
  /// this device has judged itself has another reason than its problem's, and is not asked about.
  package var isChecked: Bool { state == .failed && history.problem.map(StepFailure.reason(of:)) == reason }

  /// Which publishers' keys count may have changed since, here or at the server: every start tries it again.
  package var isTriedAtStart: Bool { state == .failed && reason == .publisherSignature }

  /// An event that does not fit the state changes nothing and asks for nothing. Users' requests, a removal of
  /// the content and a restart count in every state.
  package mutating func handle(_ event: Event) -> [Action] {
    switch event {
    case .pauseRequested, .resumeRequested, .cancelRequested: request(event)
    case .contentRemoved: cancelWithoutContent()
    case .restored: restore()
    default:
      switch state {
      case .waiting: whileWaiting(event)
      case .active: whileActive(event)
      case .failed: whileFailed(event)
      // A step that was stopped may still report; what it brought is found again when its phase runs next.
      case .paused, .finished, .cancelled: []
      }
    }
  }
}

extension DownloadMachine {
  package static func saveFailed(_ error: StepFailure, during event: Event) -> Event? {
    switch event {
    // The user is told, and nothing else has happened.
    case .pauseRequested, .resumeRequested, .cancelRequested, .contentRemoved: nil
    default: .stepFailed(error)
    }
  }

  package var retriesAfterFailedSave: Bool { false }

  package func leavesRetry(_ event: Event) -> Bool {
    switch event {
    case .restored: true
    // Pausing and resuming is no way around what a service has asked for.
    case .pauseRequested: reason.isWishOfService
    case .resumeRequested: state == .paused || reason.isWishOfService
    default: false
    }
  }

  package static func runnerAction(for action: Action) -> RunnerAction? {
    switch action {
    case .stop: .stopStep
    case .scheduleRetry(let failures, let notBefore):
      .scheduleRetry(failures: failures, notBefore: notBefore)
    case .scheduleCheck(let refusals): .scheduleCheck(refusals: refusals)
    case .run, .reschedule, .joinJob, .hurryJob, .notifyTransaction, .reject: nil
    }
  }
}

extension DownloadMachine {
  private mutating func whileWaiting(_ event: Event) -> [Action] {
    switch event {
    case .started where isReady:
      transition(.active, Self.reason(while: phase))
      return [.run(phase)]
    case .contentReady where awaitsJob:
      let actions = advance(to: .content, .placing)
      expectsContent = true
      return actions
    case .relatedContentReady where awaitsJob:
      return advance(to: .content, .placing)
    case .contentFailed(let failure) where awaitsJob:
      return fail(failure)
    case .joinFailed(let failure) where awaitsJob:
      // Nothing was fetched for it alone: a report that is refused again asks for that again.
      hasFetchedEverything = false
      return retry(after: failure, notBefore: nil)
    case .termsNeeded(let failure, let madeProgress) where awaitsJob:
      if madeProgress { succeed() }
      phase = .grant
      return retry(after: failure, notBefore: nil)
    case .stepFailed(let failure):
      // It could not be persisted that it was started.
      return retry(after: failure, notBefore: nil)
    default:
      return []
    }
  }

  private mutating func whileActive(_ event: Event) -> [Action] {
    switch (phase, event) {
    case (.grant, .granted): return advance(to: .content)
    case (.content, .contentHeld):
      succeed()
      return advance(to: .report)
    case (.content, .contentMissing) where expectsContent:
      return retryAfterLoss()
    case (.content, .contentMissing):
      transition(.waiting, .waitingForContent)
      awaitsJob = true
      return [.joinJob, .reschedule]
    case (.report, .contentLost):
      // Nothing of it is left, so it comes anew; the grant may have changed meanwhile.
      phase = .grant
      return retryAfterLoss()
    case (.report, .reportAccepted):
      transition(.finished, .placed)
      history.forgetLosses()
      succeed()
      return [.notifyTransaction, .reschedule]
    case (_, .stepFailed(let failure)):
      return handleFailure(failure)
    default:
      return []
    }
  }

  /// The grant alone is asked for: the download stays failed until it comes.
  private mutating func whileFailed(_ event: Event) -> [Action] {
    switch event {
    case .started where isReady:
      isChecking = true
      return [.run(.grant)]
    case .granted where isChecking:
      history.forgetFailures()
      return advance(to: .content) + [.notifyTransaction]
    case .stepFailed(let failure) where isChecking:
      isChecking = false
      if case .giveUp = failure.recovery, failure.problem != nil {
        reason = failure.reason
        history.note(failure)
      }
      refusals += 1
      return [.scheduleCheck(refusals: refusals), .reschedule]
    case .stepFailed where isReady:
      // It could not be persisted that it was started.
      return [.scheduleCheck(refusals: refusals)]
    default:
      return []
    }
  }

  private mutating func handleFailure(_ failure: StepFailure) -> [Action] {
    switch failure.recovery {
    case .requestGrant:
      // Before there is a grant, a new one would not help.
      guard phase != .grant else { return fail(failure) }
      phase = .grant
      return retry(after: failure, notBefore: nil)
    case .retry(let notBefore): return retry(after: failure, notBefore: notBefore)
    case .awaitRoom: return retry(after: failure, notBefore: nil)
    case .giveUp where phase == .report && failure.problem?.missingStep == "delivery":
      // The server has not sent this device the bytes that it reports, or has lost its count.
      guard !hasFetchedEverything else { return fail(failure) }
      hasFetchedEverything = true
      phase = .content
      transition(.waiting, .waitingForContent)
      awaitsJob = true
      return [.joinJob, .reschedule]
    case .renewTicket, .giveUp: return fail(failure)
    }
  }

  /// A request that does not fit is `reject`; one that is repeated changes nothing.
  private mutating func request(_ event: Event) -> [Action] {
    switch (event, state) {
    case (.pauseRequested, .waiting), (.pauseRequested, .active):
      let wasActive = state == .active
      transition(.paused, .user)
      return wasActive ? [.stop, .reschedule] : [.reschedule]
    case (.pauseRequested, .paused): return []
    case (.resumeRequested, .paused):
      transition(.waiting, .queued)
      succeed()
      history.forgetLosses()
      return [.reschedule]
    case (.resumeRequested, .failed), (.resumeRequested, .cancelled):
      // The grant may say something else today.
      transition(.waiting, .queued)
      succeed()
      history.forgetLosses()
      phase = .grant
      return [.reschedule]
    case (.resumeRequested, .waiting):
      // An impatient user need not wait for the timer, unless a service has asked for the delay.
      guard !awaitsJob else { return [.hurryJob] }
      guard !reason.isWishOfService else { return [] }
      transition(.waiting, .queued)
      return [.reschedule]
    case (.resumeRequested, .active): return []
    case (.cancelRequested, .waiting), (.cancelRequested, .active), (.cancelRequested, .paused),
      (.cancelRequested, .failed):
      // What is placed belongs to the library: removing it is another request.
      guard phase != .report else { return [.reject] }
      return cancel()
    case (.cancelRequested, .cancelled): return []
    default: return [.reject]
    }
  }

  /// It fits every phase. A later resume begins with the grant.
  private mutating func cancelWithoutContent() -> [Action] {
    guard state != .finished, state != .cancelled else { return [] }
    phase = .grant
    return cancel()
  }

  /// Its job discards what was staged, once no other download claims it.
  private mutating func cancel() -> [Action] {
    let wasActive = state == .active || isChecking
    transition(.cancelled, .user)
    history.forgetCause()
    return (wasActive ? [.stop] : []) + [.notifyTransaction, .reschedule]
  }

  /// It looks for its content again, since the wait for a job is not persisted.
  private mutating func restore() -> [Action] {
    if isTriedAtStart {
      transition(.waiting, .queued)
      succeed()
      phase = .grant
      return [.notifyTransaction, .reschedule]
    }
    guard state == .waiting || state == .active else { return [] }
    if state == .active || reason == .waitingForContent { transition(.waiting, .queued) }
    awaitsJob = false
    return [.reschedule]
  }

  private mutating func advance(to phase: Phase, _ reason: StatusReason? = nil) -> [Action] {
    self.phase = phase
    history.forgetCause()
    transition(.active, reason ?? Self.reason(while: phase))
    return [.run(phase)]
  }

  private mutating func retry(after failure: StepFailure, notBefore: Duration?) -> [Action] {
    history.countRetry(after: failure)
    transition(.waiting, failure.reason)
    return [.scheduleRetry(failures: history.failures, notBefore: notBefore), .reschedule]
  }

  private mutating func retryAfterLoss() -> [Action] {
    let failure = StepFailure.retry(.storageFailure, cause: "what was placed is not what was written")
    history.countLoss(failure)
    guard !history.isHopeless else { return fail(.permanent(.wasteful, cause: failure.cause)) }
    transition(.waiting, failure.reason)
    return [.scheduleRetry(failures: history.failures, notBefore: nil), .reschedule]
  }

  /// Where a service refused it, the grant is asked for again later.
  private mutating func fail(_ failure: StepFailure) -> [Action] {
    history.note(failure)
    transition(.failed, failure.reason)
    guard isChecked else { return [.notifyTransaction, .reschedule] }
    refusals += 1
    return [.scheduleCheck(refusals: refusals), .notifyTransaction, .reschedule]
  }

  private mutating func succeed() {
    history.forgetFailures()
    refusals = 0
  }

  private mutating func transition(_ state: State, _ reason: StatusReason) {
    self.state = state
    self.reason = reason
    awaitsJob = false
    isChecking = false
    expectsContent = false
  }

  private static func reason(while phase: Phase) -> StatusReason {
    switch phase {
    case .grant: .requestingGrant
    // The library looks whether it has it.
    case .content: .waitingForContent
    case .report: .reporting
    }
  }
}
