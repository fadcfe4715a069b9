internal import Dispatch
internal import Synchronization

/// Work begun on a ``BlockingPool``. It runs whether or not anybody asks for its result.
public final class PendingResult<Value: Sendable, Failure: Error>: Sendable {
  private let result = Mutex<Result<Value, Failure>?>(nil)
  private let done = DispatchSemaphore(value: 0)

  init() {}

  func set(_ result: Result<Value, Failure>) {
    self.result.withLock { $0 = result }
    done.signal()
  }

  /// Blocks the caller until the work has run: for threads of our own, never from the cooperative pool nor from a thread
  /// of the pool that the work was given to. Can be asked again.
  public func get() throws(Failure) -> Value {
    done.wait()
    done.signal()
    guard let result = result.withLock({ $0 }) else { preconditionFailure("nothing was set") }
    return try result.get()
  }
}
