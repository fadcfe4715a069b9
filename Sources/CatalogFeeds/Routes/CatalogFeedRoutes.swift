import CatalogDocuments
package import Commerce
package import ContentCatalog
package import ContentDelivery
package import ContentGrants
package import CoreTypes
package import Crypto
package import Database
import DeliveryRecords
import HTTPServer
import PullboxAPI
import PullboxAPIServer
package import RouteAccess

/// The catalog for readers' applications over HTTP: feeds of OPDS 1.2 and 2.0, covers, samples, files of what is owned or free, and the
/// page on which a product is bought. docs/catalogue-feeds.md describes them.
package struct CatalogFeedRoutes: Sendable {
  /// The parts of the server that the routes use.
  package struct Infrastructure: Sendable {
    package let database: Database
    package let cache: CatalogCache
    package let clock: any WallClock
    /// Those whose receipts count here.
    package let applications: Set<ApplicationIdentifier>
    /// Has the trusted proxies, which tell the server's own address.
    package let settings: LiveSettings
    /// Put before addresses; empty where it is not known.
    package let publicURL: String
    /// Sends packages.
    package let content: ContentRoutes
    /// Knows what customers own.
    package let grants: GrantService
    /// Knows whose key a request shows.
    package let readers: ReaderSignIn
    /// Ends the bodies of keys that are removed.
    package let bodies: ReaderBodies
    /// Remembers which packages keys were let into lately.
    package let admissions: ReaderAdmissions
    /// Told of a package that has other bytes than were published.
    package let noteDamaged: @Sendable (SHA256Digest) async -> Void

    package init(
      database: Database, cache: CatalogCache, clock: any WallClock,
      applications: Set<ApplicationIdentifier>, settings: LiveSettings, publicURL: String,
      content: ContentRoutes, grants: GrantService, readers: ReaderSignIn,
      bodies: ReaderBodies, admissions: ReaderAdmissions,
      noteDamaged: @escaping @Sendable (SHA256Digest) async -> Void
    ) {
      self.database = database
      self.cache = cache
      self.clock = clock
      self.applications = applications
      self.settings = settings
      self.publicURL = publicURL.hasSuffix("/") ? String(publicURL.dropLast()) : publicURL
      self.content = content
      self.grants = grants
      self.readers = readers
      self.bodies = bodies
      self.admissions = admissions
      self.noteDamaged = noteDamaged
    }
  }

  /// Answers a request of a reader; nil stands for one without a key.
  typealias ReaderResponder =
    @Sendable (HTTPRequest, PathParameters, ReaderKey?) async throws -> HTTPResponse

  let infrastructure: Infrastructure
  let options: CatalogFeedSettings
  let facts: PackageFactsCache
  let order = CatalogDerived(from: .products) { catalog, _ in CatalogOrder(catalog) }
  let documents = FeedDocumentCache()
  let readerDocuments = FeedDocumentCache()
  let pageCache = PackagePagesCache()
  let progress: ProgressShelf
  let owned: OwnedShelf
  let tokens: ReaderTokens
  let syncDocuments = SyncDocuments()

  package init(on infrastructure: Infrastructure, options: CatalogFeedSettings) {
    self.infrastructure = infrastructure
    self.options = options
    progress = ProgressShelf(grants: infrastructure.grants)
    owned = OwnedShelf(grants: infrastructure.grants)
    tokens = ReaderTokens(grants: infrastructure.grants, signIn: infrastructure.readers)
    facts = PackageFactsCache(packages: infrastructure.content.packages)
  }

  /// Adds everything below `/opds`, and `/shop/{id}`.
  package func add(to routes: inout ScopedRoutes) {
    routes.public(
      .get, "/opds", query: FeedRequest.query,
      use: guarded { request, _, key in
        let form = FeedForm(accepting: request.headers["Accept"])
        var response = try await feed(.start, to: request, in: form, for: key)
        response.headers["Vary"] = "Accept, Accept-Encoding, Authorization"
        response.headers["Content-Location"] = FeedAddresses(
          base: base(of: request), form: form, choice: try ask(request, key).choice
        ).address(of: CatalogPage(.start))
        return response
      })
    routes.public(.get, "/opds/authentication", query: []) { request, _ in
      try authentication(for: request, status: .ok)
    }
    addAtom(to: &routes)
    addPublications(to: &routes)
    addFiles(to: &routes)
    addPages(to: &routes)
    addProgress(to: &routes)
    addSync(to: &routes)
    addAuthorization(to: &routes)
  }

  private func addAtom(to routes: inout ScopedRoutes) {
    let (plain, paged, facets) = (FeedRequest.query, FeedRequest.pagedQuery, FeedRequest.facetQuery)
    routes.public(.get, "/opds/v1.2", query: plain, use: feed(.atom) { _, _ in .start })
    routes.public(.get, "/opds/v1.2/owned", query: paged, use: feed(.atom) { _, _ in .owned })
    routes.public(.get, "/opds/v1.2/reading", query: paged, use: feed(.atom) { _, _ in .reading })
    routes.public(.get, "/opds/v1.2/new", query: facets, use: feed(.atom) { _, _ in .new })
    routes.public(.get, "/opds/v1.2/singles", query: facets, use: feed(.atom) { _, _ in .singles })
    routes.public(.get, "/opds/v1.2/publications", query: paged, use: feed(.atom) { _, _ in .publications })
    routes.public(.get, "/opds/v1.2/publications/{id}", query: paged, use: feed(.atom, Self.publication))
    routes.public(
      .get, "/opds/v1.2/search", query: FeedRequest.searchQuery, use: feed(.atom, Self.search))
    routes.public(
      .get, "/opds/v1.2/search.xml", query: plain,
      use: guarded { request, _, key in
        let addresses = FeedAddresses(
          base: base(of: request), form: .atom, choice: try ask(request, key).choice)
        let bytes = SearchDescriptionWriter(addresses: addresses, name: options.title).document()
        let snapshot = try await infrastructure.cache.current()
        return try answer(
          ConditionalJSON.Document(
            bytes: bytes, lastModified: snapshot.lastChange(before: infrastructure.clock.now())),
          to: request, type: FeedForm.atom.mediaType(of: .searchDescription), for: key)
      })
    routes.public(.get, "/opds/v1.2/products/{id}", query: plain, use: entry(.atom))
  }

  private func addPublications(to routes: inout ScopedRoutes) {
    let (plain, paged, facets) = (FeedRequest.query, FeedRequest.pagedQuery, FeedRequest.facetQuery)
    routes.public(.get, "/opds/v2", query: plain, use: feed(.json) { _, _ in .start })
    routes.public(.get, "/opds/v2/owned", query: paged, use: feed(.json) { _, _ in .owned })
    routes.public(.get, "/opds/v2/reading", query: paged, use: feed(.json) { _, _ in .reading })
    routes.public(.get, "/opds/v2/new", query: facets, use: feed(.json) { _, _ in .new })
    routes.public(.get, "/opds/v2/singles", query: facets, use: feed(.json) { _, _ in .singles })
    routes.public(.get, "/opds/v2/publications", query: paged, use: feed(.json) { _, _ in .publications })
    routes.public(.get, "/opds/v2/publications/{id}", query: paged, use: feed(.json, Self.publication))
    routes.public(.get, "/opds/v2/search", query: FeedRequest.searchQuery, use: feed(.json, Self.search))
    routes.public(.get, "/opds/v2/products/{id}", query: plain, use: entry(.json))
  }

  private func feed(
    _ form: FeedForm,
    _ place: @escaping @Sendable (HTTPRequest, PathParameters) throws -> CatalogPlace
  ) -> APIRoutes.Responder {
    guarded { request, parameters, key in
      let place = try place(request, parameters)
      // Who owns and reads something is known by a key alone.
      if place == .owned || place == .reading, key == nil {
        return try authentication(for: request, status: .unauthorized)
      }
      return try await feed(place, to: request, in: form, for: key)
    }
  }

  private func entry(_ form: FeedForm) -> APIRoutes.Responder {
    guarded { request, parameters, key in
      try await entry(try CatalogRoutes.product(parameters), to: request, in: form, for: key)
    }
  }

  private static func publication(
    _ request: HTTPRequest, _ parameters: PathParameters
  ) throws -> CatalogPlace {
    guard let id = ProductIdentifier(parameters["id"]) else { throw Problem(.publicationUnknown) }
    return .publication(id)
  }

  private static func search(_ request: HTTPRequest, _ parameters: PathParameters) throws -> CatalogPlace {
    .search(request.queryValue("q") ?? "")
  }

  /// Puts the look at the reader's key before a responder. Without a key the shop alone is shown, where the operator allows it; otherwise
  /// the answer is how to show one.
  func guarded(_ responder: @escaping ReaderResponder) -> APIRoutes.Responder {
    { request, parameters in
      switch try await infrastructure.readers.access(of: request) {
      case .reader(let key): return try await responder(request, parameters, key)
      case .withoutKey where options.isPublic: return try await responder(request, parameters, nil)
      case .withoutKey, .unknown: return try authentication(for: request, status: .unauthorized)
      }
    }
  }

  /// Says how a reader's key is shown.
  func authentication(for request: HTTPRequest, status: HTTPStatus) throws -> HTTPResponse {
    let document = AuthenticationDocument(base: base(of: request), name: options.title, hasPage: true)
    var response = HTTPResponse(
      status: status,
      headers: ["Content-Type": AuthenticationDocument.mediaType, "Cache-Control": "no-store"],
      body: .bytes(try document.document()))
    guard status == .unauthorized else { return response }
    let realm = "realm=\"\(AuthenticationDocument.realm)\""
    response.headers.append(name: "WWW-Authenticate", value: "Basic \(realm), charset=\"UTF-8\"")
    response.headers.append(name: "WWW-Authenticate", value: "Bearer \(realm)")
    return response
  }
}
