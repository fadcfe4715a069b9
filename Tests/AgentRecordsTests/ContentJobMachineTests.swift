import CoreTypes
import PullboxAPI
import Testing

@testable import AgentRecords

private typealias Phase = ContentJobMachine.Phase
private typealias Event = ContentJobMachine.Event
private typealias Action = ContentJobMachine.Action

/// A step that failed, with a piece of 1 MiB verified meanwhile or with none.
private func failed(_ failure: StepFailure, madeProgress: Bool = false, atDay day: Int = 0) -> Event {
  let moved = madeProgress ? ByteCount.mebibytes(1) : .zero
  let end = Timestamp(millisecondsSinceEpoch: Int64(day) * 86_400_000)
  return .stepFailed(
    failure, StepEffort(verified: moved, received: moved, end: end), length: .mebibytes(9))
}

/// Every state in every phase, held and free, and every kind of event.
private enum Everything {
  static let machines: [ContentJobMachine] = Phase.allCases.flatMap { phase in
    ContentJobMachine.State.allCases.flatMap { state in
      let machine = ContentJobMachine(phase: phase, state: state, reason: .queued)
      var held = machine
      _ = held.handle(.held(.noReader))
      return [machine, held]
    }
  }

  static let events: [Event] =
    [
      .started, .manifestVerified, .transferCompleted, .placed,
      .contentLost(.mebibytes(9), of: .mebibytes(9)),
      failed(.retry(.connectionLost), madeProgress: false),
      failed(.retry(.connectionLost), madeProgress: true),
      failed(.permanent(.integrity), madeProgress: false),
      failed(StepFailure(.grantNeeded, .renewTicket), madeProgress: false),
      failed(StepFailure(.grantNeeded, .requestGrant), madeProgress: false), .ticketRenewed,
      .termsRenewed(isSameManifest: true), .termsRenewed(isSameManifest: false), .retryRequested, .abandoned,
      .restored, .saveFailed(.retry(.insufficientSpace)),
    ] + HoldCondition.allCases.flatMap { [.held($0), .released($0)] }

  static func forEach(_ body: (ContentJobMachine, Event, ContentJobMachine, [Action]) -> Void) {
    for machine in machines {
      for event in events {
        var next = machine
        let actions = next.handle(event)
        body(machine, event, next, actions)
      }
    }
  }
}

@Suite struct ContentJobMachineTests {
  @Test(
    "what joins a job, anew or after a pause, leaves the delay that a service has asked for (D11)",
    arguments: [
      StatusReason.tooManyRequests, .serverUnavailable, .storeUnavailable, .verificationUndetermined,
    ])
  func delayOfService(reason: StatusReason) {
    for isSameManifest in [true, false] {
      var job = ContentJobMachine(phase: .transfer, state: .waiting, reason: reason)
      #expect(job.leavesRetry(.termsRenewed(isSameManifest: isSameManifest)))
      #expect(job.handle(.termsRenewed(isSameManifest: isSameManifest)) == [.reschedule])
      #expect(job.state == .waiting && job.reason == reason)
    }
    var own = ContentJobMachine(phase: .transfer, state: .waiting, reason: .connectionLost)
    #expect(!own.leavesRetry(.termsRenewed(isSameManifest: true)))
    _ = own.handle(.termsRenewed(isSameManifest: true))
    #expect(own.reason == .queued)
  }

  @Test("without room it waits until there is some, or until it is asked for, and not for a time")
  func room() {
    let refusal = StepFailure(.insufficientSpace, .awaitRoom, cause: "2 MiB are needed")
    var job = ContentJobMachine(phase: .transfer, state: .active, reason: .transferring)
    #expect(job.handle(failed(refusal, madeProgress: false)) == [.reschedule])
    #expect(job.state == .waiting && job.reason == .insufficientSpace && !job.isReady)
    #expect(job.shownReason == .insufficientSpace && job.history.cause == refusal.cause)
    var joined = job
    for event in [Event.retryRequested, .termsRenewed(isSameManifest: true)] {
      job = joined
      #expect(job.handle(event) == [.reschedule])
      #expect(job.isReady)
    }
    // Its release was not saved, and the error was another one than that of a full disk.
    var unsaved = joined
    _ = unsaved.handle(.saveFailed(.retry(.storageFailure)))
    #expect(unsaved.reason == .storageFailure && !unsaved.isReady && unsaved.waitsForRoom)
    // The next process looks for itself.
    joined = ContentJobMachine(phase: .transfer, state: .waiting, reason: .insufficientSpace)
    #expect(joined.isReady)
  }

