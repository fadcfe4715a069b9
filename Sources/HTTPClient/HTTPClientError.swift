public import CoreTypes

/// Why a transfer has no result. An HTTP status, whichever, is a result and never this.
public struct HTTPClientError: Error, Sendable, CustomStringConvertible {
  public struct Code: Hashable, Sendable, CustomStringConvertible {
    private enum Name: String {
      case invalidRequest
      case hostNotFound
      case connectionFailed
      case secureConnectionFailed
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
    public static let hostNotFound = Code(name: .hostNotFound)
    public static let connectionFailed = Code(name: .connectionFailed)
    /// TLS could not be agreed on, or the peer's certificate is not trusted.
    public static let secureConnectionFailed = Code(name: .secureConnectionFailed)
    /// The connection broke after it was made: no response, or part of one (see
    /// ``HTTPClientError/bytesReceived``).
    public static let connectionLost = Code(name: .connectionLost)
    /// A time-out of the request passed, or the transfer stayed below its lowest speed.
    public static let timedOut = Code(name: .timedOut)
    /// What came is not HTTP, breaks the bounds of a head, or leads to a protocol other than HTTP.
    public static let protocolViolation = Code(name: .protocolViolation)
    public static let tooManyRedirects = Code(name: .tooManyRedirects)
    public static let tooLarge = Code(name: .tooLarge)
    /// The receiver refused the head; ``HTTPClientError/head`` and ``HTTPClientError/body`` tell what came.
    public static let refused = Code(name: .refused)
    /// The receiver wanted no more.
    public static let stopped = Code(name: .stopped)
    public static let cancelled = Code(name: .cancelled)
    /// The file to send could not be read, or is shorter than the range.
    public static let unreadableBody = Code(name: .unreadableBody)
    public static let shutDown = Code(name: .shutDown)
    /// libcurl failed for a reason of its own, such as memory.
    public static let internalFailure = Code(name: .internalFailure)

    /// Short and without values: fit for a metric's label.
    public var description: String { name.rawValue }
  }

  public let code: Code
  /// A sentence for people, without a full stop.
  public let message: String
  /// Whether the same request may succeed later.
  public let isRetryable: Bool
  /// Of the body, as consumed by the receiver, before the transfer ended.
  public let bytesReceived: ByteCount
  /// The final head, where it had come in.
  public let head: ResponseHead?
  /// Up to 64 KiB of the body of a refused response; empty otherwise.
  public let body: [UInt8]

  public init(
    code: Code, message: String, isRetryable: Bool = false, bytesReceived: ByteCount = .zero,
    head: ResponseHead? = nil, body: [UInt8] = []
  ) {
    self.code = code
    self.message = message
    self.isRetryable = isRetryable
    self.bytesReceived = bytesReceived
    self.head = head
    self.body = body
  }

  public var description: String { "\(code): \(message)" }
}
