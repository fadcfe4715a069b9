/// Why a streamed response cannot go on.
public struct ResponseWriterError: Error, Hashable, Sendable, CustomStringConvertible {
  public enum Code: Hashable, Sendable {
    /// The peer closed the connection, was too slow, or the server's drain deadline passed.
    case peerGone
    /// More bytes than the announced content length.
    case tooManyBytes
    case cancelled
  }

  public let code: Code

  public init(_ code: Code) {
    self.code = code
  }

  public var description: String {
    switch code {
    case .peerGone: "the peer of a streamed response is gone"
    case .tooManyBytes: "more bytes were written than the response announced"
    case .cancelled: "the response was abandoned"
    }
  }
}
