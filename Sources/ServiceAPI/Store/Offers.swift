public import Commerce
import CoreTypes
public import PullboxAPI

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
