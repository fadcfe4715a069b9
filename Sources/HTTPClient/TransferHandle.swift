public import CoreTypes
import Synchronization

/// Steers one running transfer, from any thread. After the transfer's end all calls do nothing.
public struct TransferHandle: Sendable {
  let token: TransferToken
  let mailbox: TransferMailbox

  /// Stops moving bytes in both directions; the connection stays open. The total time-out goes on.
  public func pause() {
    mailbox.post(.pause(token))
  }

  /// Moves bytes again after ``pause()``, or after a receiver has answered ``BodyDecision/pause``.
  public func resume() {
    mailbox.post(.resume(token))
  }

  /// Ends the transfer as ``HTTPClientError/Code/cancelled``, unless it has ended by itself.
  public func cancel() {
    token.markCancelled()
    mailbox.post(.cancel(token))
  }
}

/// What a transfer that ran to its end moved, and how long that took.
public struct TransferSummary: Sendable {
  /// The final head.
  public var head: ResponseHead
  /// Bytes of the response's body that the receiver consumed.
  public var bytesReceived: ByteCount
  /// Bytes of the request's body.
  public var bytesSent: ByteCount
  /// From the start to the last byte.
  public var duration: Duration
  /// Until the first byte of the response.
  public var timeToFirstByte: Duration
  /// Zero where a kept connection was used.
  public var newConnections: Int
  /// Redirects followed.
  public var redirects: Int
}

/// Names one transfer across threads, and remembers whether it was cancelled, possibly before the loop
/// knew it.
final class TransferToken: Sendable {
  private let cancelled = Atomic(false)

  var isCancelled: Bool { cancelled.load(ordering: .acquiring) }

  func markCancelled() {
    cancelled.store(true, ordering: .releasing)
  }
}
