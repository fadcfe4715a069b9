import CoreTypes

/// Sends HTTP/1.1 requests over libcurl, on one thread of its own and with one pool of kept connections.
///
/// A ``ClientRequest`` says what to send and bounds the transfer. ``send(_:)`` returns a ``ClientResponse``
/// with the whole body; ``stream(_:to:)`` hands the body to a ``TransferReceiver`` as it arrives, which may
/// refuse, pause and stop it. Every status is a result; a transfer without one throws ``HTTPClientError``.
/// Requests of any number of tasks run side by side. Where libcurl itself fails, the transfers that run fail, and the
/// thread starts anew. Canceling the task cancels its transfer. Letting the
/// last reference go shuts the client down.
///
/// ```swift
/// let client = try HTTPClient()
/// var request = ClientRequest(url: "https://pull.example/v1/products/tea")
/// request.maximumResponseLength = .kibibytes(256)
/// let response = try await client.send(request)
/// if response.status == 200 { print(String(decoding: response.body, as: UTF8.self)) }
/// ```
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

  /// Sends a request and returns the response with its whole body, of at most
  /// ``ClientRequest/maximumResponseLength`` (1 MiB unless given).
  public func send(_ request: ClientRequest) async throws(HTTPClientError) -> ClientResponse {
    var request = request
    request.maximumResponseLength = request.maximumResponseLength ?? .mebibytes(1)
    request.receiveBufferLength = request.receiveBufferLength ?? .kibibytes(16)
    let receiver = CollectingReceiver()
    let summary = try await stream(request, to: receiver)
    return ClientResponse(head: summary.head, body: receiver.removeBytes())
  }

  /// Sends a request, hands the response to `receiver` as it arrives, and returns when its last byte was
  /// consumed. Throws ``HTTPClientError``; bytes that the receiver consumed before stay consumed.
  public func stream(
    _ request: ClientRequest, to receiver: any TransferReceiver
  ) async throws(HTTPClientError) -> TransferSummary {
    try RequestValidator.check(request)
    let token = TransferToken()
    let handle = TransferHandle(token: token, mailbox: mailbox)
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

  /// Returns once the client's thread has come by: a sign of life for a watchdog. Returns at once after
  /// ``shutDown()``.
  public func pulse() async {
    await withCheckedContinuation { continuation in
      mailbox.post(.pulse { continuation.resume() })
    }
  }

  /// Closes every connection, and ends the transfers that run as ``HTTPClientError/Code/connectionLost``; later requests make
  /// connections of their own. For a machine that goes to sleep, whose connections are dead when it wakes up. Returns when they are
  /// closed.
  public func disconnect() async {
    await withCheckedContinuation { continuation in
      mailbox.post(.disconnect { continuation.resume() })
    }
  }

  /// Ends every transfer as ``HTTPClientError/Code/shutDown`` and lets the thread go; does not wait for it.
  /// Later requests fail the same way.
  public func shutDown() {
    mailbox.close()
  }
}

/// The settings of every transfer of an ``HTTPClient``.
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
  /// The certificates that are trusted where a request does not say otherwise.
  public var trust = ServerTrust()
  /// Makes a turn of the loop fail, for tests.
  var loopFault: @Sendable () -> HTTPClientError? = { nil }

  /// A configuration with the defaults of every property.
  public init() {}
}
