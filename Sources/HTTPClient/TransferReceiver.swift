import CoreTypes
import Synchronization

/// Receives a response as it arrives. Everything is called on the client's thread, which all its transfers
/// share: nothing here may block. After the call to ``HTTPClient/stream(_:to:)`` has returned nothing is
/// called any more.
public protocol TransferReceiver: AnyObject, Sendable {
  /// Called first, once; the handle may be kept and used from any thread.
  func start(_ handle: TransferHandle)
  /// Called once, with the final head.
  func receive(head: ResponseHead) -> HeadDecision
  /// Called with at most 16 KiB at a time. The span is gone after the call.
  func receive(_ bytes: Span<UInt8>) -> BodyDecision
}

extension TransferReceiver {
  /// Does not keep the handle.
  public func start(_ handle: TransferHandle) {}
}

/// A decision about a response whose head is known.
public enum HeadDecision: Hashable, Sendable {
  /// The body goes to ``TransferReceiver/receive(_:)``.
  case accept
  /// The transfer ends as ``HTTPClientError/Code/refused``, with the head and up to 64 KiB of the body (which
  /// often says why) in the error.
  case refuse
}

/// The outcome of offering bytes to a receiver.
public enum BodyDecision: Hashable, Sendable {
  /// All of them were consumed.
  case consumed
  /// Nothing was consumed: the same bytes come again after ``TransferHandle/resume()``. A call to it that
  /// happens after the receiver has decided, even before it has returned, is never lost.
  case pause
  /// Nothing was consumed and nothing more is wanted: the transfer ends as ``HTTPClientError/Code/stopped``.
  case stop
}

/// Keeps a whole body in memory; the transfer's own bound limits it.
final class CollectingReceiver: TransferReceiver {
  private let body = Mutex<[UInt8]>([])

  func receive(head: ResponseHead) -> HeadDecision { .accept }

  func receive(_ bytes: Span<UInt8>) -> BodyDecision {
    body.locked { body in
      unsafe bytes.withUnsafeBufferPointer { unsafe body.append(contentsOf: $0) }
    }
    return .consumed
  }

  func removeBytes() -> [UInt8] {
    body.locked { body in
      defer { body = [] }
      return body
    }
  }
}
