import PullboxAPI
import Testing

@testable import AgentRecords

private typealias Phase = DownloadMachine.Phase
private typealias Event = DownloadMachine.Event
private typealias Action = DownloadMachine.Action

/// Every state in every phase, and every kind of event.
private enum Everything {
  static let reasons: [(DownloadMachine.State, StatusReason)] = [
    (.waiting, .queued), (.waiting, .serverUnreachable), (.active, .transferring), (.paused, .user),
    (.finished, .placed), (.failed, .integrity), (.cancelled, .user),
  ]

  /// One that waits for its content job.
  static var awaitingJob: DownloadMachine {
    var machine = DownloadMachine(phase: .content, state: .active, reason: .placing)
    _ = machine.handle(.contentMissing)
    return machine
  }

  static let machines: [DownloadMachine] =
    Phase.allCases.flatMap { phase in
      reasons.map { DownloadMachine(phase: phase, state: $0.0, reason: $0.1) }
    } + [awaitingJob, refused, checking]

  /// One whose grant was refused, and one that asks again.
  static var refused: DownloadMachine {
    DownloadMachine(
      phase: .content, state: .failed, reason: StatusReason(rawValue: "entitlement-revoked"),
      history: FailureHistory(problem: Problem(.entitlementRevoked)))
  }
  static var checking: DownloadMachine {
    var machine = refused
    _ = machine.handle(.started)
    return machine
  }

  static let events: [Event] = [
    .started, .granted, .contentHeld, .contentMissing, .contentReady, .relatedContentReady,
    .contentFailed(.permanent(.integrity)), .joinFailed(.retry(.storageFailure)),
    .termsNeeded(StepFailure(.grantNeeded, .requestGrant), madeProgress: false), .reportAccepted,
    .stepFailed(.retry(.connectionLost)), .stepFailed(.permanent(.integrity)),
    .stepFailed(StepFailure(.grantNeeded, .renewTicket)),
    .stepFailed(StepFailure(.grantNeeded, .requestGrant)), .contentLost,
    .pauseRequested, .resumeRequested, .cancelRequested, .contentRemoved, .restored,
  ]

  static func forEach(_ body: (DownloadMachine, Event, DownloadMachine, [Action]) -> Void) {
    for machine in machines {
      for event in events {
        var next = machine
        let actions = next.handle(event)
        body(machine, event, next, actions)
      }
    }
  }
}

@Suite struct DownloadMachineTests {
  @Test("it is placing when its job has placed content, and not while there is none")
  func placing() {
    var machine = DownloadMachine()
    _ = machine.handle(.started)
    _ = machine.handle(.granted)
    #expect(machine.state == .active && machine.reason == .waitingForContent)
    _ = machine.handle(.contentMissing)
    #expect(machine.state == .waiting && machine.reason == .waitingForContent)
    _ = machine.handle(.contentReady)
    #expect(machine.state == .active && machine.reason == .placing)
  }

