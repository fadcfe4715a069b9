/// One event of a `text/event-stream`.
public struct ServerSentEvent: Hashable, Sendable {
  /// `message` where the stream named none.
  public var name: String
  /// The `data` lines, joined by line feeds.
  public var data: [UInt8]
  /// The identifier in force when the event came; empty before the first.
  public var lastIdentifier: String

  public init(name: String, data: [UInt8], lastIdentifier: String = "") {
    self.name = name
    self.data = data
    self.lastIdentifier = lastIdentifier
  }
}
