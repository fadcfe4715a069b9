public import CoreTypes

/// How long the calls of a client are made again while nobody answers them, as while the service restarts. Only for services
/// at which every request may be made twice.
public struct UnavailabilityRetry: Sendable {
  private static let firstPause = Duration.milliseconds(250)
  private static let longestPause = Duration.seconds(5)

  /// From a call's first failure to its last repetition.
  public var limit: Duration
  public var clock: any MonotonicClock
  /// Told at a call's first failure, before it is waited.
  public var onFirstFailure: @Sendable (APICallError) -> Void

  public init(
    limit: Duration, clock: any MonotonicClock = SystemMonotonicClock(),
    onFirstFailure: @escaping @Sendable (APICallError) -> Void = { _ in }
  ) {
    self.limit = limit
    self.clock = clock
    self.onFirstFailure = onFirstFailure
  }

  /// Repeats `body` after growing pauses, not before a `Retry-After`, as long as it fails with ``APICallError/isUnavailable``.
  /// Throws the last failure once the limit has passed, and when the task is cancelled.
  public func run<Value>(
    _ body: () async throws(APICallError) -> Value
  ) async throws(APICallError) -> Value {
    var end: MonotonicInstant?
    var pause = Self.firstPause
    while true {
      do throws(APICallError) {
        return try await body()
      } catch {
        guard error.isUnavailable, limit > .zero else { throw error }
        let now = clock.now()
        if end == nil { onFirstFailure(error) }
        let last = end ?? now + limit
        end = last
        guard now < last else { throw error }
        // The last repetition is at the very end.
        let delay = min(max(pause, error.retryAfter ?? .zero), last - now)
        do {
          try await clock.sleep(for: delay)
        } catch {
          // Cancelled: what the call met is what is left to say.
        }
        guard !Task.isCancelled else { throw error }
        pause = min(pause * 2, Self.longestPause)
      }
    }
  }
}
