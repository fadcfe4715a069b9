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
