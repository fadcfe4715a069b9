public import Commerce
public import CoreTypes
public import PullboxAPI

/// `GET /v1/publications`: those of which something is for sale, in the operator's order.
public struct PublicationsResponse: Codable, Sendable {
  /// The publications of this page.
  public var publications: [PublicationListing]
  /// The `after` of the next page's request; absent on the last page.
  public var next: String?

  /// Creates the document from its members.
  public init(publications: [PublicationListing], next: String? = nil) {
    self.publications = publications
    self.next = next
  }
}

/// `GET /v1/publications/{id}`: what is for sale of one publication, and `GET /v1/singles`: what is for sale of none.
public struct PublicationResponse: Codable, Sendable {
  /// Absent for what belongs to no publication.
  public var publication: PublicationListing?
  /// The issues of this page, the newest first; what belongs to no publication by identifier.
  public var issues: [ProductListing]
  /// The `after` of the next page's request; absent on the last page.
  public var next: String?

  /// Creates the document from its members.
  public init(publication: PublicationListing?, issues: [ProductListing], next: String? = nil) {
    self.publication = publication
    self.issues = issues
    self.next = next
  }
}

/// `products_v2.json`: everything that is cleared for sale.
public struct ProductsForSale: Codable, Sendable {
  /// A product that all devices may buy.
  public struct Item: Codable, Sendable {
    /// The product.
    public var id: ProductIdentifier
    /// How it is sold.
    public var type: ProductType
    /// The publication that it belongs to or subscribes to; absent for others.
    public var publication: ProductIdentifier?
    /// When its description last changed.
    public var changed: Timestamp

    /// Creates the document from its members.
    public init(id: ProductIdentifier, type: ProductType, publication: ProductIdentifier?, changed: Timestamp)
    {
      self.id = id
      self.type = type
      self.publication = publication
      self.changed = changed
    }
  }

  /// By identifier.
  public var products: [Item]

  /// Creates the document from its member.
  public init(products: [Item]) {
    self.products = products
  }
}

/// The answer to `GET /v1/products`.
public struct ProductsResponse: Codable, Sendable {
  /// Those of the named products that are for sale.
  public var products: [ProductListing]
  /// Identifiers that were asked for and are not for sale here, as they were written.
  public var invalidProductIdentifiers: [String]
  /// The product for sale whose identifier differs by one or two characters, by the name that was asked for; of the first four
  /// of ``invalidProductIdentifiers``, and absent where none has one.
  public var nearest: [String: ProductIdentifier]?

  /// Creates the document from its members.
  public init(
    products: [ProductListing], invalidProductIdentifiers: [String],
    nearest: [String: ProductIdentifier]? = nil
  ) {
    self.products = products
    self.invalidProductIdentifiers = invalidProductIdentifiers
    self.nearest = nearest
  }
}
