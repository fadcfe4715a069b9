import PullboxAPI
import PullboxKit
import PullboxOperatorKit
import ServiceAPI
import Testing

@testable import pullbox

@Suite("The steps that publishing takes")
struct PublishStepTests {
  /// From `state` on, each step succeeding.
  private func steps(from state: VersionState, submits: Bool = true, releases: Bool = false) -> [ReviewStep] {
    var state = state
    var steps: [ReviewStep] = []
    while let step = PublishCommand.nextStep(state, submits: submits, releases: releases) {
      steps.append(step)
      state = step == .submit ? .submitted : step == .approve ? .approved : .released
    }
    return steps
  }

  @Test("a new version is handed in, or left a draft when that is wanted")
  func handedIn() {
    #expect(steps(from: .draft) == [.submit])
    #expect(steps(from: .rejected) == [.submit])
    #expect(steps(from: .draft, submits: false).isEmpty)
  }

  @Test("releasing takes the steps that are missing, and none again")
  func released() {
    #expect(steps(from: .draft, releases: true) == [.submit, .approve, .release])
    #expect(steps(from: .submitted, releases: true) == [.approve, .release])
    #expect(steps(from: .superseded, releases: true) == [.release])
    #expect(steps(from: .released, releases: true).isEmpty)
    #expect(steps(from: .withdrawn, releases: true).isEmpty)
  }
}
