import Dispatch
import Synchronization

/// Holds a thread until it is opened; it stays open.
final class Gate: Sendable {
  private let semaphore = DispatchSemaphore(value: 0)

  func wait() {
    semaphore.wait()
    semaphore.signal()
  }

  func open() {
    semaphore.signal()
  }
}

/// Lets a task wait until a thread has come to a point.
final class Signal: Sendable {
  private let (stream, continuation) = AsyncStream.makeStream(of: Void.self)

  func set() {
    continuation.yield()
  }

  func wait() async {
    for await _ in stream { return }
  }
}
