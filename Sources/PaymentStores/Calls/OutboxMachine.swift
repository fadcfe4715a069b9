package import CoreTypes
import ServiceRuntime

/// The one state machine of a call to a store: tried until the store has answered for good, or has refused so
/// often that an operator has to look.
package struct OutboxMachine: Hashable, Sendable {
  /// The store's answer to a call.
  package enum Answer: Hashable, Sendable {
    /// The store has taken the call, now or before.
    case accepted
    /// The store cannot be reached, or fails; `retryAfter` when it said for how long.
    case unavailable(retryAfter: Duration?)
    /// The store refused the call. Repeating it changes nothing, but an operator may (a wrong credential, say).
    case refused
    /// The store takes no such call any more: it has taken the purchase back, or the purchase is over.
    case over
    /// The call was ended at this side, by a shutdown say, before the store's answer: nothing is known.
    case abandoned
  }

  /// The next step with a call.
  package enum Action: Hashable, Sendable {
    /// The call is over.
    case markDone
    /// The call is made again after that time.
    case retry(after: Duration)
    /// It is not tried again until an operator asks for it.
    case park
    /// It is not made again: there is nothing that its store could be told.
    case drop
    /// The call stays as it is, due when it was.
    case leave
  }

  /// How long a store may take to answer a call.
  static let callTimeout: Duration = .seconds(45)
  /// While the store does not answer: short, since ``CircuitBreaker`` keeps the calls of a store few.
  package static let unavailabilityBackoff = Backoff(
    initial: .seconds(1), factor: 2, cap: CircuitBreaker.longestPause, jitter: 0.5)
  /// Between attempts that the store refuses: from about half a minute to a quarter of an hour.
  package static let refusalBackoff = Backoff(
    initial: .seconds(30), factor: 2, cap: .seconds(15 * 60), jitter: 0.5)

  /// Attempts at a call after which a failure that is its alone is repeated like a refusal, and no more like one of the store.
  static let lonelyFailures = 5

  /// Attempts and refusals before this one.
  package var attempts: Int
  /// Refusals before this attempt, since an operator last asked for one.
  package var refusals: Int
  /// The refusal of that number parks the call.
  package var maximumRefusals: Int

  package init(attempts: Int, refusals: Int, maximumRefusals: Int) {
    self.attempts = attempts
    self.refusals = refusals
    self.maximumRefusals = maximumRefusals
  }

  /// Returns the action that follows from the store's answer.
  ///
  /// `isAlone` is true where the store failed at the attempt before this one too, has answered other calls since, and does
  /// not say when to come again. Then the fault is likely the call's own, and its pauses grow as those of refusals do. It is
  /// never parked for that: a store that fails often would have calls parked that it accepts in the end.
  ///
  /// `chance` is a random number from 0 to 1, for the backoff's jitter.
  package func handle(_ answer: Answer, isAlone: Bool = false, chance: Double) -> Action {
    switch answer {
    case .accepted:
      .markDone
    case .refused where refusals + 1 >= maximumRefusals:
      .park
    case .unavailable where isAlone && attempts >= Self.lonelyFailures:
      .retry(
        after: Self.refusalBackoff.delay(afterFailures: attempts + 1 - Self.lonelyFailures, chance: chance))
    case .refused:
      .retry(after: Self.refusalBackoff.delay(afterFailures: refusals + 1, chance: chance))
    case .over:
      .drop
    case .abandoned:
      .leave
    case .unavailable(let retryAfter):
      .retry(
        after: min(
          max(
            Self.unavailabilityBackoff.delay(afterFailures: attempts + 1, chance: chance), retryAfter ?? .zero
          ), CircuitBreaker.longestPause))
    }
  }
}

extension OutboxMachine.Answer {
  /// The outcome that the answer has for the store's circuit breaker.
  package var outcome: CircuitBreaker.Outcome {
    switch self {
    case .accepted, .refused, .over: .answered
    case .unavailable(let retryAfter): .failed(retryAfter: retryAfter)
    case .abandoned: .abandoned
    }
  }
}
