/// Sends the bytes of a streamed response (``ResponseBody/stream(contentLength:_:)``).
public struct ResponseWriter: Sendable {
  private let exchange: Exchange

  init(_ exchange: Exchange) {
    self.exchange = exchange
  }

  /// Returns when the server has taken `bytes` and holds less than
  /// ``HTTPServerConfiguration/streamBufferLength`` unsent ones. Throws ``ResponseWriterError`` when the peer
  /// is gone, when more bytes are written than were announced, or when the task is cancelled.
  public func write(_ bytes: [UInt8]) async throws(ResponseWriterError) {
    try await exchange.write(bytes)
  }

  /// Writes the text's UTF-8 like ``write(_:)-([UInt8])``.
  public func write(_ text: String) async throws(ResponseWriterError) {
    try await exchange.write(Array(text.utf8))
  }
}

/// Why a streamed response cannot go on.
public struct ResponseWriterError: Error, Hashable, Sendable, CustomStringConvertible {
  /// The kind of a failure.
  public struct Code: Hashable, Sendable {
    fileprivate enum Name: Hashable {
      case peerGone
      case tooManyBytes
      case cancelled
    }

    fileprivate let name: Name

    /// The peer closed the connection, was too slow, or the server's drain deadline passed.
    public static let peerGone = Code(name: .peerGone)
    /// More bytes than the announced content length.
    public static let tooManyBytes = Code(name: .tooManyBytes)
    /// The task that writes was canceled.
    public static let cancelled = Code(name: .cancelled)
  }

  /// Why, for code.
  public let code: Code

  /// An error as writing throws it; public for tests of callers.
  public init(_ code: Code) {
    self.code = code
  }

  /// The code as a sentence for people, without a full stop.
  public var message: String {
    switch code.name {
    case .peerGone: "the peer of a streamed response is gone"
    case .tooManyBytes: "more bytes were written than the response announced"
    case .cancelled: "the response was abandoned"
    }
  }

  /// The message.
  public var description: String { message }
}
