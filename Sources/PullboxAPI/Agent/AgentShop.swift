public import Commerce
public import CoreTypes

/// `GET /v1/products?id=&locale=` of the agent: what the server sells to the agent's store account, and what the account has of it.
public struct AgentProductsResponse: Codable, Sendable {
  /// The account: prices are those of its territory.
  public var account: StoreAccount
  /// Those of the named products that are for sale to it.
  public var products: [AgentProduct]
  /// Identifiers that were asked for and are not for sale here, as they were written.
  public var invalidProductIdentifiers: [String]
  /// The product for sale that was meant, by the name that was asked for, as the server says; absent where there is none.
  public var nearest: [String: ProductIdentifier]?

  /// Creates the document from its members.
  public init(
    account: StoreAccount, products: [AgentProduct], invalidProductIdentifiers: [String],
    nearest: [String: ProductIdentifier]? = nil
  ) {
    self.account = account
    self.products = products
    self.invalidProductIdentifiers = invalidProductIdentifiers
    self.nearest = nearest
  }
}

/// `GET /v1/codes/{code}?locale=` of the agent: what a code gives the agent's store account, if it is redeemed now.
public struct AgentCodePreview: Codable, Sendable {
  /// The account: prices are those of its territory.
  public var account: StoreAccount
  /// The store's word; absent where the store does not tell it before a redemption.
  public var preview: CodePreview?
  /// The product as the server sells it; absent where ``preview`` is, and where the server does not say.
  public var listing: ProductListing?

  /// Creates the document from its members.
  public init(account: StoreAccount, preview: CodePreview? = nil, listing: ProductListing? = nil) {
    self.account = account
    self.preview = preview
    self.listing = listing
  }
}

/// A product that is for sale, and what the agent's store account has of it.
public struct AgentProduct: Codable, Sendable {
  /// The product that is sold, with the price of the account's territory.
  public var listing: ProductListing
  /// Whether the account has its content already, bought or by a subscription; false for consumables and subscriptions.
  public var owned: Bool
  /// Until when a subscription to it is paid for, one that does not renew among them; absent where none runs.
  public var subscribedUntil: Timestamp?
  /// The store's offers for the first payments of a subscription; absent if it has none, or does not tell them.
  public var offers: [AccountOffer]?
  /// The store's bonus for a first purchase of a subscription that gives contact data; absent if it has none, or does not tell it.
  public var bonus: AccountBonus?

  /// Creates the document from its members.
  public init(
    listing: ProductListing, owned: Bool, subscribedUntil: Timestamp? = nil, offers: [AccountOffer]? = nil,
    bonus: AccountBonus? = nil
  ) {
    self.bonus = bonus
    self.listing = listing
    self.owned = owned
    self.subscribedUntil = subscribedUntil
    self.offers = offers
  }

  /// The offer under which a purchase is made now; nil where the price is paid from the first payment on, as far as the store says.
  public var offer: AccountOffer? { offers?.first { $0.eligible == true } }

  /// By how much the first period lasts longer if a purchase made now gives contact data; nil where it does not, as far as the store
  /// says.
  public var bonusPeriod: BillingPeriod? { bonus.flatMap { $0.eligible == true ? $0.period : nil } }

  /// Whether a purchase of it would pay for nothing that the account does not have. Another season begins where the last one ends.
  public var isHeld: Bool {
    owned || subscribedUntil != nil && listing.type != .nonRenewingSubscription
  }
}
