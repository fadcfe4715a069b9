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

/// What holds for every transfer of a client.
public struct HTTPClientConfiguration: Sendable {
  /// Sent as `User-Agent` unless a request brings its own.
  public var userAgent = "pullbox"
  /// Connections kept for reuse, idle ones included.
  public var maximumConnections = 32
  /// Connections to one host at a time; further transfers wait for one. Zero is no bound.
  public var maximumConnectionsPerHost = 0
  /// Whether `http_proxy`, `https_proxy` and `no_proxy` of the environment count. Loopback addresses and Unix
  /// sockets are always reached directly.
  public var usesProxyOfEnvironment = true
  /// PEM file of the certificate authorities to trust in place of the system's.
  public var certificateAuthorityFile: String?

  public init() {}
}
