import CoreTypes

/// Runs `body`, and throws what `expired` makes when it has not returned after `duration`. Without a duration it may take
/// for ever.
func withTimeout<Value: Sendable>(
  _ duration: Duration?, clock: any MonotonicClock = SystemMonotonicClock(),
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
