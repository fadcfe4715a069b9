public import CoreTypes

/// How long the calls of a client are made again while no service answers them, for example while it
/// restarts. Only for services at which every request may be made twice.
///
/// ```swift
/// client.unavailabilityRetry = UnavailabilityRetry(limit: .seconds(60)) { error in
///   log("no answer yet: \(error)")
/// }
/// ```
public struct UnavailabilityRetry: Sendable {
  /// From a call's first failure to its last repetition; zero makes every call once.
  public var limit: Duration
  /// The pauses between the repetitions of one call. A pause is never shorter than a `Retry-After`, to which a
  /// quarter of the pause is added, and never longer than what is left of ``limit``.
  public var backoff: Backoff
  /// Measures the limit and the pauses.
  public var clock: any MonotonicClock
  /// Where the jitter of the pauses comes from; each call begins with a copy of it.
  public var generator: any RandomNumberGenerator & Sendable
  /// Called at a call's first failure, before the first pause, on the task that makes the call.
  public var onFirstFailure: @Sendable (APICallError) -> Void

  /// Pauses begin at 0.25 s and grow to 5 s, less a random part of up to a half, unless `backoff` says
  /// otherwise.
  public init(
    limit: Duration, backoff: Backoff = Backoff(initial: .milliseconds(250), cap: .seconds(5)),
    clock: any MonotonicClock = SystemMonotonicClock(),
    generator: any RandomNumberGenerator & Sendable = SystemRandomNumberGenerator(),
    onFirstFailure: @escaping @Sendable (APICallError) -> Void = { _ in }
  ) {
    self.limit = limit
    self.backoff = backoff
    self.clock = clock
    self.generator = generator
    self.onFirstFailure = onFirstFailure
  }

  /// Repeats `body` as long as it fails with ``APICallError/isUnavailable``. Throws the last failure once the
  /// limit has passed or the task is cancelled, and any other failure at once; so also one whose `Retry-After`
  /// lies beyond the limit, because to ask before that time is no use.
  public func run<Value>(
    _ body: () async throws(APICallError) -> Value
  ) async throws(APICallError) -> Value {
    var generator = generator
    var end: MonotonicInstant?
    var failures = 0
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
        failures += 1
        let pause = backoff.delay(afterFailures: failures, using: &generator)
        let told = error.retryAfter ?? .zero
        guard told <= last - now else { throw error }
        // The pause is random: a part of it spreads clients that were told the same time. The last repetition is
        // at the very end.
        let delay = min(max(pause, told > .zero ? told + pause / 4 : .zero), last - now)
        do {
          try await clock.sleep(for: delay)
        } catch {
          // Cancelled: what the call met is what is left to say.
        }
        guard !Task.isCancelled else { throw error }
      }
    }
  }
}
