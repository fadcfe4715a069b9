public import CoreTypes

/// An article that is sold, as the operator describes it.
public struct Product: Hashable, Sendable, Codable {
  /// The texts of one locale.
  public struct Localization: Hashable, Sendable, Codable {
    /// The name of the product in a storefront.
    public var title: String
    /// The description of the product in a storefront; may be empty.
    public var description: String
    /// The notice to buyers of a subscription about its period, its price and its renewal; nil for none.
    public var terms: String?

    /// Creates the texts of one language.
    public init(title: String, description: String, terms: String? = nil) {
      self.title = title
      self.description = description
      self.terms = terms
    }
  }

  /// The product's name.
  public var id: ProductIdentifier
  /// How the product is sold, and how long a purchase lasts.
  public var type: ProductType
  /// Texts by BCP 47 tag (`fr-FR`).
  public var localizations: [String: Localization]
  /// Prices by ISO 3166 alpha-3 territory (`FRA`). Empty: for sale everywhere, for free.
  public var prices: [String: Price]
  /// The series this product is an issue of, or, for a subscription, the series it subscribes to.
  public var publication: ProductIdentifier?
  /// When this issue appeared; the magazine rule compares it with subscription periods.
  public var publicationDate: Timestamp?
  /// Subscriptions only.
  public var period: BillingPeriod?
  /// Paths of files in its packages that everyone may see; nil for none, never empty.
  public var samples: [String]?
  /// The publisher's keys whose signatures the content needs; nil where content may come unsigned, never
  /// empty.
  public var publisherKeys: [PublisherKeyIdentifier]?
  /// The tier whose prices hold in the territories that ``prices`` does not name; nil for none.
  public var priceTier: PriceTierName?
  /// The prices that customers who subscribed before a date go on paying; nil for none, never empty.
  public var preservedPrices: [PreservedPrices]?
  /// Not for sale before; nil for no bound.
  public var availableFrom: Timestamp?
  /// Not for sale from then on; nil for no bound.
  public var availableUntil: Timestamp?
  /// The application that sells it; nil for all that the server's stores know.
  public var application: ApplicationIdentifier?
  /// Where its buyers read what becomes of their data, an `https` address; nil for nowhere.
  public var privacyURL: String?
  /// The condition under which a purchase of the application owns the product without another purchase; nil
  /// for none.
  public var ownedIf: OwnershipCondition?
  /// Whether devices leave the content where it lies when a purchase is taken back; nil for no.
  public var keepRevoked: Bool?
  /// When a version of it was released for the first time, to whichever share of the devices; nil where none was. It is what
  /// happened, and no part of the description: documents do not have it.
  public var firstReleased: Timestamp?

  private enum CodingKeys: CodingKey {
    case id, type, localizations, prices, publication, publicationDate, period, samples, publisherKeys,
      priceTier
    case preservedPrices, availableFrom, availableUntil, application, privacyURL, ownedIf, keepRevoked
  }

  /// Creates the product; what is nil does not apply to its type.
  public init(
    id: ProductIdentifier, type: ProductType, localizations: [String: Localization] = [:],
    prices: [String: Price] = [:], publication: ProductIdentifier? = nil, publicationDate: Timestamp? = nil,
    period: BillingPeriod? = nil, publisherKeys: [PublisherKeyIdentifier]? = nil,
    samples: [String]? = nil, priceTier: PriceTierName? = nil, preservedPrices: [PreservedPrices]? = nil,
    availableFrom: Timestamp? = nil, availableUntil: Timestamp? = nil,
    application: ApplicationIdentifier? = nil,
    privacyURL: String? = nil, ownedIf: OwnershipCondition? = nil, keepRevoked: Bool? = nil
  ) {
    self.id = id
    self.type = type
    self.localizations = localizations
    self.prices = prices
    self.publication = publication
    self.publicationDate = publicationDate
    self.period = period
    self.publisherKeys = publisherKeys
    self.samples = samples
    self.priceTier = priceTier
    self.preservedPrices = preservedPrices
    self.availableFrom = availableFrom
    self.availableUntil = availableUntil
    self.application = application
    self.privacyURL = privacyURL
    self.ownedIf = ownedIf
    self.keepRevoked = keepRevoked
  }

