package import Commerce
import CoreTypes

/// The states of a subscription, and what brings the next one.
extension SubscriptionLifecycle {
  /// How a subscription stands. Only an active one is paid for.
  package enum Phase: String, Hashable, Sendable, Codable {
    case active
    /// The payment failed, and is tried again.
    case retrying
    /// Its customer wants no period for a while, and pays for none. Google Play knows this, Apple's store does not.
    case paused
    /// It is over, until a payment begins it anew.
    case expired
  }

  /// Why it ended, as `expiration_intent` has it.
  package enum ExpirationIntent: Int, Hashable, Sendable, Codable {
    /// The customer's will, a refund, or no renewals left.
    case cancelled = 1
    /// The payment failed for the whole time of the retry.
    case billing = 2
    /// A higher price needed a consent that was not given.
    case priceIncrease = 3
    /// The catalog does not sell it any more.
    case productUnavailable = 4
  }

  /// A price that a later renewal is to have. It is forgotten with the renewal that has it.
  package struct PriceIncrease: Hashable, Sendable, Codable {
    package var price: Price
    /// Whether the customer must say yes.
    package var needsConsent: Bool
    package var isAccepted: Bool
  }

  /// One payment's time. `end` is excluded: the next one begins there.
  package struct Period: Hashable, Sendable {
    var plan: SubscriptionPlan
    var start: Timestamp
    var end: Timestamp
    /// Under what it was sold, where its price is not the plan's.
    var offer: SaleOffer?
    /// The price of one payment; nil for a free trial.
    var offerPrice: Price?

    /// Nil for what costs nothing.
    var price: Price? { offer == nil ? plan.price : offerPrice }
  }

  /// An offer that the next payments are made under.
  package struct OfferRun: Hashable, Sendable, Codable {
    package var offer: SaleOffer
    /// The time of one payment.
    package var period: BillingPeriod
    package var price: Price?
    /// At least 1: an offer without any is no more.
    package var paymentsLeft: Int
  }

  /// The result of one step. The caller saves the subscription, with the transaction of a period if there is
  /// one.
  package enum Step: Hashable, Sendable {
    case renewed(Period)
    /// There is a new state, and no transaction.
    case changed
  }
}
