package import CoreTypes

/// Whether a store is called at all. Closed, every call may be made; after failures in a row it opens, and
/// then one call, the probe, may be made at intervals, until one is answered. A value: its owner asks for a
/// permit before each call, and notes what became of it.
///
///     var breaker = CircuitBreaker()
///     switch breaker.permit(at: timer.now()) {
///     case .call, .probe: …                     // and then: breaker.note(.answered, of: permit, at: timer.now())
///     case .wait(let duration): …               // nothing is called for that long
///     }
///
/// An interval runs from the start of the last call that failed, so calls that hang for longer do not put the next probe
/// off, whatever was called meanwhile, and a probe whose end is never noted harms nothing.
///
/// Closed it counts failures in a row, and ``failureThreshold`` of them open it. Open it gives one probe an
/// interval out. Any answer closes it. An abandoned call changes nothing, but that an abandoned probe may be
/// made again at once.
package struct CircuitBreaker: Hashable, Sendable {
  /// The answer to a call that wants to be made.
  package enum Permit: Hashable, Sendable {
    /// One of any number, which begins then.
    case call(at: MonotonicInstant)
    /// The one call of this interval.
    case probe
    /// Nothing is called now, nor before that time has passed.
    case wait(Duration)
  }

  /// The end of a call, as far as it says something of the store.
  package enum Outcome: Hashable, Sendable {
    /// The store said something that has to do with the call, be it a refusal: it is there.
    case answered
    /// It could not be reached, or failed; `retryAfter` when it said for how long.
    case failed(retryAfter: Duration?)
    /// The call was ended at this side: nothing is known of the store.
    case abandoned
  }

  /// The state of a store, as its calls have shown it.
  package struct Standing: Hashable, Sendable {
    /// Whether nothing but probes is called.
    package var isOpen = false
    /// How long ago a call was answered last; nil until one was.
    package var sinceAnswer: Duration?
    /// How long ago a call failed last; nil until one has.
    package var sinceFailure: Duration?

    package init(isOpen: Bool = false, sinceAnswer: Duration? = nil, sinceFailure: Duration? = nil) {
      self.isOpen = isOpen
      self.sinceAnswer = sinceAnswer
      self.sinceFailure = sinceFailure
    }
  }

  private enum State: Hashable {
    /// After so many failures in a row, of calls of which the last began at `lastBegun`.
    case closed(failures: Int, lastBegun: MonotonicInstant)
    case open(nextProbe: MonotonicInstant)
  }

  /// Failures in a row that open it.
  static let failureThreshold = 5
  /// The time between two probes of a store that does not answer.
  package static let probeInterval: Duration = .seconds(30)
  /// A store that asks to be left alone for longer is not believed: it may be back before.
  package static let longestPause: Duration = .seconds(45)

  private static let withoutFailures = State.closed(failures: 0, lastBegun: MonotonicInstant(nanoseconds: 0))

  private var state = CircuitBreaker.withoutFailures
  private var lastAnswer: MonotonicInstant?
  private var lastFailure: MonotonicInstant?

  /// Closed, and nothing is known of its store.
  package init() {}

  /// Whether nothing but probes is called.
  package var isOpen: Bool {
    if case .open = state { true } else { false }
  }

  /// Returns the state of the store at `now`, as its calls have shown it.
  package func standing(at now: MonotonicInstant) -> Standing {
    Standing(
      isOpen: isOpen, sinceAnswer: lastAnswer.map { now - $0 }, sinceFailure: lastFailure.map { now - $0 })
  }

  /// When the next probe may be made; nil while it is closed.
  package var nextProbe: MonotonicInstant? {
    if case .open(let nextProbe) = state { nextProbe } else { nil }
  }

  /// Returns the permit for a call now. The caller must make a probe that is permitted here.
  package mutating func permit(at now: MonotonicInstant) -> Permit {
    guard case .open(let nextProbe) = state else { return .call(at: now) }
    guard nextProbe <= now else { return .wait(nextProbe - now) }
    state = .open(nextProbe: now + Self.probeInterval)
    return .probe
  }

  /// Permits the next probe at once.
  package mutating func hasten(at now: MonotonicInstant) {
    if case .open(let nextProbe) = state { state = .open(nextProbe: min(nextProbe, now)) }
  }

  /// Takes note of a permitted call's end. Any answer closes it, also that of a call from before it opened; a
  /// failure of such a call says nothing new.
  package mutating func note(_ outcome: Outcome, of permit: Permit, at now: MonotonicInstant) {
    switch outcome {
    case .answered: lastAnswer = now
    case .failed: lastFailure = now
    case .abandoned: break
    }
    switch (outcome, state) {
    case (.answered, _):
      state = Self.withoutFailures
    case (.failed(let retryAfter), .closed(let failures, var lastBegun)):
      if case .call(let begun) = permit { lastBegun = max(lastBegun, begun) }
      let isLast = failures + 1 >= Self.failureThreshold
      state =
        isLast
        ? .open(nextProbe: Self.firstProbe(retryAfter, since: lastBegun, at: now))
        : .closed(failures: failures + 1, lastBegun: lastBegun)
    case (.failed(.some(let retryAfter)), .open(let nextProbe)) where permit == .probe:
      state = .open(nextProbe: max(nextProbe, now + min(retryAfter, Self.longestPause)))
    case (.abandoned, .open) where permit == .probe:
      state = .open(nextProbe: now)
    case (.failed, .open), (.abandoned, _):
      break
    }
  }

  /// The first probe after opening: an interval behind the last call that failed, or when the store asked to be
  /// called again.
  private static func firstProbe(
    _ retryAfter: Duration?, since lastBegun: MonotonicInstant, at now: MonotonicInstant
  ) -> MonotonicInstant {
    max(lastBegun + probeInterval, now + min(max(retryAfter ?? .zero, .zero), longestPause))
  }
}
