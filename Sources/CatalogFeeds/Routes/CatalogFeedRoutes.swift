package import Commerce
package import ContentCatalog
package import ContentDelivery
package import CoreTypes
package import Database
import DeliveryRecords
import HTTPServer
import PullboxAPI
import PullboxAPIServer
package import RouteAccess
import SystemCalls

/// The catalog for readers' applications over HTTP: feeds of OPDS 1.2 and 2.0, covers, samples, files of what is free, and the page on
/// which a product is bought. docs/catalogue-feeds.md describes them.
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

    package init(
      database: Database, cache: CatalogCache, clock: any WallClock,
      applications: Set<ApplicationIdentifier>, settings: LiveSettings, publicURL: String,
      content: ContentRoutes
    ) {
      self.database = database
      self.cache = cache
      self.clock = clock
      self.applications = applications
      self.settings = settings
      self.publicURL = publicURL.hasSuffix("/") ? String(publicURL.dropLast()) : publicURL
      self.content = content
    }
  }

  let infrastructure: Infrastructure
  let options: CatalogFeedSettings
  let facts: PackageFactsCache
  private let order = CatalogDerived(from: .products) { catalog, _ in CatalogOrder(catalog) }
  private let documents = FeedDocumentCache()

  package init(on infrastructure: Infrastructure, options: CatalogFeedSettings) {
    self.infrastructure = infrastructure
    self.options = options
    facts = PackageFactsCache(packages: infrastructure.content.packages)
  }

  /// Adds everything below `/opds`, and `/shop/{id}`.
  package func add(to routes: inout ScopedRoutes) {
    routes.public(.get, "/opds", query: FeedRequest.query) { request, _ in
      let form = FeedForm(accepting: request.headers["Accept"])
      var response = try await feed(.start, to: request, in: form)
      response.headers["Vary"] = "Accept, Accept-Encoding, Authorization"
      response.headers["Content-Location"] = FeedAddresses(
        base: base(of: request), form: form, choice: try ask(request).choice
      ).address(of: CatalogPage(.start))
      return response
    }
    addAtom(to: &routes)
    addPublications(to: &routes)
    addFiles(to: &routes)
  }

  private func addAtom(to routes: inout ScopedRoutes) {
    routes.public(.get, "/opds/v1.2", query: FeedRequest.query) { request, _ in
      try await feed(.start, to: request, in: .atom)
    }
    routes.public(.get, "/opds/v1.2/new", query: FeedRequest.facetQuery) { request, _ in
      try await feed(.new, to: request, in: .atom)
    }
    routes.public(.get, "/opds/v1.2/singles", query: FeedRequest.facetQuery) { request, _ in
      try await feed(.singles, to: request, in: .atom)
    }
    routes.public(.get, "/opds/v1.2/publications", query: FeedRequest.pagedQuery) { request, _ in
      try await feed(.publications, to: request, in: .atom)
    }
    routes.public(.get, "/opds/v1.2/publications/{id}", query: FeedRequest.pagedQuery) {
      request, parameters in
      try await feed(.publication(try Self.publication(parameters)), to: request, in: .atom)
    }
    routes.public(.get, "/opds/v1.2/search", query: FeedRequest.pagedQuery.union(["q"])) { request, _ in
      try await feed(.search(request.queryValue("q") ?? ""), to: request, in: .atom)
    }
    routes.public(.get, "/opds/v1.2/search.xml", query: FeedRequest.query) { request, _ in
      try requireOpen()
      let addresses = FeedAddresses(base: base(of: request), form: .atom, choice: try ask(request).choice)
      let bytes = SearchDescriptionWriter(addresses: addresses, name: options.title).document()
      let snapshot = try await infrastructure.cache.current()
      return try answer(
        ConditionalJSON.Document(
          bytes: bytes, lastModified: snapshot.lastChange(before: infrastructure.clock.now())),
        to: request, type: FeedForm.atom.mediaType(of: .searchDescription))
    }
    routes.public(.get, "/opds/v1.2/products/{id}", query: FeedRequest.query) { request, parameters in
      try await entry(try CatalogRoutes.product(parameters), to: request, in: .atom)
    }
  }

  private func addPublications(to routes: inout ScopedRoutes) {
    routes.public(.get, "/opds/v2", query: FeedRequest.query) { request, _ in
      try await feed(.start, to: request, in: .json)
    }
    routes.public(.get, "/opds/v2/new", query: FeedRequest.facetQuery) { request, _ in
      try await feed(.new, to: request, in: .json)
    }
    routes.public(.get, "/opds/v2/singles", query: FeedRequest.facetQuery) { request, _ in
      try await feed(.singles, to: request, in: .json)
    }
    routes.public(.get, "/opds/v2/publications", query: FeedRequest.pagedQuery) { request, _ in
      try await feed(.publications, to: request, in: .json)
    }
    routes.public(.get, "/opds/v2/publications/{id}", query: FeedRequest.pagedQuery) { request, parameters in
      try await feed(.publication(try Self.publication(parameters)), to: request, in: .json)
    }
    routes.public(.get, "/opds/v2/search", query: FeedRequest.pagedQuery.union(["q"])) { request, _ in
      try await feed(.search(request.queryValue("q") ?? ""), to: request, in: .json)
    }
    routes.public(.get, "/opds/v2/products/{id}", query: FeedRequest.query) { request, parameters in
      try await entry(try CatalogRoutes.product(parameters), to: request, in: .json)
    }
  }

  /// Throws `forbidden` unless the operator shows the shop to all.
  func requireOpen() throws(Problem) {
    guard options.isPublic else {
      throw Problem(.forbidden, "the catalog for readers' applications is not shown without a reader's key")
    }
  }

  /// Where the client found this server.
  func base(of request: HTTPRequest) -> String {
    guard infrastructure.publicURL.isEmpty else { return infrastructure.publicURL }
    return infrastructure.settings.value.proxies.origin(of: request.peer, ForwardingFields(request)).base
      ?? ""
  }

  func ask(_ request: HTTPRequest) throws(Problem) -> FeedRequest {
    try FeedRequest(
      request, territory: options.territory, priceLocales: infrastructure.settings.value.priceLocales)
  }

  /// The catalog as the request's reader sees it now.
  func composer(for ask: FeedRequest, of snapshot: CatalogSnapshot, at now: Timestamp) async throws
    -> FeedComposer
  {
    let applications = infrastructure.applications
    let window = ShopWindow(
      catalog: snapshot, localizer: ask.localizer, device: nil,
      application: ask.application ?? (applications.count == 1 ? applications.first : nil), now: now)
    return FeedComposer(
      window: window, order: try await order.value(of: snapshot, at: now), title: options.title)
  }

  private func feed(
    _ place: CatalogPlace, to request: HTTPRequest, in form: FeedForm
  ) async throws -> HTTPResponse {
    try await document(to: request, in: form, type: form.mediaType(of: place.kind)) {
      ask, composer, addresses in
      let page = CatalogPage(place, after: ask.after, onlyFree: ask.onlyFree)
      let selection = try await BlockingPool.computing.run { try composer.selection(of: page) }
      let facts = try await facts.facts(of: selection.digests)
      return try await BlockingPool.computing.run {
        let feed = composer.feed(selection, facts: facts)
        return switch form {
        case .atom: AtomWriter(addresses: addresses, name: composer.title).feed(feed)
        case .json: try PublicationsWriter(addresses: addresses).feed(feed)
        }
      }
    }
  }

  private func entry(
    _ product: ProductIdentifier, to request: HTTPRequest, in form: FeedForm
  ) async throws -> HTTPResponse {
    try await document(to: request, in: form, type: form.mediaType(of: .entry)) { _, composer, addresses in
      let selection = try composer.selection(of: product)
      let facts = try await facts.facts(of: selection.digests)
      guard let publication = composer.publications(selection, facts: facts).first else {
        throw Problem(.productUnknown)
      }
      return switch form {
      case .atom: AtomWriter(addresses: addresses, name: composer.title).entry(publication)
      case .json: try PublicationsWriter(addresses: addresses).entry(publication)
      }
    }
  }

  /// Answers with a document that was made before, or with the one that `make` makes now.
  private func document(
    to request: HTTPRequest, in form: FeedForm, type: String?,
    _ make: (FeedRequest, FeedComposer, FeedAddresses) async throws -> [UInt8]
  ) async throws -> HTTPResponse {
    try requireOpen()
    let ask = try ask(request)
    let base = base(of: request)
    let (snapshot, now) = (try await infrastructure.cache.current(), infrastructure.clock.now())
    let since = infrastructure.settings.value.pricesSince
    let basis = FeedDocumentCache.Basis(snapshot, at: now, pricesSince: since)
    let address = "\(form.rawValue) \(base) \(request.rawTarget)"
    if let made = documents.document(at: address, on: basis) {
      return try answer(made, to: request, type: type)
    }
    let bytes = try await make(
      ask, try await composer(for: ask, of: snapshot, at: now),
      FeedAddresses(base: base, form: form, choice: ask.choice))
    let document = try await BlockingPool.computing.run {
      try ConditionalJSON.Document(bytes: bytes, lastModified: max(snapshot.lastChange(before: now), since))
    }
    documents.keep(document, at: address, on: basis)
    return try answer(document, to: request, type: type)
  }

  private func answer(
    _ document: ConditionalJSON.Document, to request: HTTPRequest, type: String?
  ) throws(Problem) -> HTTPResponse {
    var response = try ConditionalJSON.response(
      to: request, document: document, cacheControl: "public, max-age=\(CatalogRoutes.maximumAge)",
      contentType: type ?? "application/octet-stream")
    response.headers["Vary"] = "Accept-Encoding, Authorization"
    return response
  }

  private static func publication(_ parameters: PathParameters) throws(Problem) -> ProductIdentifier {
    guard let id = ProductIdentifier(parameters["id"]) else { throw Problem(.publicationUnknown) }
    return id
  }
}
