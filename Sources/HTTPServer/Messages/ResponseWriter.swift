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
