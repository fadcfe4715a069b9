import Commerce
import CoreTypes

/// The states of a subscription, and what brings the next one.
extension SubscriptionLifecycle {
  enum Phase: String, Hashable, Sendable, Codable {
    case active
    /// The payment failed, and is tried again.
    case retrying
    /// Its customer wants no period for a while, and pays for none. Google Play knows this, Apple's store does not.
    case paused
    case expired
  }

  /// Why it ended, as `expiration_intent` has it.
  enum ExpirationIntent: Int, Hashable, Sendable, Codable {
    case cancelled = 1
    case billing = 2
    case priceIncrease = 3
    /// The catalog does not sell it any more.
    case productUnavailable = 4
  }

  /// A price that a later renewal is to have.
  struct PriceIncrease: Hashable, Sendable, Codable {
    var price: Price
    /// Whether the customer must say yes.
    var needsConsent: Bool
    var isAccepted: Bool
  }

  /// One payment's time.
  struct Period: Hashable, Sendable {
    var plan: SubscriptionPlan
    var start: Timestamp
    var end: Timestamp
    /// Under what it was sold, where its price is not the plan's.
    var offer: SaleOffer?
    var offerPrice: Price?

    /// Nil for what costs nothing.
    var price: Price? { offer == nil ? plan.price : offerPrice }
  }

  /// An offer that the next payments are made under.
  struct OfferRun: Hashable, Sendable, Codable {
    var offer: SaleOffer
    var period: BillingPeriod
    var price: Price?
    var paymentsLeft: Int
  }

  enum Step: Hashable, Sendable {
    case renewed(Period)
    /// There is a new state, and no transaction.
    case changed
  }
}
