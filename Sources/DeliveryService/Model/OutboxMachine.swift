import Commerce
import CoreTypes
import ServiceRuntime

/// A call that is still to be made to a store.
struct OutboxEntry: Sendable {
  enum Kind: String, Sendable {
    /// The transaction is finished: all it pays for was delivered.
    case finish
  }

  var id: Int64
  var store: StoreIdentifier
  var kind: Kind
  /// The transaction.
  var subject: TransactionIdentifier
  var attempts: Int
  var nextAttempt: Timestamp
}

/// The one state machine of a call to a store: tried until the store has answered for good.
struct OutboxMachine: Hashable, Sendable {
  enum Answer: Hashable, Sendable {
    case accepted
    /// The store cannot be reached, or fails; `retryAfter` when it said for how long.
    case unavailable(retryAfter: Duration?)
    /// The store refused the call: repeating it changes nothing, but an operator may (a wrong credential,
    /// say), so the call stays, at the longest distance.
    case refused
    /// The call was ended at this side, by a shutdown say, before the store's answer: nothing is known.
    case abandoned
  }

  enum Action: Hashable, Sendable {
    case markDone
    case retry(after: Duration)
    /// The call stays as it is, due when it was.
    case leave
  }

  static let backoff = Backoff(initial: .seconds(1), factor: 2, cap: .seconds(15 * 60), jitter: 0.5)

  /// Attempts made so far, this one included.
  var attempts: Int

  /// What follows from the store's answer. `chance` is a random number from 0 to 1, for the backoff's jitter.
  func handle(_ answer: Answer, chance: Double) -> Action {
    switch answer {
    case .accepted:
      .markDone
    case .refused:
      .retry(after: Self.backoff.cap)
    case .abandoned:
      .leave
    case .unavailable(let retryAfter):
      .retry(
        after: min(
          max(Self.backoff.delay(afterFailures: attempts, chance: chance), retryAfter ?? .zero),
          Self.backoff.cap))
    }
  }
}
