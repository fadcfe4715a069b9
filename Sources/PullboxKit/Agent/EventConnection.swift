import PullboxAPIClient
import HTTPClient
import PullboxAPI

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
