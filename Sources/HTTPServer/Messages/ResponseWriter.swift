/// Takes the bytes of a streamed response.
public struct ResponseWriter: Sendable {
  private let exchange: Exchange

  init(_ exchange: Exchange) {
    self.exchange = exchange
  }

  /// Returns when the server has taken `bytes` and holds less than ``HTTPServerConfiguration/streamBufferLength`` unsent
  /// ones. Throws ``ResponseWriterError`` when the peer is gone, when more bytes are written than were announced, or when
  /// the task is cancelled.
  public func write(_ bytes: [UInt8]) async throws(ResponseWriterError) {
    try await exchange.write(bytes)
  }

  /// As ``write(_:)-([UInt8])``.
  public func write(_ text: String) async throws(ResponseWriterError) {
    try await exchange.write(Array(text.utf8))
  }
}

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
