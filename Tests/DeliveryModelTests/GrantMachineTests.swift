import PullboxAPI
import ServiceAPI
import Testing

@testable import DeliveryModel

@Suite("Grant state machine")
struct GrantMachineTests {
  static let states: [GrantMachine.State] = [
    .granted, .completed, .finished, .revoked(was: .granted), .revoked(was: .completed),
    .revoked(was: .finished), .reading, .revoked(was: .reading),
  ]

  static let events: [GrantMachine.Event] =
    [.ticketRequested, .completionReported(missing: nil), .transactionFinished, .revoked, .reinstated]
    + CompletionStep.allCases.map { .completionReported(missing: $0) }

  @Test("a grant opens its content unless it is revoked", arguments: states)
  func tickets(state: GrantMachine.State) {
    var machine = GrantMachine(state: state)
    let actions = machine.handle(.ticketRequested)
    #expect(actions == (machine.name == .revoked ? [.refuseRevoked] : [.issueTicket]))
    #expect(machine.state == state)
  }

  @Test("no completion is accepted while a step is missing", arguments: states, CompletionStep.allCases)
  func missingStep(state: GrantMachine.State, step: CompletionStep) {
    var machine = GrantMachine(state: state)
    let actions = machine.handle(.completionReported(missing: step))
    #expect(actions == [.refuseCompletion(machine.name == .revoked ? .grant : step)])
    #expect(machine.state == state)
  }

  @Test("only a right completion takes a grant to completed, and may finish its transaction")
  func completion() {
    var machine = GrantMachine()
    let machineActions = machine.handle(.completionReported(missing: nil))
    #expect(machineActions == [.finishTransactionIfDelivered, .answerState])
    #expect(machine.name == .completed)
  }

  @Test(
    "a completion reported again, its answer lost, asks again for the end of the transaction and changes nothing"
  )
  func repeatedCompletion() {
    var machine = GrantMachine(state: .completed)
    let machineActions = machine.handle(.completionReported(missing: nil))
    #expect(machineActions == [.finishTransactionIfDelivered, .answerState])
    #expect(machine.name == .completed)
    var finished = GrantMachine(state: .finished)
    let finishedActions = finished.handle(.completionReported(missing: nil))
    #expect(finishedActions == [.answerState])
    #expect(finished.name == .finished)
  }

  @Test("a transaction finished elsewhere does not complete a grant whose device has not reported")
  func finishedElsewhere() {
    var machine = GrantMachine()
    let actions = machine.handle(.transactionFinished)
    #expect(actions.isEmpty)
    #expect(machine.name == .granted)
  }

  @Test("finished is reached through completed alone")
  func wayToFinished() {
    for state in Self.states {
      for event in Self.events {
        var machine = GrantMachine(state: state)
        _ = machine.handle(event)
        guard machine.state == .finished, state != .finished else { continue }
        #expect(
          (state == .completed && event == .transactionFinished)
            || (state == .revoked(was: .finished) && event == .reinstated))
      }
    }
  }

  @Test("a reversed revocation restores what was, and what the store finished meanwhile")
  func reinstated() {
    var machine = GrantMachine(state: .completed)
    _ = machine.handle(.revoked)
    #expect(machine.name == .revoked)
    _ = machine.handle(.transactionFinished)
    _ = machine.handle(.reinstated)
    #expect(machine.state == .finished)
  }

  @Test("a grant of a reader's key is completed by a report alone, and a revocation is reversed to it")
  func reading() {
    var machine = GrantMachine(state: .reading)
    for event in [GrantMachine.Event.ticketRequested, .transactionFinished, .reinstated] {
      _ = machine.handle(event)
      #expect(machine.name == .reading && !machine.wasCompleted)
    }
    _ = machine.handle(.revoked)
    #expect(machine.name == .revoked && !machine.wasCompleted)
    _ = machine.handle(.reinstated)
    #expect(machine.name == .reading)
    _ = machine.handle(.completionReported(missing: nil))
    #expect(machine.name == .completed)
  }

  @Test("a revoked grant is left by a reversal alone", arguments: events)
  func revokedStays(event: GrantMachine.Event) {
    var machine = GrantMachine(state: .revoked(was: .granted))
    _ = machine.handle(event)
    #expect((machine.name != .revoked) == (event == .reinstated))
  }
}
