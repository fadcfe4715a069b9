public import CoreTypes
import Synchronization

/// Steers one running transfer, from any thread. After the transfer's end all calls do nothing.
public struct TransferHandle: Sendable {
  let ticket: TransferToken
  let mailbox: TransferMailbox

  /// Stops moving bytes in both directions; the connection stays open. The total time-out goes on.
  public func pause() {
    mailbox.post(.pause(ticket))
  }

  public func resume() {
    mailbox.post(.resume(ticket))
  }

  /// Ends the transfer as ``HTTPClientError/Code/cancelled``, unless it has ended by itself.
  public func cancel() {
    ticket.markCancelled()
    mailbox.post(.cancel(ticket))
  }

  /// Bytes per second from now on; nil is no cap.
  public func setMaximumReceiveSpeed(_ speed: ByteCount?) {
    mailbox.post(.limit(ticket, speed))
  }
}

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

/// Names one transfer across threads, and remembers whether it was cancelled, possibly before the loop knew
/// of it.
final class TransferToken: Sendable {
  private let cancelled = Atomic(false)

  var isCancelled: Bool { cancelled.load(ordering: .acquiring) }

  func markCancelled() {
    cancelled.store(true, ordering: .releasing)
  }
}
