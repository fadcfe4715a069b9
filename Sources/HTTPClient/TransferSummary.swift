public import CoreTypes

/// What a transfer that ran to its end moved, and how long that took.
public struct TransferSummary: Sendable {
  public var head: ResponseHead
  /// Of the body, as handed to the receiver.
  public var bytesReceived: ByteCount
  /// Of the request's body.
  public var bytesSent: ByteCount
  public var duration: Duration
  /// Until the first byte of the response.
  public var timeToFirstByte: Duration
  /// Zero where a kept connection was used.
  public var newConnections: Int
  public var redirects: Int
}
