import AgentRecords
import Commerce
import CoreTypes
import HTTPClient
import PullboxAPI
import PullboxAPIClient
import ServiceAPI

/// How products are called and look. What is answered here says nothing of the way to the server, and holds back no other call:
/// it is for people alone.
extension DeliveryClient {
  /// The timeout of these calls. It is long, since nothing else waits for them.
  private static let patience: Duration = .seconds(20)
  /// The requested width of a cover in pixels; the server answers with the narrowest picture that is at least as wide.
  static let coverWidth = 400
  /// The longest answer with listings.
  private static let maximumListings = ByteCount.mebibytes(1)

  /// Those of `products` that are for sale to the account and this device, with the texts that fit `locale` best, or each in its
  /// first language where the server knows no such locale. Throws the first failure of a question, but for
  /// 400 with a locale, after which it asks once more without.
  func listings(
    of products: [ProductIdentifier], for account: StoreAccount, locale: String?
  ) async throws(APICallError) -> [ProductListing] {
    var api = api
    api.timeout = Self.patience
    api.maximumResponseLength = Self.maximumListings
    let query = products.map { ("id", $0.description) } + query(for: account)
    guard let locale else {
      return try await api.get("/v1/products", query: query, as: ProductsResponse.self).products
    }
    do {
      return try await api.get("/v1/products", query: query + [("locale", locale)], as: ProductsResponse.self)
        .products
    } catch {
      guard case .problem(let problem) = error, problem.status == 400 else { throw error }
      return try await api.get("/v1/products", query: query, as: ProductsResponse.self).products
    }
  }

  /// A publication with the texts that fit `locale` best; nil where nothing of it is for sale to the account.
  func publication(
    _ publication: ProductIdentifier, for account: StoreAccount, locale: String?
  ) async throws(APICallError) -> PublicationListing? {
    var api = api
    api.timeout = Self.patience
    api.maximumResponseLength = Self.maximumListings
    let (path, query) = ("/v1/publications/\(publication)", query(for: account) + [("limit", "1")])
    guard let locale else {
      return try await api.get(path, query: query, as: PublicationResponse.self).publication
    }
    do {
      return try await api.get(path, query: query + [("locale", locale)], as: PublicationResponse.self)
        .publication
    } catch {
      guard case .problem(let problem) = error, problem.status == 400 else { throw error }
      return try await api.get(path, query: query, as: PublicationResponse.self).publication
    }
  }

  /// The bytes at an address of this server's. Nil for another's, and where the server has no cover. An
  /// address of this server's begins with one slash. 403, 404 and 410 mean that there is none.
  func cover(at address: String) async throws(APICallError) -> [UInt8]? {
    guard address.hasPrefix("/"), !address.hasPrefix("//") else { return nil }
    var api = api
    api.timeout = Self.patience
    api.maximumResponseLength = CoverPicture.maximumLength
    do {
      return try await api.exchange("GET", address, query: [("width", "\(Self.coverWidth)")]).body
    } catch {
      guard case .problem(let problem) = error, [403, 404, 410].contains(problem.status) else { throw error }
      return nil
    }
  }
}
