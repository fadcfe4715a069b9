/// Learns how many bytes of a response body the kernel has taken, as it takes them. Called on a loop's thread: return at
/// once.
public protocol BodyMeter: AnyObject, Sendable {
  func didSend(_ count: Int)
}
