import Commerce
import CoreTypes
import HTTPClient
import PullboxAPI
import PullboxAPIClient

/// Knows what is for sale.
protocol StoreCatalog: Sendable {
  /// Nil when the product is not for sale to that device, or, without a device, to all of them. Throws the
  /// problem to answer with when the catalog cannot be read.
  func listing(
    of product: ProductIdentifier, territory: String, device: DeviceIdentifier?
  ) async throws(Problem) -> ProductListing?
}

/// The delivery server's public catalog.
struct RemoteCatalog: StoreCatalog {
  private let client: APIClient

  init(baseURL: String, client: HTTPClient) {
    var client = APIClient(baseURL: baseURL, client: client)
    client.timeout = .seconds(10)
    self.client = client
  }

  func listing(
    of product: ProductIdentifier, territory: String, device: DeviceIdentifier?
  ) async throws(Problem) -> ProductListing? {
    var query = [("id", product.description), ("territory", territory)]
    if let device { query.append(("device", device.description)) }
    do {
      let answer: ProductsResponse = try await client.get("/v1/products", query: query)
      return answer.products.first { $0.id == product }
    } catch {
      throw Problem(
        .catalogUnavailable, "\(error)",
        retryAfterSeconds: error.retryAfter.map { RetryAfter.seconds(clamping: $0) } ?? 2)
    }
  }
}
