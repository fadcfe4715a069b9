/// Learns of a response body: that its sending begins, how many of its bytes the kernel has taken, as it takes them, and
/// that it is over. Called on a loop's thread: return at once.
public protocol BodyMeter: AnyObject, Sendable {
  /// A body with content that carries this meter is about to be sent. Not for `HEAD`, nor for an empty range.
  func didBegin()
  func didSend(_ count: Int)
  /// Once for each ``didBegin()``, whether the body was sent to its end or not.
  func didEnd()
  /// Stands for the other three together, where a body is over as soon as it begins.
  func didSendAtOnce(_ count: Int)
}

extension BodyMeter {
  public func didBegin() {}
  public func didEnd() {}
  public func didSendAtOnce(_ count: Int) {
    didBegin()
    didSend(count)
    didEnd()
  }
}
