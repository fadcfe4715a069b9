import Commerce
import PullboxAPI

/// Knows what is for sale.
protocol StoreCatalog: Sendable {
  /// Nil when the product is not for sale to that device; where none is known, to everybody. Throws the problem to answer
  /// with when nobody could say.
  func listing(
    of product: ProductIdentifier, territory: String, device: DeviceIdentifier?
  ) async throws(Problem) -> ProductListing?
}
