import Commerce
import PullboxAPI

extension Problem {
  /// What an operator reads when a step is refused.
  init(
    _ refusal: VersionMachine.Refusal, _ step: VersionMachine.Step, _ product: ProductIdentifier,
    _ version: ContentVersion
  ) {
    switch refusal {
    case .state(let state):
      self.init(
        .stateConflict,
        "\(product) \(version) is \(state.rawValue); \(Self.way(to: step, from: state))")
    case .needsSecondKey(let name):
      self.init(
        .secondKeyRequired,
        "\(product) \(version) was handed in by the key \(name); this server wants another key's approval")
    case .isReleasedToAll:
      self.init(
        .stateConflict,
        "\(product) \(version) is released to all devices; release another version in its place, or withdraw it"
      )
    }
  }

  /// What is to be done in place of the step.
  private static func way(to step: VersionMachine.Step, from state: VersionState) -> String {
    switch (step, state) {
    case (_, .withdrawn): "what was withdrawn does not come back: publish its content as another version"
    case (.release, .draft), (.schedule, .draft), (.release, .rejected), (.schedule, .rejected):
      "submit and approve it before it is released"
    case (.release, .submitted), (.schedule, .submitted): "approve it before it is released"
    case (.approve, .draft), (.approve, .rejected), (.reject, .draft): "submit it first"
    case (.withdraw, _): "only what was released can be withdrawn"
    case (.cancelSchedule, _): "no release of it waits for a date"
    case (.submit, _): "it was approved already"
    case (.reject, _), (.approve, _): "it was released already; withdraw it to take it back"
    default: "it cannot take the step \(step.name)"
    }
  }
}
