public import PullboxAPI

/// The agent's events as they come, for one reader. Ends when the agent closes the stream (it does when it stops) and
/// throws `APICallError` when the connection breaks. The connection is closed when the last copy goes away.
public struct AgentEvents: AsyncSequence, Sendable {
  public typealias Element = AgentEvent
  public typealias Failure = any Error

  private let connection: EventConnection

  init(_ connection: EventConnection) {
    self.connection = connection
  }

  public func makeAsyncIterator() -> Iterator { Iterator(connection: connection) }

  public struct Iterator: AsyncIteratorProtocol {
    fileprivate let connection: EventConnection

    /// Cancelling the task ends the sequence for good.
    public mutating func next() async throws -> AgentEvent? { try await connection.next() }
  }
}
