public import CoreTypes

/// Runs `body`, and throws what `expired` makes if it has not returned after `duration`: its task is cancelled then, and
/// awaited. Without a duration `body` may take as long as it wants.
///
/// ```swift
/// let state = try await withTimeout(.seconds(30)) {
///   try await agent.status()
/// } expired: {
///   CommandFailure(.undetermined, "the agent does not answer")
/// }
/// ```
public func withTimeout<Value: Sendable>(
  _ duration: Duration?, clock: any MonotonicClock = SystemMonotonicClock(),
  body: @escaping @Sendable () async throws -> Value,
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
