/// The agent of a sequence and its updates. Without one of an app's own choice ``AppStore/agent`` is taken, with the first question: a sequence is
/// made without an error, and its first element throws `HTTPClientError` where no client can be made.
struct FollowedAgent {
  private var chosen: AgentClient?
  private var updates: AgentUpdates.Iterator?

  init(_ agent: AgentClient?) { chosen = agent }

  /// The client, the same each time.
  mutating func client() throws -> AgentClient {
    let agent = try chosen ?? AppStore.agent
    chosen = agent
    return agent
  }

  /// The next update, by a connection that the first opens. Throws as ``AgentUpdates`` does.
  mutating func next() async throws -> AgentUpdate? {
    var updates = try self.updates ?? client().updates().makeAsyncIterator()
    defer { self.updates = updates }
    return try await updates.next()
  }
}
