import PullboxKit

/// Notes once that the agent does not answer, however often it is tried, and once that it is back.
struct AgentOutageNotice {
  /// Whether the agent was lost and no snapshot has come since.
  private var isGone = false

  /// A notice for an agent that has answered so far.
  init() {}

  /// The line to show; nil where nothing changed.
  mutating func note(on update: AgentUpdate) -> String? {
    switch update {
    case .lost where !isGone:
      isGone = true
      return "the agent does not answer; waiting for it to come back"
    case .snapshot where isGone:
      isGone = false
      return "the agent is back"
    case .lost, .snapshot, .event: return nil
    }
  }
}
