import CatalogDocuments
import Commerce
import ContentCatalog
import ContentDelivery
import ContentGrants
import CoreTypes
import DeliveryRecords
import HTTPServer
import PullboxAPI
import PullboxAPIServer
import RouteAccess
import SystemCalls

/// The making of documents: one for all who show no key, kept while the catalog says the same, and one for each reader who shows one.
extension CatalogFeedRoutes {
  /// Where the client found this server.
  func base(of request: HTTPRequest) -> String {
    guard infrastructure.publicURL.isEmpty else { return infrastructure.publicURL }
    return infrastructure.settings.value.proxies.origin(of: request.peer, ForwardingFields(request)).base
      ?? ""
  }

  func ask(_ request: HTTPRequest, _ key: ReaderKey?) throws(Problem) -> FeedRequest {
    try FeedRequest(
      request, territory: key?.territory ?? options.territory, locale: key?.locale,
      priceLocales: infrastructure.settings.value.priceLocales)
  }

  /// The catalog as the request's reader sees it now.
  func composer(
    for ask: FeedRequest, of snapshot: CatalogSnapshot, at now: Timestamp, _ key: ReaderKey?
  ) async throws -> FeedComposer {
    let applications = infrastructure.applications
    let window = ShopWindow(
      catalog: snapshot, localizer: ask.localizer, device: key?.device,
      application: ask.application ?? (applications.count == 1 ? applications.first : nil), now: now)
    var composer = FeedComposer(
      window: window, order: try await order.value(of: snapshot, at: now), title: options.title)
    guard let key else { return composer }
    let since = infrastructure.settings.value.pricesSince
    composer.owned = try await owned.products(
      of: key, on: CatalogBasis(snapshot, at: now, pricesSince: since))
    composer.progress = ReaderProgress([])
    return composer
  }

  func feed(
    _ place: CatalogPlace, to request: HTTPRequest, in form: FeedForm, for key: ReaderKey?
  ) async throws -> HTTPResponse {
    // What was begun lately may be anything.
    try await document(
      to: request, in: form, type: form.mediaType(of: place.kind), for: key, isKept: place != .reading
    ) { ask, composer, addresses in
      let page = CatalogPage(place, after: ask.after, onlyFree: ask.onlyFree)
      var composer = composer
      if let key, place == .reading { composer.progress = try await progress.all(of: key) }
      let selection = try await BlockingPool.computing.run { [composer] in try composer.selection(of: page) }
      if let key, place != .reading {
        composer.progress = try await progress.progress(of: selection.products, by: key)
      }
      let facts = try await facts.facts(of: selection.digests)
      let bytes = try await BlockingPool.computing.run { [composer] in
        let feed = composer.feed(selection, facts: facts)
        return switch form {
        case .atom: AtomWriter(addresses: addresses, name: composer.title).feed(feed)
        case .json: try PublicationsWriter(addresses: addresses).feed(feed)
        }
      }
      return Written(
        bytes: bytes, products: selection.products, marks: composer.progress?.marks ?? [:],
        isWhole: facts.count == Set(selection.digests).count)
    }
  }

  func entry(
    _ product: ProductIdentifier, to request: HTTPRequest, in form: FeedForm, for key: ReaderKey?
  ) async throws -> HTTPResponse {
    try await document(to: request, in: form, type: form.mediaType(of: .entry), for: key) {
      _, composer, addresses in
      var composer = composer
      let selection = try composer.selection(of: product)
      if let key { composer.progress = try await progress.progress(of: selection.products, by: key) }
      let facts = try await facts.facts(of: selection.digests)
      guard let publication = composer.publications(selection, facts: facts).first else {
        throw Problem(.productUnknown)
      }
      let bytes =
        switch form {
        case .atom: AtomWriter(addresses: addresses, name: composer.title).entry(publication)
        case .json: try PublicationsWriter(addresses: addresses).entry(publication)
        }
      return Written(
        bytes: bytes, products: selection.products, marks: composer.progress?.marks ?? [:],
        isWhole: facts.count == Set(selection.digests).count)
    }
  }

  /// A document that was written, with what it tells of how far its reader has read.
  private struct Written {
    var bytes: [UInt8]
    var products: [ProductIdentifier]
    var marks: [ProductIdentifier: ReadingMark]
    /// False where a package's facts could not be read: they may be there in a moment.
    var isWhole: Bool
  }

  /// Answers with a document that was made before, or with the one that `make` makes now.
  private func document(
    to request: HTTPRequest, in form: FeedForm, type: String?, for key: ReaderKey?, isKept: Bool = true,
    _ make: (FeedRequest, FeedComposer, FeedAddresses) async throws -> Written
  ) async throws -> HTTPResponse {
    let ask = try ask(request, key)
    let base = base(of: request)
    let (snapshot, now) = (try await infrastructure.cache.current(), infrastructure.clock.now())
    let since = infrastructure.settings.value.pricesSince
    var basis = CatalogBasis(snapshot, at: now, pricesSince: since)
    let isCompressed = ConditionalJSON.acceptsGzip(request)
    let cache = key == nil ? documents : readerDocuments
    let address = "\(key?.name ?? "") \(isCompressed) \(form.rawValue) \(base) \(request.rawTarget)"
    let composer: FeedComposer
    if let key {
      composer = try await self.composer(for: ask, of: snapshot, at: now, key)
      basis.reader = composer.owned.map { .init(generation: $0.generation, hasPlace: $0.hasPlace) }
      if isKept, let known = cache.document(at: address, on: basis),
        try await progress.progress(of: known.products, by: key).marks == known.marks
      {
        return try answer(known.document, to: request, type: type, for: key)
      }
    } else {
      if let known = cache.document(at: address, on: basis) {
        return try answer(known.document, to: request, type: type, for: nil)
      }
      composer = try await self.composer(for: ask, of: snapshot, at: now, nil)
    }
    let written = try await make(
      ask, composer,
      FeedAddresses(base: base, form: form, choice: ask.choice))
    // What a reader owns may have changed at any time, also twice within a second: its tag alone tells.
    let changed = key == nil ? max(snapshot.lastChange(before: now), since) : nil
    let document = try await BlockingPool.computing.run {
      try ConditionalJSON.Document(bytes: written.bytes, lastModified: changed, compressing: isCompressed)
    }
    if isKept, written.isWhole {
      cache.keep(
        FeedDocumentCache.Made(document: document, products: written.products, marks: written.marks),
        at: address, on: basis)
    }
    return try answer(document, to: request, type: type, for: key)
  }

  func answer(
    _ document: ConditionalJSON.Document, to request: HTTPRequest, type: String?, for key: ReaderKey?
  ) throws(Problem) -> HTTPResponse {
    var response = try ConditionalJSON.response(
      to: request, document: document,
      cacheControl: key == nil ? "public, max-age=\(CatalogRoutes.maximumAge)" : CatalogRoutes.revalidated,
      contentType: type ?? "application/octet-stream")
    response.headers["Vary"] = "Accept-Encoding, Authorization"
    return response
  }
}
