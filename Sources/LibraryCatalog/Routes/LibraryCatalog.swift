import AgentRecords
import CatalogDocuments
import Commerce
package import ContentLibrary
import ContentPackage
package import CoreTypes
package import HTTPServer
import PullboxAPI
import PullboxAPIServer
package import ServiceRuntime
import SystemCalls

/// The library as a catalog for programs of this device: the feeds, the pages and the files of what is placed, in the forms that the delivery
/// server has for its own. docs/agent.md describes it.
package struct LibraryCatalog: Sendable {
  /// The parts of the agent that the routes use.
  package struct Infrastructure: Sendable {
    package let library: Library
    package let reading: ReadingShelf
    package let key: CatalogKey
    /// When the agent began.
    package let started: Timestamp
    package let clock: any WallClock
    package let timer: any MonotonicClock
    package let log: Log
    /// Put before addresses; empty where programs reach the agent by a socket.
    package let base: @Sendable () -> String

    package init(
      library: Library, reading: ReadingShelf, key: CatalogKey, started: Timestamp, clock: any WallClock,
      timer: any MonotonicClock, log: Log, base: @escaping @Sendable () -> String
    ) {
      self.library = library
      self.reading = reading
      self.key = key
      self.started = started
      self.clock = clock
      self.timer = timer
      self.log = log
      self.base = base
    }
  }

  /// The name of the catalog.
  static let title = "Pullbox on this device"
  /// The command that shows the key.
  static let command = "pullbox readers local"
  /// Readers' programs ask again each time: what lies here changes.
  static let caching = "private, no-cache"

  let infrastructure: Infrastructure
  let files: PlacedFiles
  let facts: PlacedFactsCache
  let checksums = FolderChecksums()
  let pages: PlacedPagesCache
  private let attempts: WrongPasswords

  package init(on infrastructure: Infrastructure) {
    self.infrastructure = infrastructure
    files = infrastructure.reading.files
    pages = infrastructure.reading.pages
    facts = PlacedFactsCache(infrastructure.library)
    attempts = WrongPasswords(timer: infrastructure.timer)
  }

  /// Returns the configuration of a server for it: one loop and few connections, and bodies that tell how far something was read.
  package static func configuration(_ address: ServerAddress) -> HTTPServerConfiguration {
    var configuration = HTTPServerConfiguration(addresses: [address])
    configuration.loops = 1
    configuration.maximumConnections = 64
    configuration.maximumBodyLength = ReadingProgress.maximumLength
    configuration.drainDeadline = .seconds(3)
    configuration.useProblemDocuments()
    return configuration
  }

  /// All routes, which lie in one realm below `/opds`.
  package func router() -> Router {
    var routes = APIRoutes()
    routes.on(.get, "/opds/authentication") { request, _ in
      try request.requireQuery(only: [])
      return try authentication(status: .ok)
    }
    addFeeds(to: &routes)
    addContent(to: &routes)
    addProgress(to: &routes)
    return routes.router { [log = infrastructure.log] request, error in
      log.error(
        "a request of the catalog failed",
        ["request": LogValue("\(request.method) \(request.path)"), "error": LogValue(error)])
    }
  }

  private func addFeeds(to routes: inout APIRoutes) {
    add("/opds", query: [], to: &routes) { request, _ in
      let form = FeedForm(accepting: request.headers["Accept"])
      var response = try await feed(CatalogPage(.start), to: request, in: form)
      response.headers["Vary"] = "Accept, Accept-Encoding, Authorization"
      response.headers["Content-Location"] = addresses(form).address(of: CatalogPage(.start))
      return response
    }
    for form in FeedForm.allCases {
      let path = "/opds/\(form.rawValue)"
      add(path, query: [], to: &routes) { request, _ in
        try await feed(CatalogPage(.start), to: request, in: form)
      }
      add("\(path)/owned", query: ["after"], to: &routes) { request, _ in
        try await feed(CatalogPage(.owned, after: Self.cursor(request)), to: request, in: form)
      }
      add("\(path)/reading", query: ["after"], to: &routes) { request, _ in
        try await feed(CatalogPage(.reading, after: Self.cursor(request)), to: request, in: form)
      }
      add("\(path)/publications", query: [], to: &routes) { request, _ in
        try await feed(CatalogPage(.publications), to: request, in: form)
      }
      add("\(path)/publications/{id}", query: ["after"], to: &routes) { request, parameters in
        guard let publication = ProductIdentifier(parameters["id"]) else {
          throw Problem(.publicationUnknown)
        }
        let page = CatalogPage(.publication(publication), after: try Self.cursor(request))
        return try await feed(page, to: request, in: form)
      }
      add("\(path)/search", query: ["after", "q"], to: &routes) { request, _ in
        let place = CatalogPlace.search(request.queryValue("q") ?? "")
        return try await feed(CatalogPage(place, after: Self.cursor(request)), to: request, in: form)
      }
      add("\(path)/products/{id}", query: [], to: &routes) { request, parameters in
        try await entry(Self.product(parameters), to: request, in: form)
      }
    }
    add("/opds/v1.2/search.xml", query: [], to: &routes) { request, _ in
      let bytes = SearchDescriptionWriter(addresses: addresses(.atom), name: Self.title).document()
      return try answer(bytes, to: request, type: FeedForm.atom.mediaType(of: .searchDescription))
    }
  }

  /// Adds a route for those who show the key. Throws `request-malformed` for other parameters than `query`, and for one twice.
  func add(
    _ pattern: String, by method: HTTPMethod = .get, query: Set<String>, to routes: inout APIRoutes,
    use responder: @escaping APIRoutes.Responder
  ) {
    routes.on(method, pattern) { request, parameters in
      guard try isSignedIn(request) else { return try authentication(status: .unauthorized) }
      try request.requireQuery(only: query)
      return try await responder(request, parameters)
    }
  }

  /// Throws `too-many-requests` for a wrong password behind too many. The right one always counts: it has 66 bits, and programs with an old
  /// key ask again and again.
  private func isSignedIn(_ request: HTTPRequest) throws(Problem) -> Bool {
    guard request.headers.contains("Authorization") else { return false }
    if let shown = ReaderCredentials(request), infrastructure.key.matches(shown) { return true }
    if let seconds = attempts.wait {
      throw Problem(
        .tooManyRequests, "too many wrong passwords were offered", retryAfterSeconds: max(1, seconds))
    }
    attempts.charge()
    return false
  }

  /// Says how the key is shown.
  private func authentication(status: HTTPStatus) throws -> HTTPResponse {
    let document = AuthenticationDocument(
      base: infrastructure.base(), name: Self.title, command: Self.command, hasPage: false)
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

  func addresses(_ form: FeedForm) -> FeedAddresses {
    FeedAddresses(base: infrastructure.base(), form: form)
  }

  /// The library as feeds show it now.
  func feeds(readings: [ReadingRecord] = []) async throws -> LibraryFeeds {
    let library = infrastructure.library
    let items = try await library.items().filter { !library.isTakenBack($0) }
    return LibraryFeeds(
      items, title: Self.title, started: infrastructure.started, readings: readings,
      listings: listings(of: items.map(\.product)))
  }

  /// The listings of those that belong to publications.
  func listings(of products: [ProductIdentifier]) -> [ProductIdentifier: PublicationShelves.Listing] {
    let known = infrastructure.library.listings
    var listings: [ProductIdentifier: PublicationShelves.Listing] = [:]
    for product in products {
      guard let listing = known[product], let publication = listing.publication else { continue }
      listings[product] = PublicationShelves.Listing(
        publication: publication, title: known[publication: publication]?.title, published: listing.published)
    }
    return listings
  }

  private func feed(
    _ page: CatalogPage, to request: HTTPRequest, in form: FeedForm
  ) async throws -> HTTPResponse {
    let readings = try await infrastructure.reading.all()
    let feeds = try await feeds(readings: readings)
    let selection = try await BlockingPool.computing.run { try feeds.selection(of: page) }
    let facts = try await PlacedFiles.online { try await self.facts.facts(of: selection.items) }
    let marks = try await infrastructure.reading.marks(of: selection.items, among: readings)
    let addresses = addresses(form)
    let bytes = try await BlockingPool.computing.run {
      let feed = feeds.feed(selection, facts: facts, marks: marks)
      return switch form {
      case .atom: AtomWriter(addresses: addresses, name: feeds.title).feed(feed)
      case .json: try PublicationsWriter(addresses: addresses).feed(feed)
      }
    }
    return try answer(bytes, to: request, type: form.mediaType(of: page.place.kind))
  }

  private func entry(
    _ product: ProductIdentifier, to request: HTTPRequest, in form: FeedForm
  ) async throws -> HTTPResponse {
    let feeds = try await feeds()
    guard let item = feeds.item(product) else { throw Self.unknown(product) }
    let facts = try await PlacedFiles.online { try await self.facts.facts(of: [item]) }
    let marks = try await infrastructure.reading.marks(
      of: [item], among: try await infrastructure.reading.all())
    let publication = feeds.publication(item, facts: facts[product], mark: marks[product])
    let bytes =
      switch form {
      case .atom: AtomWriter(addresses: addresses(form), name: Self.title).entry(publication)
      case .json: try PublicationsWriter(addresses: addresses(form)).entry(publication)
      }
    return try answer(bytes, to: request, type: form.mediaType(of: .entry))
  }

  func answer(_ bytes: [UInt8], to request: HTTPRequest, type: String?) throws -> HTTPResponse {
    // Without a date: what lies here may have changed at any time, and the device's clock may be set.
    let document = try ConditionalJSON.Document(bytes: bytes, lastModified: nil)
    var response = try ConditionalJSON.response(
      to: request, document: document, cacheControl: Self.caching,
      contentType: type ?? MediaType.bytes.text)
    response.headers["Vary"] = "Accept-Encoding, Authorization"
    return response
  }

  static func unknown(_ product: ProductIdentifier) -> Problem {
    Problem(.libraryItemUnknown, "the library does not hold \(product) to be read")
  }

  /// The product of the address. Throws `library-item-unknown` for a text that cannot be one.
  static func product(_ parameters: PathParameters) throws(Problem) -> ProductIdentifier {
    guard let product = ProductIdentifier(parameters["id"]) else {
      throw Problem(.libraryItemUnknown, "that is no product's identifier")
    }
    return product
  }

  private static func cursor(_ request: HTTPRequest) throws(Problem) -> ProductIdentifier? {
    guard let text = request.queryValue("after") else { return nil }
    guard let product = ProductIdentifier(text) else {
      throw Problem(.requestMalformed, "after is the next of the page before")
    }
    return product
  }
}
