public import Commerce
public import CoreTypes

/// The answer to `GET /v1/products`.
public struct ProductsResponse: Codable, Sendable {
  public var products: [ProductListing]
  /// Identifiers that were asked for and are not for sale here, as they were written.
  public var invalidProductIdentifiers: [String]

  public init(products: [ProductListing], invalidProductIdentifiers: [String]) {
    self.products = products
    self.invalidProductIdentifiers = invalidProductIdentifiers
  }
}

/// A product as `GET /v1/products` shows it: texts of one locale, the price of one territory.
public struct ProductListing: Codable, Sendable {
  public struct ListedPrice: Codable, Sendable {
    public var amount: String
    public var currency: String
    /// For people, by the locale's rules.
    public var formatted: String

    public init(amount: String, currency: String, formatted: String) {
      self.amount = amount
      self.currency = currency
      self.formatted = formatted
    }
  }

  public var id: ProductIdentifier
  public var type: ProductType
  public var title: String
  public var description: String
  /// Absent for a product without prices, which is free.
  public var price: ListedPrice?
  /// The version that the device asked for would get, or that is released to all where none was named; absent for a product
  /// without content of its own.
  public var contentVersion: ContentVersion?
  public var contentLength: ByteCount?
  public var publication: ProductIdentifier?
  public var publicationDate: Timestamp?
  public var period: BillingPeriod?
  /// Path of the cover within the package.
  public var cover: String?

  public init(
    id: ProductIdentifier, type: ProductType, title: String, description: String, price: ListedPrice? = nil,
    contentVersion: ContentVersion? = nil, contentLength: ByteCount? = nil,
    publication: ProductIdentifier? = nil, publicationDate: Timestamp? = nil, period: BillingPeriod? = nil,
    cover: String? = nil
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
  }
}
