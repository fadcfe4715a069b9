/// An event that a real-time developer notification tells. The numbers are those of docs/sandbox-store.md.
package enum GoogleEvent: Hashable, Sendable {
  /// The kinds of events of subscriptions, with Google's numbers.
  package enum Subscription: Int, Hashable, Sendable {
    /// A failed payment succeeded, or a pause is over.
    case recovered = 1
    /// The next period began, also where it is for another product.
    case renewed = 2
    /// Renewal was switched off.
    case cancelled = 3
    /// A period was sold, or one that was pending is paid for.
    case purchased = 4
    /// The grace is over and the payment still fails, or it failed after a pause.
    case onHold = 5
    /// The payment of a renewal failed.
    case inGracePeriod = 6
    /// Renewal was switched on again before the end.
    case restarted = 7
    /// The renewal was put off.
    case deferred = 9
    /// A pause began.
    case paused = 10
    /// A pause is scheduled, or one that was is given up.
    case pauseScheduleChanged = 11
    /// A payment of it was given back.
    case revoked = 12
    /// The subscription is over, for whatever reason.
    case expired = 13
    /// The first payment failed before anything was sold.
    case pendingPurchaseCancelled = 20
  }

  package enum Product: Int, Hashable, Sendable {
    case purchased = 1
    /// The purchase failed before anything was sold.
    case cancelled = 2
  }

  case subscription(Subscription)
  case product(Product)
  /// A payment was given back: that of the order.
  case voided(order: String)
}

/// A notification that is still to be posted.
package struct GoogleMessage: Hashable, Sendable {
  /// The row, which is also the `messageId`. Rows count up, and the oldest are removed first.
  package let id: Int64
  /// The data, but for the package.
  package let document: String
  /// Attempts that were made so far, none of them taken.
  package let attempts: Int
}
