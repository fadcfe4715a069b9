package import Commerce
import CoreTypes
package import HTTPClient
package import PullboxAPI
import PullboxAPIClient
import ServiceAPI

/// Knows what is for sale.
package protocol StoreCatalog: Sendable {
  /// Nil when the product is not for sale to that device, or, without a device, to all of them. Throws the
  /// problem to answer with when the catalog cannot be read. An answer with a listing that has no price is a
  /// free product.
  func listing(
    of product: ProductIdentifier, territory: String, device: DeviceIdentifier?
  ) async throws(Problem) -> ProductListing?
}

/// The delivery server's public catalog.
package struct RemoteCatalog: StoreCatalog {
  private let client: APIClient
  private let application: String?

  /// `application` is the one that the store's receipts are for; nil for what the server takes as such. A
  /// request takes at most ten seconds.
  package init(baseURL: String, application: String? = nil, client: HTTPClient) {
    self.application = application
    var client = APIClient(baseURL: baseURL, client: client)
    client.timeout = .seconds(10)
    self.client = client
  }

  /// Asks once, and a second time for a product without a price in the territory: if it has one elsewhere, it
  /// is not for sale here. Throws `catalogue-unavailable` for every failure of a request, with the server's
  /// time to try again, or two seconds.
  package func listing(
    of product: ProductIdentifier, territory: String, device: DeviceIdentifier?
  ) async throws(Problem) -> ProductListing? {
    var query = [("id", product.description), ("territory", territory)]
    if let device { query.append(("device", device.description)) }
    if let application { query.append(("application", application)) }
    do {
      let listing = try await ask(query, about: product)
      guard let listing, listing.price == nil else { return listing }
      // Free, or without a price here: then it has one elsewhere, and is not for sale here.
      query.removeAll { $0.0 == "territory" }
      let elsewhere = try await ask(query, about: product)
      return elsewhere?.price == nil ? listing : nil
    } catch {
      throw Problem(
        .catalogUnavailable, "\(error)",
        retryAfterSeconds: error.retryAfter.map { RetryAfter.seconds(clamping: $0) } ?? 2)
    }
  }

  /// Nil where the answer does not list the product.
  private func ask(
    _ query: [(String, String)], about product: ProductIdentifier
  ) async throws(APICallError) -> ProductListing? {
    let answer: ProductsResponse = try await client.get("/v1/products", query: query)
    return answer.products.first { $0.id == product }
  }
}
