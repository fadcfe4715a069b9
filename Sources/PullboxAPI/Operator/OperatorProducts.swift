public import Commerce
public import CoreTypes

/// A product as an operator writes it: the body of `PUT /v1/operator/products/{id}` and a folder's `product.json5`.
/// What is left out gets a default: a free non-consumable, for sale everywhere, an issue of no publication and of no date.
public struct ProductDescription: Codable, Sendable, OperatorWritten {
  public var id: ProductIdentifier?
  public var type: ProductType?
  /// Only in `product.json5`: the content version that the folder is.
  public var version: ContentVersion?
  /// Texts by BCP 47 tag.
  public var localizations: [String: Product.Localization]?
  /// Prices by ISO 3166 alpha-3 territory; none: for sale everywhere, free of charge.
  public var prices: [String: Price]?
  public var publication: ProductIdentifier?
  public var publicationDate: Timestamp?
  public var period: BillingPeriod?
  /// The keys whose signatures the product's content needs. Left out, they stay as they are; an empty list lets content
  /// come unsigned.
  public var publisherKeys: [PublisherKeyIdentifier]?

  public init(
    id: ProductIdentifier? = nil, type: ProductType? = nil, version: ContentVersion? = nil,
    localizations: [String: Product.Localization]? = nil, prices: [String: Price]? = nil,
    publication: ProductIdentifier? = nil, publicationDate: Timestamp? = nil, period: BillingPeriod? = nil,
    publisherKeys: [PublisherKeyIdentifier]? = nil
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
  }
}

/// A product as the operator sees it.
public struct OperatorProduct: Codable, Sendable {
  public var product: Product
  /// To whoever asks; a product that only a part of the devices gets is for sale to these alone.
  public var clearedForSale: Bool
  public var created: Timestamp
  public var changed: Timestamp
  /// The newest first; not all where `versionCount` is more, but those that are released always.
  public var versions: [VersionRecord]
  public var versionCount: Int

  public init(
    product: Product, clearedForSale: Bool, created: Timestamp, changed: Timestamp, versions: [VersionRecord],
    versionCount: Int
  ) {
    self.product = product
    self.clearedForSale = clearedForSale
    self.created = created
    self.changed = changed
    self.versions = versions
    self.versionCount = versionCount
  }
}
