public import CoreTypes

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