  @Test("a step runs exactly where a job becomes or stays active, and it is the phase's own")
  func stepsFitPhases() {
    Everything.forEach { before, event, after, actions in
      let steps = actions.filter { action in
        switch action {
        case .run, .renewTicket: true
        default: false
        }
      }
      #expect(steps.count <= 1, "\(before) \(event)")
      if case .run(let phase) = steps.first { #expect(phase == after.phase) }
      if !steps.isEmpty { #expect(after.state == .active, "\(before) \(event)") }
      if after.state == .active, before.state != .active || before.phase != after.phase {
        #expect(!steps.isEmpty, "\(before) \(event) is active and nothing runs")
      }
    }
  }

  @Test("whatever ends a step starts one or gives the place back")
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
      case (.manifest, .transfer, .manifestVerified), (.transfer, .place, .transferCompleted):
        #expect(before.state == .active)
      case (_, .manifest, .contentLost), (_, .manifest, .termsRenewed): break
      default: Issue.record("\(before) came to \(after.phase) by \(event)")
      }
    }
  }

  @Test("what is held never starts, and a step that is held is stopped, but for placing (R16)")
  func holding() {
    Everything.forEach { before, event, after, actions in
      if !after.holds.isEmpty { #expect(!after.isReady) }
      if !before.holds.isEmpty, case .started = event { #expect(before == after && actions.isEmpty) }
      guard case .held = event, before.state == .active, before.holds.isEmpty else { return }
      if before.phase == .place {
        #expect(after.state == .active && actions.isEmpty)
      } else {
        #expect(after.state == .waiting && actions == [.stop, .reschedule])
      }
    }
  }

  @Test("held and released, a job is what it was, but for the step that starts again")
  func releasing() {
    for machine in Everything.machines {
      for condition in HoldCondition.allCases where machine.holds.isEmpty {
        var next = machine
        _ = next.handle(.held(condition))
        let actions = next.handle(.released(condition))
        #expect(next.phase == machine.phase && next.history == machine.history && next.holds.isEmpty)
        #expect((next.state == .waiting) == actions.contains(.reschedule))
        if machine.state != .active { #expect(next == machine) }
      }
    }
  }

  @Test("staged bytes are given up only when no download claims them")
  func discarding() {
    Everything.forEach { before, event, after, actions in
      #expect(actions.contains(.discard) == (before.state != .abandoned && after.state == .abandoned))
      if after.state == .abandoned, before.state != .abandoned { #expect(event == .abandoned) }
    }
  }

  @Test("its downloads hear of both ends", arguments: [ContentJobMachine.State.finished, .failed])
  func ends(_ end: ContentJobMachine.State) {
    Everything.forEach { before, event, after, actions in
      guard before.state != end, after.state == end else { return }
      #expect(actions.contains(.notifyDownloads), "\(before) \(event)")
    }
  }

  @Test("an abandoned job that is wanted again begins again") func wantedAgain() {
    var machine = ContentJobMachine(phase: .transfer, state: .abandoned, history: FailureHistory(failures: 3))
    #expect(machine.handle(.termsRenewed(isSameManifest: true)) == [.reschedule])
    #expect(machine == ContentJobMachine())
  }

  @Test("the way without trouble") func straightWay() {
    var machine = ContentJobMachine()
    let way: [(Event, [Action])] = [
      (.started, [.run(.manifest)]), (.manifestVerified, [.run(.transfer)]),
      (.transferCompleted, [.run(.place)]), (.placed, [.notifyDownloads, .reschedule]),
    ]
    for (event, actions) in way { #expect(machine.handle(event) == actions) }
    #expect(machine.state == .finished)
  }

  @Test("content that the disk does not keep is fetched ever later, and not for ever") func losses() {
    var machine = ContentJobMachine()
    for count in 1..<FailureHistory.maximumLosses {
      for event in [.started, .manifestVerified, .transferCompleted] as [Event] { _ = machine.handle(event) }
      let actions = machine.handle(.contentLost(.mebibytes(1), of: .mebibytes(1)))
      #expect(actions == [.scheduleRetry(failures: count, notBefore: nil), .reschedule])
      #expect(machine.state == .waiting && machine.phase == .manifest && machine.reason == .storageFailure)
    }
    for event in [.started, .manifestVerified, .transferCompleted] as [Event] { _ = machine.handle(event) }
    #expect(
      machine.handle(.contentLost(.mebibytes(1), of: .mebibytes(1))) == [.notifyDownloads, .reschedule])
    #expect(machine.state == .failed && machine.reason == .wasteful && machine.history.cause != nil)
    _ = machine.handle(.termsRenewed(isSameManifest: true))
    #expect(machine.history == FailureHistory() && machine.budget == ContentJobBudget())
  }

  @Test("a large package that the disk does not keep is not fetched more often than the budget has it")
  func lossOfLargePackage() {
    var machine = ContentJobMachine()
    for count in 1...3 {
      for event in [.started, .manifestVerified, .transferCompleted] as [Event] { _ = machine.handle(event) }
      _ = machine.handle(.contentLost(.gibibytes(1), of: .gibibytes(1)))
      #expect((machine.state == .failed) == (count == 3))
    }
    #expect(machine.reason == .wasteful)
  }

  @Test("a manifest that is gone costs no content, and what was staged stays known") func manifestLost() {
    var machine = ContentJobMachine(phase: .transfer, state: .active, reason: .transferring)
    #expect(
      machine.handle(.contentLost(.zero, of: .gibibytes(1))) == [
        .scheduleRetry(failures: 1, notBefore: nil), .reschedule,
      ])
    #expect(machine.history.losses == 0 && machine.budget == ContentJobBudget())
  }

  @Test("an expired ticket is renewed and the same phase goes on") func renewing() {
    var machine = ContentJobMachine(phase: .transfer, state: .active, reason: .transferring)
    let expired = StepFailure(Problem(.ticketExpired))
    #expect(machine.handle(failed(expired, madeProgress: true)) == [.renewTicket])
    #expect(machine.reason == .renewingTicket)
    #expect(machine.handle(.ticketRenewed) == [.run(.transfer)])
    #expect(machine.reason == .transferring)
  }

  @Test("a server that refuses every fresh ticket is not asked for ever") func renewalsAreBounded() {
    var machine = ContentJobMachine(phase: .transfer, state: .active, reason: .transferring)
    let invalid = StepFailure(Problem(.ticketInvalid))
    for _ in 0..<ContentJobMachine.maximumRenewals {
      #expect(machine.handle(failed(invalid, madeProgress: false)) == [.renewTicket])
      _ = machine.handle(.ticketRenewed)
    }
    #expect(machine.handle(failed(invalid, madeProgress: false)) == [.notifyDownloads, .reschedule])
    #expect(machine.state == .failed && machine.reason.rawValue == "ticket-invalid")
  }

  @Test("verified pieces between two expired tickets make the count start anew") func progressCounts() {
    var machine = ContentJobMachine(phase: .transfer, state: .active, reason: .transferring)
    for _ in 0..<20 {
      let expired = StepFailure(Problem(.ticketExpired))
      #expect(machine.handle(failed(expired, madeProgress: true)) == [.renewTicket])
      _ = machine.handle(.ticketRenewed)
    }
  }

  @Test("each retry counts one more failure in a row; verified pieces forget them") func failures() {
    var machine = ContentJobMachine(phase: .transfer, state: .active, reason: .transferring)
    for count in 1...3 {
      let actions = machine.handle(failed(.retry(.serverUnreachable), madeProgress: false))
      #expect(actions == [.scheduleRetry(failures: count, notBefore: nil), .reschedule])
      #expect(machine.state == .waiting && machine.reason == .serverUnreachable)
      _ = machine.handle(.started)
    }
    _ = machine.handle(.transferCompleted)
    #expect(machine.history.failures == 0)
  }

  @Test("lost connections never fail a job, and one odd answer among them does not (K2)") func oddAnswer() {
    var machine = ContentJobMachine(phase: .transfer, state: .active, reason: .transferring)
    for day in 0..<400 {
      let failure: StepFailure = .retry(day % 8 == 7 ? .protocolViolation : .connectionLost)
      _ = machine.handle(failed(failure, madeProgress: day % 8 == 0, atDay: day))
      #expect(machine.state == .waiting)
      _ = machine.handle(.started)
    }
  }

  @Test("what a withdrawn version is replaced by is asked for at once (K6)") func withdrawn() {
    var machine = ContentJobMachine(phase: .transfer, state: .active, reason: .transferring)
    let gone = StepFailure(Problem(.contentWithdrawn))
    #expect(machine.handle(failed(gone)) == [.requestTerms(gone, madeProgress: false), .reschedule])
    #expect(machine.state == .waiting)
  }

  @Test("a state that cannot be saved is retried (K1)") func unsaved() {
    for state in [ContentJobMachine.State.waiting, .active] {
      var machine = ContentJobMachine(phase: .transfer, state: state, reason: .transferring)
      let actions = machine.handle(.saveFailed(.retry(.insufficientSpace)))
      #expect(actions == [.scheduleRetry(failures: 1, notBefore: nil), .reschedule])
      #expect(machine.state == .waiting && machine.reason == .insufficientSpace)
    }
  }

  @Test("what holds a job is said, and the rest of it stays") func shownReasons() {
    var machine = ContentJobMachine(phase: .transfer, state: .active, reason: .transferring)
    _ = machine.handle(.held(.libraryOffline))
    #expect(machine.state == .waiting && machine.shownReason == .libraryOffline)
    _ = machine.handle(.held(.noReader))
    _ = machine.handle(.released(.libraryOffline))
    #expect(machine.shownReason == .queued && !machine.isReady)
    #expect(machine.handle(.released(.noReader)) == [.reschedule])
    #expect(machine.handle(.started) == [.run(.transfer)])
  }

  @Test("a grant that the server forgot is left to the downloads that wait") func forgottenGrant() {
    var machine = ContentJobMachine(phase: .transfer, state: .active, reason: .renewingTicket)
    let forgotten = StepFailure(Problem(.grantUnknown))
    let actions = machine.handle(failed(forgotten, madeProgress: false))
    #expect(actions == [.requestTerms(forgotten, madeProgress: false), .reschedule])
    #expect(machine.state == .waiting && machine.phase == .transfer)
  }
}

@Suite struct ContentJobBudgetTests {
  private let length = ByteCount.mebibytes(10)

  private func effort(_ verified: Int = 0, received: Int = 0, hour: Int = 0) -> StepEffort {
    StepEffort(
      verified: .mebibytes(Int64(verified)), received: .mebibytes(Int64(received)),
      end: Timestamp(millisecondsSinceEpoch: Int64(hour) * 3_600_000))
  }

  @Test("wrong bytes end in integrity only after many tries and a whole day (K2, K22)") func wrongBytes() {
    var budget = ContentJobBudget()
    for minute in 0..<1000 {
      #expect(budget.count(.retry(.integrity), effort(hour: minute / 60), length: length) == nil)
    }
    #expect(budget.count(.retry(.integrity), effort(hour: 24), length: length) == .integrity)
  }

  @Test("a few wrong answers end only after many days") func days() {
    var budget = ContentJobBudget()
    for day in 0..<14 {
      #expect(budget.count(.retry(.protocolViolation), effort(hour: 24 * day), length: length) == nil)
    }
    #expect(budget.count(.retry(.protocolViolation), effort(hour: 24 * 14), length: length) == .givenUp)
  }

  @Test("one verified piece forgets every wrong answer before it") func progress() {
    var budget = ContentJobBudget()
    for hour in 0..<500 {
      #expect(budget.count(.retry(.integrity), effort(hour: hour / 25), length: length) == nil)
    }
    _ = budget.count(.retry(.connectionLost), effort(1, received: 1, hour: 25), length: length)
    #expect(budget == ContentJobBudget())
  }

  @Test("lost connections and services that are away cost nothing but the bytes they wasted") func lost() {
    var budget = ContentJobBudget()
    for hour in 0..<10_000 {
      #expect(budget.count(.retry(.serverUnreachable), effort(hour: hour), length: length) == nil)
    }
    var wasted = 0
    while budget.count(.retry(.connectionLost), effort(received: 7), length: length) == nil { wasted += 7 }
    #expect(wasted > 2 * 10 + 64 - 14 && wasted <= 2 * 10 + 64)
    #expect(budget.count(.retry(.connectionLost), effort(received: 7), length: length) == .wasteful)
  }

  @Test("a job that gives up by its budget carries no service's problem") func verdict() {
    var budget = ContentJobBudget()
    budget.wasted = .mebibytes(1000)
    var machine = ContentJobMachine(phase: .transfer, state: .active, reason: .transferring, budget: budget)
    let failure = StepFailure.retry(.serverUnavailable, problem: Problem(.unavailable), cause: "503")
    _ = machine.handle(.stepFailed(failure, effort(), length: length))
    #expect(machine.state == .failed && machine.reason == .wasteful)
    #expect(machine.history.problem == nil && machine.history.cause == "503")
  }

  @Test("what arrives and is verified later was not in vain") func late() {
    var budget = ContentJobBudget()
    _ = budget.count(.retry(.connectionLost), effort(received: 30), length: length)
    _ = budget.count(.retry(.connectionLost), effort(20, received: 0), length: length)
    #expect(budget.wasted == .mebibytes(10))
  }
}
