internal import Synchronization

/// A value that several threads of a test share.
public final class Locked<Value: Sendable>: Sendable {
  private let value: Mutex<Value>

  public init(_ value: Value) {
    self.value = Mutex(value)
  }

  public func withLock<Result: Sendable>(_ body: (inout Value) throws -> Result) rethrows -> Result {
    try value.withLock { value in try body(&value) }
  }

  public var current: Value { withLock { $0 } }
}
