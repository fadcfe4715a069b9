import HTTPClient
public import PullboxAPI
import PullboxAPIClient
import Synchronization

/// The agent's events in their order, for one reader. Ends when the agent closes the stream (it does when it
/// stops) and throws `APICallError` when the connection breaks. The connection is closed when the last copy
/// goes away.
public struct AgentEvents: AsyncSequence, Sendable {
  /// A change of a transaction, a download or the library.
  public typealias Element = AgentEvent
  /// `APICallError` or `CancellationError`.
  public typealias Failure = any Error

  private let connection: EventConnection

  init(_ connection: EventConnection) {
    self.connection = connection
  }

  /// All iterators read the same stream: use one.
  public func makeAsyncIterator() -> Iterator { Iterator(connection: connection) }

  /// Reads the stream, one event at a time.
  public struct Iterator: AsyncIteratorProtocol {
    fileprivate let connection: EventConnection

    /// The next event; nil once the agent has closed the stream. Cancelling the task ends the sequence for
    /// good.
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

/// Receives the agent's events on the client's thread and holds a bounded number of them until they are asked
/// for: a reader that falls behind pauses the connection.
final class EventMailbox: TransferReceiver {
  private struct State {
    var parser = ServerSentEventParser()
    var handle: TransferHandle?
    var events: [AgentEvent] = []
    var isOpen = false
    var isPaused = false
    /// Set at the end; nil inside is an end without an error.
    var end: Result<Void, APICallError>?
    var opening: CheckedContinuation<Void, Never>?
    var waiting: CheckedContinuation<Void, Never>?
  }

  /// Events that wait before the connection is paused; one more network read may come on top.
  static let bound = 256

  private let state = Mutex(State())

  func start(_ handle: TransferHandle) {
    state.locked { $0.handle = handle }
  }

  func receive(head: ResponseHead) -> HeadDecision {
    let isStream =
      head.status == 200 && head.headers["Content-Type"]?.lowercased().hasPrefix("text/event-stream") == true
    guard isStream else { return .refuse }
    let opening = state.locked { state in
      state.isOpen = true
      return state.opening.take()
    }
    opening?.resume()
    return .accept
  }

  func receive(_ bytes: Span<UInt8>) -> BodyDecision {
    let (decision, waiting) = state.locked {
      state -> (BodyDecision, CheckedContinuation<Void, Never>?) in
      guard state.events.count < Self.bound else {
        state.isPaused = true
        return (.pause, nil)
      }
      do {
        for event in try state.parser.read(bytes) {
          // Names that only a newer agent uses are ignored.
          if let event = try AgentEvent(name: event.name, data: event.data) { state.events.append(event) }
        }
        return (.consumed, state.events.isEmpty ? nil : state.waiting.take())
      } catch {
        let detail = error is DecodingError ? APIJSON.explain(error) : "\(error)"
        state.end = .failure(.unexpectedResponse(status: 200, detail: "an event: \(detail)"))
        return (.stop, state.waiting.take())
      }
    }
    waiting?.resume()
    return decision
  }

  /// The transfer is over; the first end counts.
  func finish(_ result: Result<Void, APICallError>) {
    let continuations = state.locked { state in
      if state.end == nil { state.end = result }
      return [state.opening.take(), state.waiting.take()]
    }
    for continuation in continuations { continuation?.resume() }
  }

  /// Returns when the agent has answered; throws what it refused with.
  func waitUntilOpen() async throws(APICallError) {
    await withCheckedContinuation { continuation in
      let isDecided = state.locked { state in
        if state.isOpen || state.end != nil { return true }
        state.opening = continuation
        return false
      }
      if isDecided { continuation.resume() }
    }
    try state.locked { state in state.isOpen ? .success(()) : state.end ?? .success(()) }.get()
  }

  /// The next event; nil at the end.
  func next() async throws(APICallError) -> AgentEvent? {
    while true {
      let (event, end, handle) = state.locked { state in
        let event = state.events.isEmpty ? nil : state.events.removeFirst()
        var handle: TransferHandle?
        if state.isPaused, state.events.count < Self.bound / 2 {
          state.isPaused = false
          handle = state.handle
        }
        return (event, state.end, handle)
      }
      handle?.resume()
      if let event { return event }
      if let end {
        try end.get()
        return nil
      }
      await waitForChange()
    }
  }

  private func waitForChange() async {
    await withCheckedContinuation { continuation in
      let isReady = state.locked { state in
        if !state.events.isEmpty || state.end != nil { return true }
        state.waiting = continuation
        return false
      }
      if isReady { continuation.resume() }
    }
  }
}
