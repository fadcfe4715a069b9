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

/// The route by which applications tell how far a product was read, and are told where another one went on.
extension CatalogFeedRoutes {
  /// A product that a reader may read, and what is known of its pages.
  struct Readable {
    var product: ProductIdentifier
    var version: ContentVersion
    var facts: PackageFacts?
  }

  /// Adds reading and writing of what was read.
  func addProgress(to routes: inout ScopedRoutes) {
    routes.public(
      .get, "/opds/progress/{id}", query: [],
      use: keyed { request, parameters, key in
        let readable = try await readable(CatalogRoutes.product(parameters), for: request, key)
        guard let found = try await progress.progress(of: readable.product, by: key) else {
          return HTTPResponse(status: .noContent, headers: ["Cache-Control": "no-store"])
        }
        var response = try HTTPResponse.json(
          shown(of: readable, to: request)(found), to: request, cacheControl: "no-cache, private")
        if response.status == .ok { response.headers["Content-Type"] = ReadingProgress.mediaType }
        return response
      })
    routes.public(
      .put, "/opds/progress/{id}", query: [],
      use: keyed { request, parameters, key in
        let readable = try await readable(CatalogRoutes.product(parameters), for: request, key)
        var told = try await request.decodeOnce(ReadingProgress.self, upTo: ReadingProgress.maximumLength)
        // The place is KOReader's word alone, and that of an earlier page where an application gives it back.
        told.position = nil
        let kept = try told.kept(at: infrastructure.clock.now(), of: readable.facts?.stream?.count)
        let shown = shown(of: readable, to: request)
        let standing = try await progress.put(
          kept, of: readable.product, by: key, where: WriteConditions(request), shown: shown)
        let bytes = try APIJSON.encode(shown(standing))
        return HTTPResponse(
          status: .ok,
          headers: [
            "Content-Type": ReadingProgress.mediaType, "Cache-Control": "no-store",
            "ETag": EntityTag.of(bytes),
          ], body: .bytes(bytes))
      })
  }

  /// A responder for those who show a key, and no others.
  func keyed(
    _ responder: @escaping @Sendable (HTTPRequest, PathParameters, ReaderKey) async throws -> HTTPResponse
  ) -> APIRoutes.Responder {
    guarded { request, parameters, key in
      guard let key else { return try authentication(for: request, status: .unauthorized) }
      return try await responder(request, parameters, key)
    }
  }

  /// The product as the key's customer may read it. Throws `product-unknown`, and `purchase-required` for what is neither owned nor free.
  func readable(
    _ product: ProductIdentifier, for request: HTTPRequest, _ key: ReaderKey
  ) async throws -> Readable {
    let (snapshot, now) = (try await infrastructure.cache.current(), infrastructure.clock.now())
    let composer = try await composer(for: ask(request, key), of: snapshot, at: now, key)
    guard let item = composer.item(product), let content = item.content else {
      throw Problem(.productUnknown, "\(product) is not for sale here")
    }
    guard composer.owned?.contents[product] != nil || composer.isFree(item) else {
      throw Problem(.purchaseRequired, "\(product) is for sale, and not for free")
    }
    return Readable(
      product: product, version: content.version,
      facts: try await facts.facts(of: [content.digest])[content.digest])
  }

  /// Makes of a word what applications are shown. One that was told without a locator has that of its page, which Readium's applications
  /// go by.
  private func shown(
    of readable: Readable, to request: HTTPRequest
  ) -> @Sendable (ReadingProgress) -> ReadingProgress {
    let addresses = FeedAddresses(base: base(of: request), form: .json)
    return { progress in
      var told = progress
      if told.locator == nil, let page = told.page, let stream = readable.facts?.stream, page < stream.count {
        let place = CatalogPage(.page(readable.product, readable.version, page, width: nil))
        told.locator = ReadingProgress.Locator(
          href: addresses.address(of: place), type: stream.mediaType,
          locations: ReadingProgress.Locator.Locations(
            position: page + 1, totalProgression: told.progression))
      }
      return told
    }
  }
}
