/// `POST /v1/operator/catalog`: products that are to be as described, all of them or none.
public struct CatalogImport: Codable, Sendable, OperatorWritten {
  /// Products of one import, at most.
  public static let maximumItems = 100_000

  /// Each with its `id`. What is left out gets a default, as in `PUT /v1/operator/products/{id}`.
  public var products: [ProductDescription]

  /// Creates the document from its member.
  public init(products: [ProductDescription]) {
    self.products = products
  }
}

/// What an import did.
public struct CatalogImportReport: Codable, Hashable, Sendable {
  /// Products that were not there before.
  public var created: Int
  /// Products that were others before.
  public var changed: Int
  /// Products that were so already.
  public var unchanged: Int

  /// Creates the document from its members.
  public init(created: Int, changed: Int, unchanged: Int) {
    self.created = created
    self.changed = changed
    self.unchanged = unchanged
  }
}
