/// `PATCH /v1/downloads/{id}` of the agent.
public struct AgentDownloadChange: Codable, Hashable, Sendable {
  /// Higher goes first; 0 unless changed.
  public var priority: Int?

  public static let priorities = -1000...1000

  public init(priority: Int? = nil) {
    self.priority = priority
  }
}
