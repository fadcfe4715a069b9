import Commerce
import CoreTypes
import HTTPServer
import PullboxAPI
import PullboxAPIServer
import RouteAccess
import ServiceAPI
import ServiceRuntime
import Synchronization

/// A list of all that is for sale, as a document for each application that products belong to: made once for each change of the
/// catalog, the lists of the ``maximumKept`` applications that were asked for last. All other names have one list together, so
/// that inventing them costs the server nothing.
///
///     let identifiers = ProductListDocuments(of: catalog) { $0.products.map(\.id) }
///     return try await identifiers.response(to: request)
final class ProductListDocuments: Sendable {
  /// Lists that are kept beside the one for requests that name no application and the one for those that name another.
  static let maximumKept = 32
  /// The parameters that it reads.
  static let query: Set<String> = ["application"]

  private typealias Derived = CatalogDerived<ConditionalJSON.Document>

  private let catalog: Catalog
  private let makeDerived: @Sendable (ApplicationIdentifier?) -> Derived
  private let unnamed: Derived
  /// The list of the products that belong to no application.
  private let others: Derived
  /// Applications that products belong to.
  private let owners = CatalogDerived(from: .products) { catalog, _ in
    Set(catalog.entriesInOrder.compactMap(\.product.application))
  }
  /// They count by number alone.
  private let named = Mutex(
    RecentlyUsedCache<ApplicationIdentifier, Derived>(
      maximumCount: maximumKept, maximumLength: ByteCount(Int64(maximumKept))))

  /// `select` makes the document's value.
  init<Value: Encodable & SendableMetatype>(
    of catalog: Catalog, select: @escaping @Sendable (ProductsForSale) -> Value
  ) {
    self.catalog = catalog
    makeDerived = { application in
      Derived { catalog, now in
        try ConditionalJSON.Document(
          select(catalog.productsForSale(at: now, in: application)),
          lastModified: catalog.lastChange(before: now))
      }
    }
    unnamed = makeDerived(catalog.onlyApplication)
    others = makeDerived(nil)
  }

  /// Returns the list of products for sale in the application that the request names, or in the only one. Throws
  /// `request-malformed`.
  func response(to request: HTTPRequest) async throws -> HTTPResponse {
    let application = try request.filter("application") { ApplicationIdentifier($0) }
    let (snapshot, now) = (try await catalog.cache.current(), catalog.clock.now())
    let owners = application == nil ? [] : try await owners.value(of: snapshot, at: now)
    let document = try await derived(for: application, owners: owners).value(of: snapshot, at: now)
    return try ConditionalJSON.response(
      to: request, document: document, cacheControl: "public, max-age=\(CatalogRoutes.maximumAge)")
  }

  /// Returns the list for an application, made before or not.
  private func derived(
    for application: ApplicationIdentifier?, owners: Set<ApplicationIdentifier>
  ) -> Derived {
    guard let application else { return unnamed }
    guard owners.contains(application) else { return others }
    return named.locked { named in
      if let kept = named.value(for: application) { return kept }
      let made = makeDerived(application)
      named.insert(made, for: application, length: ByteCount(1))
      return made
    }
  }
}
