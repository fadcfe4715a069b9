public import PullboxAPIClient
public import PullboxAPI

/// What somebody who follows the agent is told.
public enum AgentUpdate: Sendable {
  /// Connected, for the first time or again: how everything stands. Events may repeat part of it.
  case snapshot(transactions: [AgentTransaction], downloads: [DownloadStatus])
  case event(AgentEvent)
  /// The agent is gone; it is tried again after `retryIn`. Its downloads go on when it comes back.
  case lost(APICallError?, retryIn: Duration)
}
