import CoreTypes
public import PullboxAPI

/// Observations of this device's agent.
public struct DeviceObservations: Sendable {
  /// The result of asking the agent for its status.
  public enum Answer: Sendable {
    /// There is no socket.
    case noSocket
    /// There is one that this process may not use, with these permissions, of the group with that number.
    case denied(permissions: UInt32, group: UInt32)
    /// It was asked and did not answer.
    case silent(String)
    /// It answered.
    case status(AgentStatus)
  }

  /// The agent's socket.
  public var socketPath: String
  /// The result of asking the agent for its status.
  public var answer: Answer
  /// Whether this process may read the library's folder; nil if it was not looked at, or is not there.
  public var mayReadLibrary: Bool?
  /// The conditions of the machine; nil from an agent that does not tell them.
  public var conditions: ConditionsResponse?

  /// Observations from their parts.
  public init(
    socketPath: String, answer: Answer, mayReadLibrary: Bool? = nil, conditions: ConditionsResponse? = nil
  ) {
    self.socketPath = socketPath
    self.answer = answer
    self.mayReadLibrary = mayReadLibrary
    self.conditions = conditions
  }

  /// The delivery server that the agent uses; nil if it does not tell.
  public var server: String? {
    if case .status(let status) = answer { status.server.url } else { nil }
  }
}
