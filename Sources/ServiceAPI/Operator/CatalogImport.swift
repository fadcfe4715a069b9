public import PullboxAPI

/// `POST /v1/operator/catalog`: products, publications and price tiers that are to be as described, all of them or none.
public struct CatalogImport: Codable, Sendable, OperatorWritten {
  /// Products of one import, at most; and of publications and price tiers together.
  public static let maximumItems = 100_000
  /// Members that ``members`` names, at most.
  public static let maximumMembers = 5000

  /// Each with its `id`. What is left out gets a default, as in `PUT /v1/operator/products/{id}`, unless ``members`` says otherwise.
  public var products: [ProductDescription]
  /// Each with its `id`; absent for none.
  public var publications: [PublicationDescription]?
  /// Each with its `name`; absent for none. They are made before the products.
  public var priceTiers: [PriceTierDescription]?
  /// The members that every item describes, as the columns of a sheet do. All other members of existing items stay as
  /// they are. Absent where every item is described whole.
  public var members: [CatalogMember]?

  /// Creates the document from its members.
  public init(
    products: [ProductDescription], publications: [PublicationDescription]? = nil,
    priceTiers: [PriceTierDescription]? = nil, members: [CatalogMember]? = nil
  ) {
    self.products = products
    self.publications = publications
    self.priceTiers = priceTiers
    self.members = members
  }
}

/// The result of an import. Products, publications and price tiers are counted together.
public struct CatalogImportReport: Codable, Hashable, Sendable {
  /// The number of items that are new.
  public var created: Int
  /// The number of items that existed and were changed.
  public var changed: Int
  /// The number of items that existed and were the same already.
  public var unchanged: Int

  /// Creates the document from its members.
  public init(created: Int, changed: Int, unchanged: Int) {
    self.created = created
    self.changed = changed
    self.unchanged = unchanged
  }
}
