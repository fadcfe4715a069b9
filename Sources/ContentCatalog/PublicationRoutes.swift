import Commerce
import ContentDelivery
import CoreTypes
import HTTPServer
import PullboxAPI
import PullboxAPIServer
import RouteAccess
import ServiceAPI
import ServiceRuntime
import SystemCalls

/// The public lists of publications, of their issues, and of what belongs to none.
struct PublicationRoutes: Sendable {
  let catalog: Catalog
  /// Has the languages in which prices are written.
  let settings: LiveSettings
  /// The order of the lists, made once for each change of the catalog.
  private let index = CatalogDerived(from: .products) { catalog, _ in PublicationIndex(catalog) }
  /// The documents of `/products_v2.json`.
  private let forSale: ProductListDocuments

  init(catalog: Catalog, settings: LiveSettings) {
    self.catalog = catalog
    self.settings = settings
    forSale = ProductListDocuments(of: catalog) { $0 }
  }

  private static let query: Set<String> = HTTPRequest.pageQuery.union([
    "locale", "territory", "device", "application",
  ])

  /// Adds the public lists, which need no key: `/products_v2.json`, `/v1/publications`, one of these, and
  /// `/v1/singles`.
  func add(to routes: inout ScopedRoutes) {
    addOperatorRoutes(to: &routes)
    routes.public(.get, "/products_v2.json", query: ProductListDocuments.query) { request, _ in
      try await forSale.response(to: request)
    }
    routes.public(.get, "/v1/publications", query: Self.query) { request, _ in
      try await list(for: request) { window, index, after, limit in
        try window.publications(index.publications, after: after, limit: limit)
      }
    }
    routes.public(.get, "/v1/publications/{id}", query: Self.query) { request, parameters in
      guard let id = ProductIdentifier(parameters["id"]) else { throw Problem(.publicationUnknown) }
      return try await list(for: request) { window, index, after, limit in
        guard let publication = window.publication(id) else {
          let beginning = NearestName.beginning(of: id.description)
          // Near names are few; to look whether something of one is for sale goes through its issues.
          let nearest = EditDistance.near(
            to: id.description,
            among: index.publications.lazy.filter { $0.description.hasPrefix(beginning) }
              .prefix(NearestName.maximumCandidates)
          ).first { window.publication($0) != nil }
          throw Problem(
            .publicationUnknown,
            "nothing of \(id) is for sale here"
              + NearestName.hint(nearest))
        }
        let page = try window.issues(of: id, after: after, limit: limit)
        return PublicationResponse(publication: publication, issues: page.issues, next: page.next)
      }
    }
    routes.public(.get, "/v1/singles", query: Self.query) { request, _ in
      try await list(for: request) { window, index, after, limit in
        let page = try window.page(of: index.singles, after: after, limit: limit)
        return PublicationResponse(publication: nil, issues: page.issues, next: page.next)
      }
    }
  }

  /// Adds the publications below `/v1/operator/publications`: reading takes the scope `read`, writing
  /// `publish`.
  private func addOperatorRoutes(to routes: inout ScopedRoutes) {
    let pattern = "/v1/operator/publications/{id}"
    routes.on(.get, "/v1/operator/publications", requires: .read, query: HTTPRequest.pageQuery) {
      request, _, _ in
      let limit = try request.pageLimit()
      let after = try request.cursor("after") { ProductIdentifier($0) }
      return try .page(try await catalog.operatorPublications(after: after, limit: limit), of: request)
    }
    routes.on(.put, pattern, requires: .publish) { request, parameters, actor in
      let id = try Self.publication(parameters)
      let description = try await request.decode(PublicationDescription.self)
      return try .json(
        try await catalog.put(id, description, by: actor.name, under: WriteConditions(request)))
    }
    routes.on(.get, pattern, requires: .read) { request, parameters, _ in
      try .json(
        try await catalog.operatorPublication(try Self.publication(parameters)), to: request,
        cacheControl: CatalogRoutes.revalidated)
    }
    routes.on(.delete, pattern, requires: .publish) { request, parameters, actor in
      try await catalog.removePublication(
        try Self.publication(parameters), by: actor.name, under: WriteConditions(request))
      return HTTPResponse(status: .noContent)
    }
  }

  /// Returns the publication in the address. Throws `publication-unknown` for a text that is no identifier.
  private static func publication(_ parameters: PathParameters) throws(Problem) -> ProductIdentifier {
    guard let id = ProductIdentifier(parameters["id"]) else {
      throw Problem(.publicationUnknown, "not an identifier: 1 to 255 of A-Z a-z 0-9 . _ -")
    }
    return id
  }

  /// A page with its validators, made and compressed on a thread for computations.
  private func list<Document: Encodable & Sendable>(
    for request: HTTPRequest,
    _ make:
      @escaping @Sendable (ShopWindow, PublicationIndex, ProductIdentifier?, Int) throws -> Document
  ) async throws -> HTTPResponse {
    let limit = try request.pageLimit()
    let after = try request.cursor("after") { ProductIdentifier($0) }
    let device = try request.filter("device") { DeviceIdentifier($0) }
    let localizer = try ProductLocalizer(of: request, priceLocales: settings.value.priceLocales)
    let application = try request.filter("application") { ApplicationIdentifier($0) }
    let (snapshot, now) = (try await catalog.cache.current(), catalog.clock.now())
    let since = settings.value.pricesSince
    let index = try await index.value(of: snapshot, at: now)
    let document = try await BlockingPool.computing.run {
      let window = ShopWindow(
        catalog: snapshot, localizer: localizer, device: device,
        application: application ?? catalog.onlyApplication, now: now)
      return try ConditionalJSON.Document(
        try make(window, index, after, limit), lastModified: max(snapshot.lastChange(before: now), since))
    }
    return try ConditionalJSON.response(
      to: request, document: document,
      cacheControl: "\(device == nil ? "public" : "private"), max-age=\(CatalogRoutes.maximumAge)")
  }
}

extension ProductLocalizer {
  /// Creates the localizer that the query of `request` asks for: by `locale`, in which clients write `fr_FR` as well,
  /// `territory` and `subscribedSince`. Throws `request-malformed`.
  init(of request: HTTPRequest, priceLocales: [Territory: String]) throws(Problem) {
    self.init(
      locale: try request.filter("locale") { tag in
        LanguageTag.isAssigned(tag.replacing("_", with: "-")) ? tag : nil
      }, territory: try request.filter("territory") { Territory($0) },
      subscribedSince: try request.filter("subscribedSince") { Timestamp(rfc3339: $0) },
      priceLocales: priceLocales)
  }
}