  /// The first release of an issue that came later than its date: readers saw it no earlier. Nil for every other product.
  public var lateRelease: Timestamp? {
    guard let publicationDate, let firstReleased, publicationDate < firstReleased else { return nil }
    return firstReleased
  }

  /// Whether both are the same in all that an operator says of them.
  public func isDescribed(as other: Product) -> Bool {
    var other = other
    other.firstReleased = firstReleased
    return self == other
  }

  /// Whether it may be sold at that moment, by its dates alone.
  public func isAvailable(at now: Timestamp) -> Bool {
    (availableFrom.map { $0 <= now } ?? true) && (availableUntil.map { now < $0 } ?? true)
  }

  /// Whether what a review has looked at is still so: how it is sold, what it opens, and in which application. Texts and prices
  /// may change without another review.
  public func sells(as other: Product) -> Bool {
    type == other.type && publication == other.publication && period == other.period
      && application == other.application
  }
}

/// The kind of a product at the payment stores.
public enum ProductType: String, ListedWords, Sendable {
  case consumable
  case nonConsumable = "non-consumable"
  case autoRenewableSubscription = "auto-renewable-subscription"
  case nonRenewingSubscription = "non-renewing-subscription"
  /// Costs nothing, is subscribed to once, and goes on until the store takes it back.
  case freeSubscription = "free-subscription"

  /// Whether it opens the issues of a publication.
  public var isSubscription: Bool {
    switch self {
    case .autoRenewableSubscription, .nonRenewingSubscription, .freeSubscription: true
    case .consumable, .nonConsumable: false
    }
  }
}

/// The price of a product in one territory.
public struct Price: Hashable, Sendable, Codable {
  /// A decimal number as written by the operator (`2.99`): never a floating-point number.
  public let amount: String
  /// ISO 4217, three capital letters.
  public let currency: String

  /// Decimals of an amount, at most: no currency that is paid with has more.
  public static let maximumDecimals = 3

  /// Nil unless `amount` is digits with at most one point and three decimals, and `currency` three capital letters.
  public init?(amount: String, currency: String) {
    let parts = amount.utf8.split(separator: 0x2E, omittingEmptySubsequences: false)
    guard (1...2).contains(parts.count), (1...9).contains(parts[0].count),
      parts.count == 1 || (1...Self.maximumDecimals).contains(parts[1].count),
      parts.allSatisfy({ $0.allSatisfy { (0x30...0x39).contains($0) } }),
      currency.utf8.count == 3, currency.utf8.allSatisfy({ (0x41...0x5A).contains($0) })
    else { return nil }
    self.amount = amount
    self.currency = currency
  }

  /// Creates a price from thousandths of the currency's unit, in which stores sign prices. Nil for less than
  /// nothing, and for values that ``init(amount:currency:)`` refuses.
  public init?(thousandths: Int64, currency: String) {
    guard thousandths >= 0 else { return nil }
    let (whole, rest) = thousandths.quotientAndRemainder(dividingBy: 1000)
    let digits = String(rest + 1000).dropFirst()
    let decimals = rest == 0 ? "" : rest % 10 == 0 ? ".\(digits.dropLast())" : ".\(digits)"
    self.init(amount: "\(whole)\(decimals)", currency: currency)
  }

  /// The amount in thousandths of the currency's unit.
  public var thousandths: Int64 {
    let parts = amount.utf8.split(separator: 0x2E, omittingEmptySubsequences: false)
    func number(_ digits: some Sequence<UInt8>) -> Int64 { digits.reduce(0) { $0 * 10 + Int64($1 - 0x30) } }
    let decimals = parts.count > 1 ? Array(parts[1]) : []
    return number(parts[0]) * 1000
      + number(decimals + Array(repeating: 0x30, count: Self.maximumDecimals - decimals.count))
  }

  private enum CodingKeys: CodingKey {
    case amount
    case currency
  }

  /// Reads ``amount`` and ``currency``. Throws `DecodingError` when the amount is no decimal number or the
  /// currency no ISO 4217 code.
  public init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    let amount = try container.decode(String.self, forKey: .amount)
    let currency = try container.decode(String.self, forKey: .currency)
    guard let price = Price(amount: amount, currency: currency) else {
      throw DecodingError.dataCorruptedError(
        forKey: .amount, in: container, debugDescription: "not a price: \(amount) \(currency)")
    }
    self = price
  }
}
