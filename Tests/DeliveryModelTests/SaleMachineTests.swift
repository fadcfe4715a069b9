import PullboxAPI
import ServiceAPI
import Testing

@testable import DeliveryModel

@Suite("A product's way to the shop window")
struct SaleMachineTests {
  private enum Result: Equatable {
    case to(SaleState)
    case refused
  }

  private static let steps: [SaleMachine.Step] = [.submit, .approve, .reject, .withdraw, .putOnSale]

  /// By state, what each step leads to, in the order of ``steps``.
  private static let table: [SaleState: [Result]] = [
    .draft: [.to(.submitted), .refused, .refused, .to(.draft), .to(.cleared)],
    .submitted: [.to(.submitted), .to(.cleared), .to(.rejected), .to(.draft), .refused],
    .rejected: [.to(.submitted), .refused, .to(.rejected), .to(.rejected), .refused],
    .cleared: [.refused, .to(.cleared), .refused, .to(.withdrawn), .to(.cleared)],
    .withdrawn: [.to(.submitted), .refused, .refused, .to(.withdrawn), .to(.cleared)],
  ]

  @Test("every step of every state", arguments: SaleState.allCases)
  func table(state: SaleState) throws {
    let results = try #require(Self.table[state])
    for (step, expected) in zip(Self.steps, results) {
      var machine = SaleMachine(state: state)
      do throws(SaleMachine.Refusal) {
        try machine.handle(step, by: "ada", under: SaleMachine.Rules())
        #expect(expected == .to(machine.state), "\(step)")
      } catch {
        #expect(expected == .refused, "\(step)")
        #expect(machine == SaleMachine(state: state))
      }
    }
  }

  @Test("where reviews are asked for, only what was approved is put on sale again", arguments: [true, false])
  func review(isApproved: Bool) throws {
    let rules = SaleMachine.Rules(requiresReview: true)
    for state in [SaleState.draft, .withdrawn] {
      var machine = SaleMachine(state: state, isApproved: isApproved)
      if isApproved {
        try machine.handle(.putOnSale, by: "ada", under: rules)
        #expect(machine.state == .cleared)
      } else {
        #expect(throws: SaleMachine.Refusal.needsReview(state)) {
          try machine.handle(.putOnSale, by: "ada", under: rules)
        }
      }
    }
  }

  @Test("who handed it in may not approve it where another key is asked for")
  func secondKey() throws {
    let rules = SaleMachine.Rules(requiresSecondKey: true)
    var machine = SaleMachine(state: .draft)
    try machine.handle(.submit, by: "ada", under: rules)
    #expect(throws: SaleMachine.Refusal.needsSecondKey("ada")) {
      try machine.handle(.approve, by: "ada", under: rules)
    }
    try machine.handle(.approve, by: "bob", under: rules)
    #expect(machine.state == .cleared && machine.isApproved)
  }

  @Test("what becomes another product is reviewed again, where reviews are asked for")
  func becomesAnother() {
    for (requiresReview, expected) in [(true, SaleState.draft), (false, .cleared)] {
      var machine = SaleMachine(state: .cleared, isApproved: true)
      machine.becameAnother(under: SaleMachine.Rules(requiresReview: requiresReview))
      #expect(machine.state == expected && !machine.isApproved)
    }
  }
}
