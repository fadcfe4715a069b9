public import Commerce
public import CoreTypes
public import PullboxAPI

/// A product as an operator writes it: the body of `PUT /v1/operator/products/{id}` and a folder's `product.json5`.
/// What is left out gets a default: a free non-consumable, for sale everywhere, an issue of no publication and of no date.
public struct ProductDescription: Codable, Sendable, OperatorWritten {
  /// The product's name; in a request it may be left out, the address has it.
  public var id: ProductIdentifier?
  /// How it is sold; a non-consumable when it is absent.
  public var type: ProductType?
  /// Only in `product.json5`: the content version that the folder is.
  public var version: ContentVersion?
  /// Texts by BCP 47 tag.
  public var localizations: [String: Product.Localization]?
  /// Prices by ISO 3166 alpha-3 territory; none: for sale everywhere, free of charge.
  public var prices: [String: Price]?
  /// The publication that the product belongs to or subscribes to; absent for others.
  public var publication: ProductIdentifier?
  /// When an issue appeared; absent for now.
  public var publicationDate: Timestamp?
  /// How long one payment lasts; needed for a subscription that renews, absent for others.
  public var period: BillingPeriod?
  /// Paths of files in the product's packages that everyone may see, 10 at most; each version's are taken when it is made.
  public var samples: [String]?
  /// The keys whose signatures the product's content needs. Left out, they stay as they are; an empty list lets content
  /// come unsigned.
  public var publisherKeys: [PublisherKeyIdentifier]?
  /// Whether it can be bought. False takes it from all lists, and those who bought it keep what they own. Left out, it
  /// stays as it is; a new product is on sale then, but a subscription only when it has a price or is a free one. Where the
  /// server asks for a review, no new product is on sale.
  public var onSale: Bool?
  /// The tier whose prices hold in the territories that ``prices`` does not name: `0` is free everywhere.
  public var priceTier: PriceTierName?
  /// The prices that earlier subscribers go on paying, 10 at most.
  public var preservedPrices: [PreservedPrices]?
  /// Not for sale before; absent for no bound.
  public var availableFrom: Timestamp?
  /// Not for sale from then on; absent for no bound.
  public var availableUntil: Timestamp?
  /// The application that sells it: others neither show it, nor do their receipts open it. Absent for all that the server's
  /// stores know.
  public var application: ApplicationIdentifier?
  /// Where its buyers read what becomes of their data: an `https` address.
  public var privacyURL: String?
  /// The condition under which a purchase of the application itself owns the product: for customers who had the
  /// application before the product was sold otherwise. Non-consumables only.
  public var ownedIf: OwnershipCondition?
  /// True where devices leave the content to those who have it when a purchase is taken back: they own it no more, and read on. Left out,
  /// they move it away.
  public var keepRevoked: Bool?

  /// Creates the description. What is nil is left out and gets its default.
  public init(
    id: ProductIdentifier? = nil, type: ProductType? = nil, version: ContentVersion? = nil,
    localizations: [String: Product.Localization]? = nil, prices: [String: Price]? = nil,
    publication: ProductIdentifier? = nil, publicationDate: Timestamp? = nil, period: BillingPeriod? = nil,
    publisherKeys: [PublisherKeyIdentifier]? = nil, onSale: Bool? = nil, samples: [String]? = nil,
    priceTier: PriceTierName? = nil, preservedPrices: [PreservedPrices]? = nil,
    availableFrom: Timestamp? = nil, availableUntil: Timestamp? = nil,
    application: ApplicationIdentifier? = nil,
    privacyURL: String? = nil, ownedIf: OwnershipCondition? = nil, keepRevoked: Bool? = nil
  ) {
    self.id = id
    self.type = type
    self.version = version
    self.localizations = localizations
    self.prices = prices
    self.publication = publication
    self.publicationDate = publicationDate
    self.period = period
    self.publisherKeys = publisherKeys
    self.onSale = onSale
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

  /// Creates the description of an existing product. It leaves out the publisher's keys, so that these stay as they are.
  public init(of product: Product, onSale: Bool? = nil) {
    self.init(
      id: product.id, type: product.type, localizations: product.localizations, prices: product.prices,
      publication: product.publication, publicationDate: product.publicationDate, period: product.period,
      onSale: onSale, samples: product.samples, priceTier: product.priceTier,
      preservedPrices: product.preservedPrices,
      availableFrom: product.availableFrom, availableUntil: product.availableUntil,
      application: product.application,
      privacyURL: product.privacyURL, ownedIf: product.ownedIf, keepRevoked: product.keepRevoked)
  }
}

/// A product as the operator sees it.
public struct OperatorProduct: Codable, Sendable {
  /// The product as it was described.
  public var product: Product
  /// Whether the operator has it on sale: it is ``SaleState/cleared``.
  public var onSale: Bool
  /// Where it stands between its description and the shop window.
  public var sale: SaleState
  /// The product's last review; absent for a product that was never submitted.
  public var review: ProductReview?
  /// Whether it is on sale and all devices may buy it; a product that only a part of the devices gets is for sale to these alone.
  public var clearedForSale: Bool
  /// When it was first described, by the server's clock.
  public var created: Timestamp
  /// When its description, sale or versions last changed, by the server's clock.
  public var changed: Timestamp
  /// The newest first; not all where `versionCount` is more, but those that are released always.
  public var versions: [VersionRecord]
  /// How many versions there are, whether they are listed or not.
  public var versionCount: Int

  /// Creates the document from its members.
  public init(
    product: Product, sale: SaleState, review: ProductReview? = nil, clearedForSale: Bool, created: Timestamp,
    changed: Timestamp,
    versions: [VersionRecord],
    versionCount: Int
  ) {
    self.product = product
    self.onSale = sale == .cleared
    self.sale = sale
    self.review = review
    self.clearedForSale = clearedForSale
    self.created = created
    self.changed = changed
    self.versions = versions
    self.versionCount = versionCount
  }
}

/// The orders of `GET /v1/operator/products`.
public enum ProductOrder: String, CaseIterable, Sendable {
  /// By identifier.
  case id
  /// The latest change first, of a description, a sale or what is released; a draft is none.
  case changed
}
