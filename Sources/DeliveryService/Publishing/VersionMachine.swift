import PullboxAPI

/// The one state machine of a content version, from draft to withdrawal.
struct VersionMachine: Hashable, Sendable {
  enum Step: String, Hashable, Sendable, CaseIterable {
    case submit
    case approve
    case reject
    case release
    case withdraw
    /// Another version of the product was released.
    case supersede
  }

  private(set) var state: VersionState

  init(state: VersionState = .draft) {
    self.state = state
  }

  /// True when the step was taken or had been taken before; false when the state does not allow it.
  mutating func take(_ step: Step) -> Bool {
    guard let next = Self.next(state, step) else { return false }
    state = next
    return true
  }

  private static func next(_ state: VersionState, _ step: Step) -> VersionState? {
    switch (step, state) {
    case (.submit, .draft), (.submit, .rejected), (.submit, .submitted): .submitted
    case (.approve, .submitted), (.approve, .approved): .approved
    case (.reject, .submitted), (.reject, .approved), (.reject, .rejected): .rejected
    // Releasing a superseded version again is how one rolls back.
    case (.release, .approved), (.release, .superseded), (.release, .released): .released
    case (.withdraw, .released), (.withdraw, .superseded), (.withdraw, .withdrawn): .withdrawn
    case (.supersede, .released): .superseded
    case (.supersede, _): state
    default: nil
    }
  }
}
