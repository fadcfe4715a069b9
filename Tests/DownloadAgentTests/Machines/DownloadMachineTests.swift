import PullboxAPI
import Testing

@testable import DownloadAgent

private typealias Phase = DownloadMachine.Phase
private typealias Event = DownloadMachine.Event
private typealias Action = DownloadMachine.Action

/// Every state in every phase, and every kind of event.
private enum Everything {
  static let reasons: [(DownloadMachine.State, StatusReason)] = [
    (.waiting, .queued), (.waiting, .serverUnreachable), (.active, .transferring), (.paused, .user),
    (.finished, .placed), (.failed, .integrity), (.cancelled, .user),
  ]

  static let machines: [DownloadMachine] = Phase.allCases.flatMap { phase in
    reasons.map { DownloadMachine(phase: phase, state: $0.0, reason: $0.1) }
  }

  static let events: [Event] = [
    .started, .granted(libraryHoldsContent: false), .granted(libraryHoldsContent: true), .manifestVerified,
    .transferCompleted, .placed, .reportAccepted, .stepFailed(.retry(.connectionLost), madeProgress: false),
    .stepFailed(.retry(.connectionLost), madeProgress: true),
    .stepFailed(.permanent(.integrity), madeProgress: false),
    .stepFailed(StepFailure(.queued, .renewTicket), madeProgress: false),
    .stepFailed(StepFailure(.queued, .requestGrant), madeProgress: false), .ticketRenewed, .retryDue,
    .contentLost,
    .pauseRequested, .resumeRequested, .cancelRequested, .restored,
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
  @Test("a step runs exactly where a download becomes or stays active, and it is the phase's own")
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
      case (.grant, .manifest, .granted(libraryHoldsContent: false)),
        (.grant, .report, .granted(libraryHoldsContent: true)), (.manifest, .transfer, .manifestVerified),
        (.transfer, .place, .transferCompleted), (.place, .report, .placed):
        #expect(before.state == .active)
      case (_, .grant, .stepFailed), (_, .grant, .contentLost), (_, .grant, .resumeRequested): break
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
        #expect(after.isReady && actions == [.reschedule])
      case (.failed, .cancelRequested): #expect(after.state == .cancelled)
      default: Issue.record("\(before) changed by \(event)")
      }
    }
  }

  @Test("a step's late word on a download that was paused, cancelled or is over changes nothing")
  func lateWords() {
    Everything.forEach { before, event, after, actions in
      guard before.state != .active, before.state != .waiting else { return }
      switch event {
      case .pauseRequested, .resumeRequested, .cancelRequested: return
      default: #expect(before == after && actions.isEmpty, "\(before) \(event)")
      }
    }
  }

  @Test("staged bytes are given up only for a cancelled, a reported or a lost download")
  func discarding() {
    Everything.forEach { before, event, after, actions in
      guard actions.contains(.discardStaging) else { return }
      #expect(after.state == .cancelled || after.state == .finished || event == .contentLost, "\(before)")
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
        #expect(next.isReady && next.phase == machine.phase)
      } else {
        #expect(next == machine)
      }
    }
  }

  @Test("the way without trouble") func straightWay() {
    var machine = DownloadMachine()
    let way: [(Event, Action)] = [
      (.started, .run(.grant)), (.granted(libraryHoldsContent: false), .run(.manifest)),
      (.manifestVerified, .run(.transfer)), (.transferCompleted, .run(.place)), (.placed, .run(.report)),
    ]
    for (event, action) in way { #expect(machine.handle(event) == [action]) }
    #expect(machine.handle(.reportAccepted) == [.discardStaging, .notifyTransaction, .reschedule])
    #expect(machine.state == .finished && machine.reason == .placed)
  }

  @Test("an expired ticket is renewed and the same phase goes on") func renewing() {
    var machine = DownloadMachine(phase: .transfer, state: .active, reason: .transferring)
    let expired = StepFailure(Problem(.ticketExpired))
    #expect(machine.handle(.stepFailed(expired, madeProgress: true)) == [.renewTicket])
    #expect(machine.reason == .renewingTicket)
    #expect(machine.handle(.ticketRenewed) == [.run(.transfer)])
    #expect(machine.reason == .transferring)
  }

  @Test("a server that refuses every fresh ticket is not asked for ever") func renewalsAreBounded() {
    var machine = DownloadMachine(phase: .transfer, state: .active, reason: .transferring)
    let invalid = StepFailure(Problem(.ticketInvalid))
    for _ in 0..<DownloadMachine.maximumRenewals {
      #expect(machine.handle(.stepFailed(invalid, madeProgress: false)) == [.renewTicket])
      _ = machine.handle(.ticketRenewed)
    }
    #expect(machine.handle(.stepFailed(invalid, madeProgress: false)) == [.notifyTransaction, .reschedule])
    #expect(machine.state == .failed && machine.reason.rawValue == "ticket-invalid")
  }

  @Test("verified pieces between two expired tickets make the count start anew") func progressCounts() {
    var machine = DownloadMachine(phase: .transfer, state: .active, reason: .transferring)
    for _ in 0..<20 {
      #expect(
        machine.handle(.stepFailed(StepFailure(Problem(.ticketExpired)), madeProgress: true)) == [
          .renewTicket
        ])
      _ = machine.handle(.ticketRenewed)
    }
  }

  @Test("each retry counts one more failure in a row; success forgets them") func failures() {
    var machine = DownloadMachine(phase: .transfer, state: .active, reason: .transferring)
    for count in 1...3 {
      let actions = machine.handle(.stepFailed(.retry(.serverUnreachable), madeProgress: false))
      #expect(actions == [.scheduleRetry(failures: count, notBefore: nil), .reschedule])
      #expect(machine.state == .waiting && machine.reason == .serverUnreachable)
      _ = machine.handle(.retryDue)
      _ = machine.handle(.started)
    }
    _ = machine.handle(.transferCompleted)
    #expect(machine.failures == 0)
  }

  @Test("answers that break the rules time and again are a failure of integrity") func violations() {
    var machine = DownloadMachine(phase: .transfer, state: .active, reason: .transferring)
    var rounds = 0
    while machine.state != .failed, rounds < 100 {
      _ = machine.handle(.stepFailed(.retry(.protocolViolation), madeProgress: false))
      _ = machine.handle(.retryDue)
      _ = machine.handle(.started)
      rounds += 1
    }
    #expect(rounds == DownloadMachine.maximumViolations && machine.reason == .integrity)
  }

  @Test("a grant that the server forgot is asked for anew") func forgottenGrant() {
    var machine = DownloadMachine(phase: .transfer, state: .active, reason: .renewingTicket)
    _ = machine.handle(.stepFailed(StepFailure(Problem(.grantUnknown)), madeProgress: false))
    #expect(machine.phase == .grant && machine.state == .waiting)
  }

  @Test("what is placed can no longer be cancelled") func cancellingTooLate() {
    for state in [DownloadMachine.State.waiting, .active, .paused, .failed] {
      var machine = DownloadMachine(phase: .report, state: state, reason: .reporting)
      #expect(machine.handle(.cancelRequested) == [.reject])
      #expect(machine.state == state)
    }
  }

  @Test("a refused completion fails the download with the server's problem") func refusedCompletion() {
    var machine = DownloadMachine(phase: .report, state: .active, reason: .reporting)
    let problem = Problem(.completionMismatch, missingStep: .digest)
    _ = machine.handle(.stepFailed(StepFailure(problem), madeProgress: false))
    #expect(machine.state == .failed && machine.problem == problem)
    #expect(machine.reason.rawValue == "completion-mismatch")
  }

  @Test("a paused download keeps its phase and resumes through the queue") func pausing() {
    var machine = DownloadMachine(phase: .transfer, state: .active, reason: .transferring)
    #expect(machine.handle(.pauseRequested) == [.stop, .reschedule])
    #expect(machine.handle(.transferCompleted) == [])
    #expect(machine.handle(.resumeRequested) == [.reschedule])
    #expect(machine.handle(.started) == [.run(.transfer)])
  }
}
