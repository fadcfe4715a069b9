import CoreTypes

/// Sends HTTP/1.1 requests over libcurl, on one thread of its own and with one pool of kept connections.
/// Requests of any number of tasks run side by side. Cancelling the task cancels its transfer.
public final class HTTPClient: Sendable {
  private let configuration: HTTPClientConfiguration
  private let mailbox: TransferMailbox

  /// Throws ``HTTPClientError/Code/internalFailure`` when libcurl lacks something this client needs, or the
  /// thread cannot be started.
  public init(configuration: HTTPClientConfiguration = HTTPClientConfiguration()) throws(HTTPClientError) {
    self.configuration = configuration
    mailbox = try TransferLoop.start(configuration: configuration)
  }

  deinit {
    mailbox.close()
  }

  /// The response with its whole body, of at most ``ClientRequest/maximumResponseLength`` (1 MiB unless
  /// given).
  public func send(_ request: ClientRequest) async throws(HTTPClientError) -> ClientResponse {
    var request = request
    request.maximumResponseLength = request.maximumResponseLength ?? .mebibytes(1)
    request.receiveBufferLength = request.receiveBufferLength ?? .kibibytes(16)
    let receiver = CollectingReceiver()
    let summary = try await stream(request, to: receiver)
    return ClientResponse(head: summary.head, body: receiver.take())
  }

  /// Hands the response to `receiver` as it arrives and returns when its last byte was consumed.
  public func stream(
    _ request: ClientRequest, to receiver: any TransferReceiver
  ) async throws(HTTPClientError) -> TransferSummary {
    try RequestValidator.check(request)
    let ticket = TransferToken()
    let handle = TransferHandle(ticket: ticket, mailbox: mailbox)
    let result = await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        mailbox.post(
          .start(
            PendingTransfer(
              request: request, receiver: receiver, handle: handle,
              completion: { continuation.resume(returning: $0) })))
      }
    } onCancel: {
      handle.cancel()
    }
    return try result.get()
  }

  /// Ends every transfer as ``HTTPClientError/Code/shutDown`` and lets the thread go; does not wait for it.
  /// Later requests fail the same way.
  public func shutDown() {
    mailbox.close()
  }
}
