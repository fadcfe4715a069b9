/// An event that a real-time developer notification tells.
enum GoogleEvent: Hashable, Sendable {
  /// The kinds of events of subscriptions, with Google's numbers.
  enum Subscription: Int, Hashable, Sendable {
    case recovered = 1
    case renewed = 2
    case cancelled = 3
    case purchased = 4
    case onHold = 5
    case inGracePeriod = 6
    case restarted = 7
    case deferred = 9
    case paused = 10
    case pauseScheduleChanged = 11
    case revoked = 12
    case expired = 13
    case pendingPurchaseCancelled = 20
  }

  enum Product: Int, Hashable, Sendable {
    case purchased = 1
    case cancelled = 2
  }

  case subscription(Subscription)
  case product(Product)
  case voided(order: String)
}

/// A notification that is still to be posted.
struct GoogleMessage: Hashable, Sendable {
  let id: Int64
  /// The data, but for the package.
  let document: String
  let attempts: Int
}
