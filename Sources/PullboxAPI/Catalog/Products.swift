public import Commerce
public import CoreTypes

/// A product as `GET /v1/products` shows it: texts of one locale, the price of one territory.
public struct ProductListing: Codable, Sendable {
  /// A price as a shop shows it.
  public struct ListedPrice: Codable, Sendable {
    /// A decimal number with a point and as many digits behind it as the currency has: `2.99`.
    public var amount: String
    /// The currency by its ISO 4217 code: `EUR`.
    public var currency: String
    /// For people, by the rules of ``locale``, whatever language the texts are in.
    public var formatted: String
    /// The territory's likely language by CLDR, and the territory: `fr-FR`. Absent from servers that do not tell.
    public var locale: String?

    /// Creates the document from its members.
    public init(amount: String, currency: String, formatted: String, locale: String? = nil) {
      self.amount = amount
      self.currency = currency
      self.formatted = formatted
      self.locale = locale
    }
  }

  /// The product.
  public var id: ProductIdentifier
  /// How it is bought, and how long it lasts.
  public var type: ProductType
  /// In the language that fits the request best.
  public var title: String
  /// In the language of the title; may be empty.
  public var description: String
  /// Absent for a product without prices, which is free.
  public var price: ListedPrice?
  /// The version that the device asked for would get, or that is released to all where none was named; absent for a product
  /// without content of its own.
  public var contentVersion: ContentVersion?
  /// Bytes of the package of ``contentVersion``; absent where there is no content.
  public var contentLength: ByteCount?
  /// The publication that a subscription or an issue belongs to; absent for other products.
  public var publication: ProductIdentifier?
  /// When an issue appeared; absent for what is no issue.
  public var publicationDate: Timestamp?
  /// How long one payment of a subscription lasts; absent for other products.
  public var period: BillingPeriod?
  /// Path of the cover within the package.
  public var cover: String?
  /// Where everyone may read the cover, a path at this server that is good for ever; absent where there is none.
  public var coverURL: String?
  /// The text that tells a subscription's buyer of its period, its price and its renewal, in the language of the title;
  /// absent for other products.
  public var terms: String?
  /// Where its buyers read what becomes of their data; absent where the operator names no address.
  public var privacyURL: String?
  /// Not for sale from then on; absent where there is no end.
  public var availableUntil: Timestamp?

  /// Creates the document from its members.
  public init(
    id: ProductIdentifier, type: ProductType, title: String, description: String, price: ListedPrice? = nil,
    contentVersion: ContentVersion? = nil, contentLength: ByteCount? = nil,
    publication: ProductIdentifier? = nil, publicationDate: Timestamp? = nil, period: BillingPeriod? = nil,
    cover: String? = nil, coverURL: String? = nil, terms: String? = nil, privacyURL: String? = nil,
    availableUntil: Timestamp? = nil
  ) {
    self.id = id
    self.type = type
    self.title = title
    self.description = description
    self.price = price
    self.contentVersion = contentVersion
    self.contentLength = contentLength
    self.publication = publication
    self.publicationDate = publicationDate
    self.period = period
    self.cover = cover
    self.coverURL = coverURL
    self.terms = terms
    self.privacyURL = privacyURL
    self.availableUntil = availableUntil
  }
}
