import PullboxAPI
import Testing

@testable import DeliveryService

@Suite("Content version state machine")
struct VersionMachineTests {
  @Test("a version is submitted, approved and released, in that order")
  func review() {
    var machine = VersionMachine()
    let tookAll = [VersionMachine.Step.submit, .approve, .release].allSatisfy { machine.take($0) }
    #expect(tookAll)
    #expect(machine.state == .released)
  }

  @Test(
    "nothing is released that was not approved",
    arguments: [VersionState.draft, .submitted, .rejected, .withdrawn])
  func notReleased(state: VersionState) {
    var machine = VersionMachine(state: state)
    let taken = machine.take(.release)
    #expect(!taken)
    #expect(machine.state == state)
  }

  @Test("a superseded version can be released again: that is how one rolls back")
  func rollBack() {
    var machine = VersionMachine(state: .released)
    let wasSuperseded = machine.take(.supersede)
    #expect(wasSuperseded)
    #expect(machine.state == .superseded)
    let wasReleased = machine.take(.release)
    #expect(wasReleased)
    #expect(machine.state == .released)
  }

  @Test("a rejected version can be submitted again, a withdrawn one is gone for good")
  func ends() {
    var rejected = VersionMachine(state: .rejected)
    let taken = rejected.take(.submit)
    #expect(taken)
    for step in VersionMachine.Step.allCases {
      var withdrawn = VersionMachine(state: .withdrawn)
      _ = withdrawn.take(step)
      #expect(withdrawn.state == .withdrawn)
    }
  }

  @Test(
    "a step repeated changes nothing and is no error",
    arguments: [
      (VersionState.submitted, VersionMachine.Step.submit), (.approved, .approve), (.rejected, .reject),
      (.released, .release), (.withdrawn, .withdraw),
    ])
  func repeated(state: VersionState, step: VersionMachine.Step) {
    var machine = VersionMachine(state: state)
    let taken = machine.take(step)
    #expect(taken)
    #expect(machine.state == state)
  }
}
