import Dispatch

/// Holds a script until a test lets it go on.
final class Gate: Sendable {
  private let semaphore = DispatchSemaphore(value: 0)

  func open() {
    semaphore.signal()
  }

  /// Blocks, on the peer's own thread.
  func wait() {
    semaphore.wait()
  }
}
