import APICalling
import HTTPClient
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

/// A running transfer of events.
final class EventConnection: Sendable {
  private let mailbox: EventMailbox
  private let transfer: Task<Void, Never>

  init(_ request: ClientRequest, client: HTTPClient) {
    let mailbox = EventMailbox()
    self.mailbox = mailbox
    // The stream outlives the call that opens it; this object's end cancels it.
    transfer = Task {
      do throws(HTTPClientError) {
        _ = try await client.stream(request, to: mailbox)
        mailbox.finish(.success(()))
      } catch {
        if error.code == .refused, let head = error.head {
          mailbox.finish(.failure(APIClient.refusal(head: head, body: error.body)))
        } else {
          mailbox.finish(.failure(.unreachable(error)))
        }
      }
    }
  }

  deinit {
    transfer.cancel()
  }

  func waitUntilOpen() async throws {
    try await withTaskCancellationHandler {
      try await mailbox.waitUntilOpen()
    } onCancel: {
      transfer.cancel()
    }
  }

  func next() async throws -> AgentEvent? {
    do {
      return try await withTaskCancellationHandler {
        try await mailbox.next()
      } onCancel: {
        transfer.cancel()
      }
    } catch {
      try Task.checkCancellation()
      throw error
    }
  }
}
