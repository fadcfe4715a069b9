/// Takes a response as it arrives. Everything is called on the client's thread, which all its transfers
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
  public func start(_ handle: TransferHandle) {}
}
