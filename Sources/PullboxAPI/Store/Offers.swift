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

/// `PUT /sandbox/v1/offers/{product}`, and its answer: what is absent is not offered.
public struct ProductOffers: Codable, Hashable, Sendable, OperatorWritten {
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
public struct CodeRequest: Codable, Sendable, OperatorWritten {
  /// The product that a code is redeemed for.
  public var product: ProductIdentifier
  /// The offer for a subscription; without one, the first period is free.
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
  /// The code that customers redeem by `POST /store/v1/codes/{code}`, each customer once.
  public var code: String
  /// The product that the code is redeemed for.
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
/// (``PurchaseRequest/optIn``).
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

/// The store's offers to the account for one product.
public struct ProductAccountOffers: Codable, Hashable, Sendable {
  /// The product.
  public var product: ProductIdentifier
  /// Empty where there is a bonus alone.
  public var offers: [AccountOffer]
  /// Absent if there is none.
  public var bonus: AccountBonus?

  /// Creates the document from its members.
  public init(product: ProductIdentifier, offers: [AccountOffer], bonus: AccountBonus? = nil) {
    self.product = product
    self.offers = offers
    self.bonus = bonus
  }
}

/// `GET /store/v1/offers?product=`: what the store offers the account; a product without an offer is left out.
public struct AccountOffersResponse: Codable, Sendable {
  /// Products that one request may name, 1 or more.
  public static let maximumProducts = 200

  /// By the products' names.
  public var products: [ProductAccountOffers]

  /// Creates the document from its members.
  public init(products: [ProductAccountOffers]) {
    self.products = products
  }
}
