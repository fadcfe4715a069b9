public import Commerce

/// What the first payments of a subscription cost and how long each lasts, where that differs from the rest.
public struct StoreOffer: Codable, Hashable, Sendable {
  /// How it is paid for.
  public enum Payment: String, Codable, Sendable {
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
  /// What each costs, by ISO 3166 alpha-3 territory; absent for a free trial.
  public var prices: [String: Price]?
  /// What answers call it, 1 to 100 bytes; absent where they are not to.
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

/// `PUT /sandbox/v1/offers/{product}`, and its answer: what is absent is not offered.
public struct ProductOffers: Codable, Hashable, Sendable {
  /// For an account that has had no introduction to the publication yet.
  public var introductory: StoreOffer?
  /// By how much the first period lasts longer for who gives contact data, once; three months at most.
  public var bonus: BillingPeriod?

  /// Creates the document from its members.
  public init(introductory: StoreOffer? = nil, bonus: BillingPeriod? = nil) {
    self.introductory = introductory
    self.bonus = bonus
  }
}

/// `POST /sandbox/v1/codes`.
public struct CodeRequest: Codable, Sendable {
  /// What a code is good for.
  public var product: ProductIdentifier
  /// Of a subscription; without one its first period costs nothing.
  public var offer: StoreOffer?
  /// How many accounts may redeem it, 1 to 1,000,000.
  public var uses: Int

  /// Creates the request.
  public init(product: ProductIdentifier, offer: StoreOffer? = nil, uses: Int) {
    self.product = product
    self.offer = offer
    self.uses = uses
  }
}

/// The answer to `POST /sandbox/v1/codes`: 201.
public struct StoreCode: Codable, Sendable {
  /// What customers redeem by `POST /store/v1/codes/{code}`, each once.
  public var code: String
  /// What it is good for.
  public var product: ProductIdentifier
  /// How many accounts may redeem it.
  public var uses: Int

  /// Creates the document from its members.
  public init(code: String, product: ProductIdentifier, uses: Int) {
    self.code = code
    self.product = product
    self.uses = uses
  }
}
