/// Why a request body could not be read to its end.
public struct RequestBodyError: Error, Hashable, Sendable, CustomStringConvertible {
  public enum Code: Hashable, Sendable {
    /// The peer closed, or the server gave up on it, before the body was complete.
    case connectionClosed
    /// The chunked coding was broken; the connection is closed after the response.
    case malformedChunk
    /// The peer sent nothing for longer than the body deadline.
    case timedOut
    /// More than the bound given to ``RequestBody/collect(upTo:)``.
    case tooLarge
    /// The task that reads was cancelled.
    case cancelled
  }

  public let code: Code

  public init(_ code: Code) {
    self.code = code
  }

  public var description: String {
    switch code {
    case .connectionClosed: "the connection was closed before the request body was complete"
    case .malformedChunk: "the chunked request body is malformed"
    case .timedOut: "the request body did not arrive in time"
    case .tooLarge: "the request body is larger than allowed"
    case .cancelled: "the request was abandoned"
    }
  }
}
