public import Commerce

/// An offer for the first payments of a subscription: their price and length, where they differ from those of later
/// payments.
public struct StoreOffer: Codable, Hashable, Sendable {
  /// How it is paid for.
  public enum Payment: String, ListedWords, Sendable {
    case freeTrial = "free-trial"
    case payAsYouGo = "pay-as-you-go"
    case payUpFront = "pay-up-front"
  }

  /// How it is paid for.
  public var payment: Payment
  /// How long one payment of it lasts.
  public var period: BillingPeriod
  /// With `pay-as-you-go` for how many payments, 1 to 12; 1 where it is absent.
  public var payments: Int?
  /// The price of each payment, by ISO 3166 alpha-3 territory; absent for a free trial.
  public var prices: [String: Price]?
  /// The name of the offer in answers, 1 to 100 bytes; absent for none.
  public var name: String?

  /// Creates the offer from its members.
  public init(
    payment: Payment, period: BillingPeriod, payments: Int? = nil, prices: [String: Price]? = nil,
    name: String? = nil
  ) {
    self.payment = payment
    self.period = period
    self.payments = payments
    self.prices = prices
    self.name = name
  }
}

/// An offer of a store for a subscription, as it is to one account: what the first payments cost in its territory.
public struct AccountOffer: Codable, Hashable, Sendable {
  /// For whom it is.
  public enum Kind: String, ListedWords, Sendable {
    /// For accounts that have had no introduction to the publication yet.
    case introductory
  }

  /// For whom it is.
  public var kind: Kind
  /// How it is paid for.
  public var payment: StoreOffer.Payment
  /// How long one payment of it lasts.
  public var period: BillingPeriod
  /// After how many payments the product's price is asked: 1 to 12; 1 for a free trial.
  public var payments: Int
  /// The price of each payment under the offer; absent for a free trial.
  public var price: Price?
  /// Whether the store gives it to the account; absent where the store does not say.
  public var eligible: Bool?

  /// Creates the document from its members.
  public init(
    kind: Kind, payment: StoreOffer.Payment, period: BillingPeriod, payments: Int, price: Price? = nil,
    eligible: Bool? = nil
  ) {
    self.kind = kind
    self.payment = payment
    self.period = period
    self.payments = payments
    self.price = price
    self.eligible = eligible
  }

  /// Whether its members fit together: ``ShownPrice`` names such an offer, and no other one.
  public var isConsistent: Bool {
    switch payment {
    case .freeTrial: price == nil && payments == 1
    case .payAsYouGo, .payUpFront: price != nil && (1...12).contains(payments)
    }
  }
}

/// A bonus of a store for a subscription, as it is to one account: the first period lasts longer for a purchase that gives contact data
/// (`optIn`).
public struct AccountBonus: Codable, Hashable, Sendable {
  /// By how much the first period lasts longer.
  public var period: BillingPeriod
  /// Whether the store gives it to the account; absent where the store does not say.
  public var eligible: Bool?

  /// Creates the document from its members.
  public init(period: BillingPeriod, eligible: Bool? = nil) {
    self.period = period
    self.eligible = eligible
  }
}
