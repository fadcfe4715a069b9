public import CoreTypes

/// Why a transfer has no result. Any HTTP status is a result and never an error.
public struct HTTPClientError: Error, Sendable, CustomStringConvertible {
  /// The kind of a failure.
  public struct Code: Hashable, Sendable, CustomStringConvertible {
    private enum Name: String {
      case invalidRequest
      case noNetwork
      case hostNotFound
      case connectionFailed
      case secureConnectionFailed
      case certificateNotTrusted
      case certificateOutOfDate
      case certificateForAnotherName
      case certificateNotPinned
      case proxyRefused
      case connectionLost
      case timedOut
      case protocolViolation
      case tooManyRedirects
      case tooLarge
      case refused
      case stopped
      case cancelled
      case unreadableBody
      case shutDown
      case internalFailure
    }

    private let name: Name

    /// The request cannot be sent as it is: a malformed URL, another scheme, a line break in a field.
    public static let invalidRequest = Code(name: .invalidRequest)
    /// This machine has no way to any network, so that nothing was sent.
    public static let noNetwork = Code(name: .noNetwork)
    /// The name of the host, or of its proxy, has no address.
    public static let hostNotFound = Code(name: .hostNotFound)
    /// No connection could be made to the host or its proxy.
    public static let connectionFailed = Code(name: .connectionFailed)
    /// TLS could not be agreed on, for a reason other than the peer's certificate.
    public static let secureConnectionFailed = Code(name: .secureConnectionFailed)
    /// No authority that counts here has signed the peer's certificate.
    public static let certificateNotTrusted = Code(name: .certificateNotTrusted)
    /// The peer's certificate has expired, or is not valid yet: by this machine's clock, which may be wrong.
    public static let certificateOutOfDate = Code(name: .certificateOutOfDate)
    /// The peer's certificate names other hosts.
    public static let certificateForAnotherName = Code(name: .certificateForAnotherName)
    /// The peer's public key is none of ``ServerTrust/publicKeyPins``.
    public static let certificateNotPinned = Code(name: .certificateNotPinned)
    /// A proxy was reached, and refused to open a tunnel to the host: with 407, for example.
    public static let proxyRefused = Code(name: .proxyRefused)
    /// The connection broke after it was made: no response, or part of one (see
    /// ``HTTPClientError/bytesReceived``).
    public static let connectionLost = Code(name: .connectionLost)
    /// A time-out of the request passed, or the transfer stayed below its lowest speed.
    public static let timedOut = Code(name: .timedOut)
    /// The peer sent bytes that are not HTTP, broke the bounds of a head, or redirected to a protocol other
    /// than HTTP.
    public static let protocolViolation = Code(name: .protocolViolation)
    /// More redirects than ``ClientRequest/maximumRedirects``.
    public static let tooManyRedirects = Code(name: .tooManyRedirects)
    /// The body is longer than ``ClientRequest/maximumResponseLength``.
    public static let tooLarge = Code(name: .tooLarge)
    /// The receiver refused the head; ``HTTPClientError/head`` and ``HTTPClientError/body`` tell what came.
    public static let refused = Code(name: .refused)
    /// The receiver wanted no more.
    public static let stopped = Code(name: .stopped)
    /// The task, or a ``TransferHandle``, canceled the transfer.
    public static let cancelled = Code(name: .cancelled)
    /// The file to send could not be read, or is shorter than the range.
    public static let unreadableBody = Code(name: .unreadableBody)
    /// The client was shut down before the transfer's end.
    public static let shutDown = Code(name: .shutDown)
    /// libcurl failed for a reason of its own, such as memory.
    public static let internalFailure = Code(name: .internalFailure)

    /// Short and without values: fit for a metric's label.
    public var description: String { name.rawValue }
  }

  /// Why, for code.
  public let code: Code
  /// A sentence for people, without a full stop.
  public let message: String
  /// Whether the same request may succeed later.
  public let isRetryable: Bool
  /// Bytes of the body that the receiver consumed before the transfer ended.
  public let bytesReceived: ByteCount
  /// Whether a connection to the host, or to its proxy, was made: what failed after that is no matter of the address.
  public let wasConnected: Bool
  /// The final head; nil when the transfer ended before it had come.
  public let head: ResponseHead?
  /// Up to 64 KiB of the body of a refused response; empty otherwise.
  public let body: [UInt8]

  /// An error as transfers throw it; public for tests of callers.
  public init(
    code: Code, message: String, isRetryable: Bool = false, bytesReceived: ByteCount = .zero,
    wasConnected: Bool = false, head: ResponseHead? = nil, body: [UInt8] = []
  ) {
    self.code = code
    self.message = message
    self.isRetryable = isRetryable
    self.bytesReceived = bytesReceived
    self.wasConnected = wasConnected
    self.head = head
    self.body = body
  }

  /// Whether the peer's certificate, or its key, does not count here.
  public var isCertificateFault: Bool {
    [.certificateNotTrusted, .certificateOutOfDate, .certificateForAnotherName, .certificateNotPinned]
      .contains(code)
  }

  /// The code and the message.
  public var description: String { "\(code): \(message)" }
}
