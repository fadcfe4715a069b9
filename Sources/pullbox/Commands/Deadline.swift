import Measures

/// Work that may take so long and no longer.
enum Deadline {
  /// Throws what `expired` makes when `body` is not done after `duration`; nil waits for ever.
  static func run<Value: Sendable>(
    after duration: Duration?, clock: any MonotonicClock = SystemMonotonicClock(),
    _ body: @escaping @Sendable () async throws -> Value,
    expired: @escaping @Sendable () -> any Error
  ) async throws -> Value {
    guard let duration else { return try await body() }
    return try await withThrowingTaskGroup(of: Value?.self) { group in
      group.addTask { try await body() }
      group.addTask {
        try await clock.sleep(for: duration)
        return nil
      }
      defer { group.cancelAll() }
      guard let first = try await group.next(), let value = first else { throw expired() }
      return value
    }
  }
}
