import Commerce
import CoreTypes

/// A call that a store still has to hear.
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
}

/// The one state machine of a call to a store: tried until the store has answered for good.
struct OutboxMachine: Hashable, Sendable {
  enum Answer: Hashable, Sendable {
    case accepted
    /// The store cannot be reached or is not well; `retryAfter` when it said how long.
    case unavailable(retryAfter: Duration?)
    /// The store heard and said no: repeating the same words changes nothing, but an operator may (a wrong
    /// credential, say), so the call stays, at the longest distance.
    case refused
  }

  enum Decision: Hashable, Sendable {
    case done
    case retry(after: Duration)
  }

  static let firstDelay: Duration = .seconds(1)
  static let longestDelay: Duration = .seconds(15 * 60)

  /// Attempts made so far, this one included.
  var attempts: Int

  /// `jitter` is a random number from 0 to 1; the delay doubles from attempt to attempt, less up to half of it.
  func decide(_ answer: Answer, jitter: Double) -> Decision {
    switch answer {
    case .accepted:
      return .done
    case .refused:
      return .retry(after: Self.longestDelay)
    case .unavailable(let retryAfter):
      let doubled = Self.firstDelay * Double(1 << min(attempts - 1, 20))
      let spread = min(doubled, Self.longestDelay) * (1 - jitter / 2)
      return .retry(after: min(max(spread, retryAfter ?? .zero), Self.longestDelay))
    }
  }
}
