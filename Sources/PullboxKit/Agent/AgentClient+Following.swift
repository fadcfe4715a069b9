public import CoreTypes
public import PullboxAPI
public import PullboxAPIClient
public import ServiceRuntime

extension AgentClient {
  /// Calls `handle` with how everything stands and then with every change, through restarts of the agent,
  /// until it returns ``FollowAction/stop``.
  ///
  /// A first connection that fails throws its `APICallError` at once. Later ones are repeated after the
  /// delays of `backoff`, whose jitter comes from `generator`, up to `maximumFailures` in a row. Throws what
  /// `handle` throws, and `CancellationError`.
  public func follow(
    backoff: Backoff = Backoff(initial: .milliseconds(200), cap: .seconds(5)), maximumFailures: Int = 30,
    clock: any MonotonicClock = SystemMonotonicClock(),
    generator: any RandomNumberGenerator & Sendable = SystemRandomNumberGenerator(),
    _ handle: (AgentUpdate) async throws -> FollowAction
  ) async throws {
    var generator = generator
    var failures = 0
    var wasConnected = false
    while true {
      var reason: APICallError?
      do {
        let events = try await events()
        // After the stream is open: what ended before is in the lists, what ends later is an event.
        let update = AgentUpdate.snapshot(
          transactions: try await transactions(), downloads: try await downloads())
        wasConnected = true
        failures = 0
        if try await handle(update) == .stop { return }
        for try await event in events {
          if try await handle(.event(event)) == .stop { return }
        }
      } catch let error as APICallError {
        guard wasConnected, error.isTemporary else { throw error }
        reason = error
      }
      try Task.checkCancellation()
      failures += 1
      guard failures <= maximumFailures else { throw reason ?? Self.gone }
      let delay = backoff.delay(afterFailures: failures, using: &generator)
      if try await handle(.lost(reason, retryIn: delay)) == .stop { return }
      try await clock.sleep(for: delay)
    }
  }

  private static var gone: APICallError {
    .problem(Problem(.unavailable, "the agent stopped and did not come back"))
  }
}

/// What a follower of the agent is called with.
public enum AgentUpdate: Sendable {
  /// Connected, for the first time or again: how everything stands. Events may repeat part of it.
  case snapshot(transactions: [AgentTransaction], downloads: [DownloadStatus])
  /// One change.
  case event(AgentEvent)
  /// The agent does not answer; it is tried again after `retryIn`. Its downloads continue when it comes back.
  case lost(APICallError?, retryIn: Duration)
}

/// What a follower returns after an update.
public enum FollowAction: Sendable {
  /// Wait for the next update.
  case `continue`
  /// End the following without an error.
  case stop
}
