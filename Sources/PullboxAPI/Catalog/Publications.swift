public import Commerce
public import CoreTypes

/// A publication as a shop window shows it: texts of one locale, prices of one territory.
public struct PublicationListing: Codable, Sendable {
  /// The publication.
  public var id: ProductIdentifier
  /// In the language that fits the request best; the identifier where the operator has written no texts.
  public var title: String
  /// In the language of the title; may be empty.
  public var description: String
  /// Where everyone may read the cover that stands for it, a path at this server; absent where there is none.
  public var coverURL: String?
  /// The issue for sale that appeared last; absent while there is none.
  public var latestIssue: ProductListing?
  /// Those for sale that open its issues, by identifier.
  public var subscriptions: [ProductListing]

  /// Creates the document from its members.
  public init(
    id: ProductIdentifier, title: String, description: String, coverURL: String? = nil,
    latestIssue: ProductListing? = nil,
    subscriptions: [ProductListing]
  ) {
    self.id = id
    self.title = title
    self.description = description
    self.coverURL = coverURL
    self.latestIssue = latestIssue
    self.subscriptions = subscriptions
  }
}

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
