internal import Synchronization

/// A value that several threads of a test share.
public final class Locked<Value: Sendable>: Sendable {
  /// The value with its lock.
  private let value: Mutex<Value>

  /// Starts with `value`.
  public init(_ value: Value) {
    self.value = Mutex(value)
  }

  /// Runs `body` while no other thread sees the value.
  public func withLock<Result: Sendable>(_ body: (inout Value) throws -> Result) rethrows -> Result {
    try value.withLock { value in try body(&value) }
  }

  /// A copy of the value.
  public var current: Value { withLock { $0 } }
}