  @Test("one that cannot be told what its job is to bring waits, and looks for its content again")
  func joinFailed() {
    var machine = Everything.awaitingJob
    #expect(
      machine.handle(.joinFailed(.retry(.storageFailure))) == [
        .scheduleRetry(failures: 1, notBefore: nil), .reschedule,
      ])
    #expect(machine.state == .waiting && machine.reason == .storageFailure && machine.isReady)
    #expect(machine.handle(.started) == [.run(.content)])
  }

  @Test("where a server has lost its count, all is fetched again, also if the job could not begin at first")
  func joinFailedBehindReport() {
    var machine = DownloadMachine(phase: .report, state: .active, reason: .reporting)
    let problem = Problem(.completionMismatch, missingStep: .delivery)
    let refused = Event.stepFailed(StepFailure(problem))
    #expect(machine.handle(refused).contains(.joinJob))
    _ = machine.handle(.joinFailed(.retry(.storageFailure)))
    #expect(!machine.hasFetchedEverything)
    _ = machine.handle(.started)
    _ = machine.handle(.contentHeld)
    #expect(machine.handle(refused).contains(.joinJob) && machine.hasFetchedEverything)
  }

  @Test("a step runs exactly where a download becomes or stays active, and it is the phase's own")
  func stepsFitPhases() {
    Everything.forEach { before, event, after, actions in
      let steps = actions.filter { action in
        if case .run = action { true } else { false }
      }
      #expect(steps.count <= 1, "\(before) \(event)")
      // One that failed asks for its grant, and stays as it is until that is there.
      if after.isChecking, !before.isChecking {
        #expect(steps == [.run(.grant)] && after.state == .failed)
        return
      }
      if case .run(let phase) = steps.first { #expect(phase == after.phase) }
      if !steps.isEmpty { #expect(after.state == .active, "\(before) \(event)") }
      if after.state == .active, before.state != .active || before.phase != after.phase {
        #expect(!steps.isEmpty, "\(before) \(event) is active and nothing runs")
      }
    }
  }

  @Test("a step never starts beside one that runs: whatever ends one, starts one or gives the place back")
  func placesAreGivenBack() {
    Everything.forEach { before, event, after, actions in
      guard before.state == .active, after.state != .active else { return }
      #expect(actions.contains(.reschedule), "\(before) \(event)")
    }
  }

  @Test("a phase is reached only through the event that ends the one before, or from the beginning")
  func phasesInOrder() {
    Everything.forEach { before, event, after, _ in
      guard before.phase != after.phase else { return }
      switch (before.phase, after.phase, event) {
      case (.grant, .content, .granted), (.content, .report, .contentHeld):
        #expect(before.state == .active || before.isChecking)
      case (_, .grant, .stepFailed), (_, .grant, .contentLost), (_, .grant, .resumeRequested),
        (_, .grant, .contentRemoved),
        (.content, .grant, .termsNeeded):
        break
      default: Issue.record("\(before) came to \(after.phase) by \(event)")
      }
    }
  }

  @Test("it is finished only when the server took the report of a placed package")
  func finishing() {
    Everything.forEach { before, event, after, _ in
      guard before.state != .finished, after.state == .finished else { return }
      #expect(before.phase == .report && before.state == .active && event == .reportAccepted)
    }
  }

  @Test("what is over stays as it is, but for a user who wants it after all")
  func finalStates() {
    Everything.forEach { before, event, after, actions in
      guard before.state.isFinal, before != after else { return }
      switch (before.state, event) {
      case (.failed, .resumeRequested), (.cancelled, .resumeRequested):
        #expect(after.isReady && after.phase == .grant && actions == [.reschedule])
      case (.failed, .started), (.failed, .granted), (.failed, .stepFailed): #expect(before.isChecked)
      case (.failed, .cancelRequested), (.failed, .contentRemoved): #expect(after.state == .cancelled)
      default: Issue.record("\(before) changed by \(event)")
      }
    }
  }

  @Test("a step's late word on a download that was paused, cancelled or is over changes nothing")
  func lateWords() {
    Everything.forEach { before, event, after, actions in
      guard before.state != .active, before.state != .waiting, !before.isChecked else { return }
      switch event {
      case .pauseRequested, .resumeRequested, .cancelRequested, .contentRemoved: return
      default: #expect(before == after && actions.isEmpty, "\(before) \(event)")
      }
    }
  }

  @Test("a job is joined exactly where the library lacks the content, and waited for until it tells")
  func joining() {
    Everything.forEach { before, event, after, actions in
      #expect(actions.contains(.joinJob) == (!before.awaitsJob && after.awaitsJob), "\(before) \(event)")
      if after.awaitsJob { #expect(after.state == .waiting && after.phase == .content && !after.isReady) }
      guard before.awaitsJob, !after.awaitsJob else { return }
      switch event {
      case .contentReady, .relatedContentReady, .contentFailed, .joinFailed, .termsNeeded, .stepFailed,
        .pauseRequested, .cancelRequested, .contentRemoved, .restored:
        break
      default: Issue.record("\(event) ended the wait")
      }
    }
  }

  @Test(
    "its transaction hears of every end", arguments: [DownloadMachine.State.finished, .failed, .cancelled])
  func settling(_ end: DownloadMachine.State) {
    Everything.forEach { before, event, after, actions in
      guard before.state != end, after.state == end else { return }
      #expect(actions.contains(.notifyTransaction), "\(before) \(event)")
    }
  }

  @Test("a restart puts what was under way back into the queue and leaves the rest alone")
  func restoring() {
    for machine in Everything.machines {
      var next = machine
      _ = next.handle(.restored)
      if machine.state == .waiting || machine.state == .active {
        #expect(next.isReady && next.phase == machine.phase && next.history == machine.history)
      } else {
        #expect(next == machine)
      }
    }
  }

  @Test("the way without trouble") func straightWay() {
    var machine = DownloadMachine()
    let way: [(Event, [Action])] = [
      (.started, [.run(.grant)]), (.granted, [.run(.content)]), (.contentMissing, [.joinJob, .reschedule]),
      (.contentReady, [.run(.content)]), (.contentHeld, [.run(.report)]),
    ]
    for (event, actions) in way { #expect(machine.handle(event) == actions) }
    #expect(machine.handle(.reportAccepted) == [.notifyTransaction, .reschedule])
    #expect(machine.state == .finished && machine.reason == .placed)
  }

  @Test("each retry counts one more failure in a row; content forgets them") func failures() {
    var machine = DownloadMachine(phase: .content, state: .active, reason: .placing)
    for count in 1...3 {
      let actions = machine.handle(.stepFailed(.retry(.serverUnreachable)))
      #expect(actions == [.scheduleRetry(failures: count, notBefore: nil), .reschedule])
      #expect(machine.state == .waiting && machine.reason == .serverUnreachable)
      _ = machine.handle(.started)
    }
    _ = machine.handle(.contentHeld)
    #expect(machine.history.failures == 0)
  }

  @Test("a grant that the server forgot is asked for anew, ever later while it does not help (R3)")
  func forgottenGrant() {
    var machine = Everything.awaitingJob
    let forgotten = StepFailure(Problem(.grantUnknown))
    for count in 1...5 {
      let actions = machine.handle(.termsNeeded(forgotten, madeProgress: false))
      #expect(actions == [.scheduleRetry(failures: count, notBefore: nil), .reschedule])
      #expect(machine.phase == .grant && machine.reason.rawValue == "grant-unknown")
      for event in [.started, .granted, .contentMissing] as [Event] { _ = machine.handle(event) }
    }
    #expect(
      machine.handle(.termsNeeded(forgotten, madeProgress: true))
        == [.scheduleRetry(failures: 1, notBefore: nil), .reschedule])
  }

  @Test("a refusal is asked about in growing pauses, and a grant that comes after all goes on (K6)")
  func takenBack() {
    var machine = DownloadMachine(phase: .grant, state: .active, reason: .requestingGrant)
    let refusal = StepFailure(Problem(.entitlementRevoked))
    #expect(
      machine.handle(.stepFailed(refusal)) == [
        .scheduleCheck(refusals: 1), .notifyTransaction, .reschedule,
      ])
    for count in 2...4 {
      #expect(machine.state == .failed && machine.isReady)
      #expect(machine.handle(.started) == [.run(.grant)])
      #expect(machine.state == .failed && !machine.isReady)
      #expect(machine.handle(.stepFailed(refusal)) == [.scheduleCheck(refusals: count), .reschedule])
    }
    // A service that is away says nothing about the refusal.
    _ = machine.handle(.started)
    _ = machine.handle(.stepFailed(.retry(.serverUnreachable)))
    #expect(machine.reason.rawValue == "entitlement-revoked" && machine.history.problem != nil)
    _ = machine.handle(.started)
    #expect(machine.handle(.granted) == [.run(.content), .notifyTransaction])
    #expect(machine.state == .active && machine.history.problem == nil)
  }

  @Test("what failed asks for a new grant when it is resumed, whatever phase it failed in (K6)")
  func resuming() {
    for phase in Phase.allCases {
      var machine = DownloadMachine(phase: phase, state: .failed, reason: .publisherSignature)
      #expect(machine.handle(.resumeRequested) == [.reschedule])
      #expect(machine.phase == .grant && machine.isReady)
    }
  }

  @Test("a grant that the server lost is asked for again, in every phase after it (K8)") func lostGrant() {
    for phase in [Phase.content, .report] {
      var machine = DownloadMachine(phase: phase, state: .active, reason: .reporting)
      let actions = machine.handle(.stepFailed(StepFailure(Problem(.grantUnknown))))
      #expect(actions == [.scheduleRetry(failures: 1, notBefore: nil), .reschedule])
      #expect(machine.phase == .grant && machine.state == .waiting)
    }
  }

  @Test("a server that has lost its count of what it sent gets to send it again, once (K8)") func lostCount()
  {
    var machine = DownloadMachine(phase: .report, state: .active, reason: .reporting)
    let refusal = StepFailure(Problem(.completionMismatch, missingStep: .delivery))
    #expect(machine.handle(.stepFailed(refusal)) == [.joinJob, .reschedule])
    #expect(machine.awaitsJob && machine.hasFetchedEverything)
    for event in [.contentReady, .contentHeld] as [Event] { _ = machine.handle(event) }
    _ = machine.handle(.stepFailed(refusal))
    #expect(machine.state == .failed && machine.reason.rawValue == "completion-mismatch")
  }

  @Test("content that is wrong right after placing is fetched ever later, and says why") func lostAtOnce() {
    let cause = "what was placed is not what was written"
    var missing = Everything.awaitingJob
    var lost = Everything.awaitingJob
    for count in 1...5 {
      let later: [Action] = [.scheduleRetry(failures: count, notBefore: nil), .reschedule]
      _ = missing.handle(.contentReady)
      #expect(missing.handle(.contentMissing) == later)
      #expect(
        missing.reason == .storageFailure && missing.history.cause == cause && missing.phase == .content)
      _ = missing.handle(.started)
      #expect(missing.handle(.contentMissing) == [.joinJob, .reschedule])
      for event in [.contentReady, .contentHeld] as [Event] { _ = lost.handle(event) }
      #expect(lost.handle(.contentLost) == later)
      #expect(lost.reason == .storageFailure && lost.history.cause == cause && lost.phase == .grant)
      for event in [.started, .granted, .contentMissing] as [Event] { _ = lost.handle(event) }
    }
  }

  @Test("content that is lost time and again fails in the end, until it is resumed") func hopeless() {
    var machine = Everything.awaitingJob
    for _ in 1...FailureHistory.maximumLosses {
      for event in [.contentReady, .contentHeld] as [Event] { _ = machine.handle(event) }
      _ = machine.handle(.contentLost)
      for event in [.started, .granted, .contentMissing] as [Event] { _ = machine.handle(event) }
    }
    #expect(machine.state == .failed && machine.reason == .wasteful && !machine.isChecked)
    _ = machine.handle(.resumeRequested)
    #expect(machine.state == .waiting && machine.history == FailureHistory())
  }

  @Test("what was fetched for another manifest of the same content is used without a delay") func related() {
    var machine = Everything.awaitingJob
    #expect(machine.handle(.relatedContentReady) == [.run(.content)])
    #expect(machine.handle(.contentMissing) == [.joinJob, .reschedule])
    #expect(machine.history.failures == 0)
  }

  @Test("what this device has judged itself is not asked about; a signature is judged again at a start")
  func ownJudgement() {
    var machine = Everything.awaitingJob
    let rejected = StepFailure.permanent(.publisherSignature, problem: Problem(.packageRejected))
    #expect(machine.handle(.contentFailed(rejected)) == [.notifyTransaction, .reschedule])
    #expect(!machine.isChecked && !machine.isReady && machine.history.problem != nil)
    #expect(machine.handle(.restored) == [.notifyTransaction, .reschedule])
    #expect(machine.isReady && machine.phase == .grant)
    for reason in [StatusReason.integrity, .wasteful, .givenUp] {
      var machine = Everything.awaitingJob
      _ = machine.handle(.contentFailed(.permanent(reason, problem: Problem(.unavailable))))
      #expect(!machine.isChecked && machine.handle(.restored) == [])
    }
  }

  @Test("a state that cannot be saved is retried, whatever it was (K1)") func unsaved() {
    Everything.forEach { before, event, _, _ in
      var machine = before
      let failure = StepFailure.retry(.insufficientSpace)
      switch event {
      case .pauseRequested, .resumeRequested, .cancelRequested, .contentRemoved:
        #expect(DownloadMachine.saveFailed(failure, during: event) == nil)
      default:
        guard let told = DownloadMachine.saveFailed(failure, during: event) else {
          Issue.record("\(event) is lost")
          return
        }
        let actions = machine.handle(told)
        if before.isChecked {
          #expect(actions.contains { if case .scheduleCheck = $0 { true } else { false } })
        }
        guard before.state == .waiting || before.state == .active else { return }
        #expect(machine.state == .waiting && machine.reason == .insufficientSpace)
        #expect(actions.contains { if case .scheduleRetry = $0 { true } else { false } })
      }
    }
  }

  @Test("what is placed can no longer be cancelled") func cancellingTooLate() {
    for state in [DownloadMachine.State.waiting, .active, .paused, .failed] {
      var machine = DownloadMachine(phase: .report, state: state, reason: .reporting)
      #expect(machine.handle(.cancelRequested) == [.reject])
      #expect(machine.state == state)
    }
  }

  @Test("what is removed before the server knew of it cancels the download, which can be resumed")
  func removedBeforeReport() {
    for state in [DownloadMachine.State.waiting, .active, .paused, .failed] {
      var machine = DownloadMachine(phase: .report, state: state, reason: .reporting)
      let stop: [DownloadMachine.Action] = state == .active ? [.stop] : []
      #expect(machine.handle(.contentRemoved) == stop + [.notifyTransaction, .reschedule])
      #expect(machine.state == .cancelled && machine.phase == .grant)
    }
  }

  @Test("a refused completion fails the download with the server's problem") func refusedCompletion() {
    var machine = DownloadMachine(phase: .report, state: .active, reason: .reporting)
    let problem = Problem(.completionMismatch, missingStep: .digest)
    _ = machine.handle(.stepFailed(StepFailure(problem)))
    #expect(machine.state == .failed && machine.history.problem == problem)
    #expect(machine.reason.rawValue == "completion-mismatch")
  }

  @Test("a paused download keeps its phase and resumes through the queue") func pausing() {
    var machine = Everything.awaitingJob
    #expect(machine.handle(.pauseRequested) == [.reschedule])
    #expect(machine.handle(.contentReady) == [])
    #expect(machine.handle(.resumeRequested) == [.reschedule])
    #expect(machine.handle(.started) == [.run(.content)])
    #expect(machine.handle(.pauseRequested) == [.stop, .reschedule])
  }

  @Test(
    "a delay that a service has asked for is waited for, also by a user who resumes, or pauses and resumes",
    arguments: [
      StatusReason.tooManyRequests, .serverUnavailable, .storeUnavailable, .verificationUndetermined,
    ])
  func delayOfService(reason: StatusReason) {
    var machine = DownloadMachine(state: .waiting, reason: reason)
    #expect(machine.leavesRetry(.resumeRequested) && machine.leavesRetry(.pauseRequested))
    #expect(machine.handle(.resumeRequested) == [])
    #expect(machine.state == .waiting && machine.reason == reason)
    #expect(machine.handle(.pauseRequested) == [.reschedule])
    #expect(machine.leavesRetry(.resumeRequested))
    var job = ContentJobMachine(state: .waiting, reason: reason)
    #expect(job.handle(.retryRequested) == [])
    #expect(job.reason == reason)
    let own = DownloadMachine(state: .waiting, reason: .serverUnreachable)
    #expect(!own.leavesRetry(.resumeRequested) && !own.leavesRetry(.pauseRequested))
  }
}
