public import CoreTypes
public import PullboxAPI
public import PullboxAPIClient
public import ServiceRuntime

extension AgentClient {
  /// Tells `handle` how everything stands and then every change, through restarts of the agent, until it answers
  /// ``FollowAction/stop``.
  ///
  /// A first connection that fails throws its `APICallError` at once. Later ones are repeated as `backoff` says, up to
  /// `maximumFailures` in a row. Throws what `handle` throws.
  public func follow(
    backoff: Backoff = Backoff(initial: .milliseconds(200), cap: .seconds(5)), maximumFailures: Int = 30,
    clock: any MonotonicClock = SystemMonotonicClock(),
    _ handle: (AgentUpdate) async throws -> FollowAction
  ) async throws {
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
      let delay = backoff.delay(afterFailures: failures)
      if try await handle(.lost(reason, retryIn: delay)) == .stop { return }
      try await clock.sleep(for: delay)
    }
  }

  private static var gone: APICallError {
    .problem(Problem(.unavailable, "the agent stopped and did not come back"))
  }
}

/// What somebody who follows the agent is told.
public enum AgentUpdate: Sendable {
  /// Connected, for the first time or again: how everything stands. Events may repeat part of it.
  case snapshot(transactions: [AgentTransaction], downloads: [DownloadStatus])
  case event(AgentEvent)
  /// The agent is gone; it is tried again after `retryIn`. Its downloads go on when it comes back.
  case lost(APICallError?, retryIn: Duration)
}

/// What a follower wants after an update.
public enum FollowAction: Sendable {
  case goOn
  case stop
}
