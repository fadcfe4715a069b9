import CatalogDocuments
import Commerce
import ContentCatalog
import ContentDelivery
import ContentGrants
import ContentPackage
import CoreTypes
import Crypto
import Database
import DeliveryModel
import DeliveryRecords
import HTTPServer
import PullboxAPI
import PullboxAPIServer
import RouteAccess
import ServiceAPI
import SystemCalls

/// The routes that feeds lead to: pictures, samples, packages of what is owned or free, and the page of the shop.
extension CatalogFeedRoutes {
  private static let previewQuery: Set<String> = ["width"]

  /// Adds the covers, the samples, the files and the page of the shop. The first three lie in the realm of the feeds, since applications
  /// send a password to no other.
  func addFiles(to routes: inout ScopedRoutes) {
    routes.public(
      .get, "/opds/covers/{id}/{version}", query: Self.previewQuery,
      use: guarded { request, parameters, _ in
        let isWished = request.queryValue("width") != nil
        let width = try request.number("width", in: 1...10_000, default: 1)
        return try await preview(to: request, parameters) { product, version, now, connection in
          isWished
            ? try PreviewTable.releasedCover(
              width: width, of: product, version: version, at: now, in: connection)
            : try PreviewTable.released(
              PreviewTable.cover, of: product, version: version, at: now, in: connection)
        }
      })
    routes.public(
      .get, "/opds/cover.png", query: [],
      use: guarded { request, _, _ in
        let picture = PreviewTable.Preview(
          place: PreviewTable.cover, mediaType: NoCover.mediaType, digest: SHA256Digest.of(NoCover.content),
          content: NoCover.content)
        var response = try HTTPResponse.preview(
          picture, to: request, cacheControl: pictureCaching)
        response.headers["Vary"] = "Authorization"
        return response
      })
    routes.public(
      .get, "/opds/samples/{id}/{version}/{n}", query: [],
      use: guarded { request, parameters, _ in
        guard let place = Int(parameters["n"]), place > PreviewTable.cover else {
          throw Problem(.previewUnknown, "samples have numbers from 1")
        }
        return try await preview(to: request, parameters) { product, version, now, connection in
          try PreviewTable.released(place, of: product, version: version, at: now, in: connection)
        }
      })
    routes.public(
      .get, "/opds/files/{id}/{version}/{name}", query: FeedRequest.query,
      use: guarded { request, parameters, key in
        try await file(to: request, parameters, for: key)
      })
    routes.public(.get, "/shop/{id}", query: FeedRequest.query) { request, parameters in
      try await shopPage(to: request, parameters)
    }
  }

  private func preview(
    to request: HTTPRequest, _ parameters: PathParameters,
    _ find:
      @escaping @Sendable (
        ProductIdentifier, ContentVersion, Timestamp, borrowing Connection
      ) throws -> PreviewTable.Preview?
  ) async throws -> HTTPResponse {
    let (product, version) = try Self.content(parameters)
    let now = infrastructure.clock.now()
    let found = try await infrastructure.database.read { connection in
      try find(product, version, now, connection)
    }
    guard let found else { throw Problem(.previewUnknown) }
    var response = try HTTPResponse.preview(
      found, to: request, cacheControl: pictureCaching)
    response.headers["Vary"] = "Authorization"
    return response
  }

  /// Pictures never change; where the shop is open to keys alone no cache shares them.
  private var pictureCaching: String {
    "\(options.isPublic ? "public" : "private"), max-age=31536000, immutable"
  }

  /// The package of a product that the reader owns, or that costs nothing.
  private func file(
    to request: HTTPRequest, _ parameters: PathParameters, for key: ReaderKey?
  ) async throws -> HTTPResponse {
    let (product, version) = try Self.content(parameters)
    let ask = try ask(request, key)
    let (snapshot, now) = (try await infrastructure.cache.current(), infrastructure.clock.now())
    let composer = try await composer(for: ask, of: snapshot, at: now, key)
    guard let item = composer.item(product), let content = item.content else {
      throw Problem(.productUnknown, "\(product) is not for sale here")
    }
    let known = try await facts.facts(of: [content.digest])[content.digest]
    var response: HTTPResponse
    if let key, let owned = composer.owned?.contents[product] {
      let grant = try await grant(product, version, owned, for: key)
      try Self.require(parameters["name"], of: product, known)
      infrastructure.bodies.note(key)
      response = try await infrastructure.content.response(
        to: request, with: grant.digest, for: grant.handle, device: Ticket.tag(of: grant.device),
        of: product.description)
    } else {
      guard content.version == version else {
        throw Problem(.versionUnknown, "\(product) \(version) is not what is released")
      }
      guard composer.isFree(item) else {
        throw Problem(.purchaseRequired, "\(product) is for sale, and not for free")
      }
      try Self.require(parameters["name"], of: product, known)
      let handle = try openHandle(of: product, for: request)
      response = try await infrastructure.content.response(
        to: request, with: content.digest, for: handle, device: handle.low, of: product.description)
    }
    response.name(as: item.listing.title, known, of: product)
    if response.headers["Cache-Control"] != "no-store" {
      response.headers["Cache-Control"] = key == nil ? "public, no-cache" : CatalogRoutes.revalidated
    }
    response.headers["Vary"] = "Authorization"
    return response
  }

  /// The grant by which a key's device gets a product, which is the one that there is where the same transaction pays for the same
  /// version. Throws what refuses it.
  func grant(
    _ product: ProductIdentifier, _ version: ContentVersion, _ known: OwnedProducts.Content?,
    for key: ReaderKey
  ) async throws -> GrantRecord {
    if let known, known.content.version == version, let transaction = known.transaction,
      let grant = try await infrastructure.grants.standing(product, version, paidBy: transaction, for: key)
    {
      return grant
    }
    return try await infrastructure.grants.grant(product, version, for: key)
  }

  /// Throws `not-found` unless feeds give the file that name.
  private static func require(
    _ name: String, of product: ProductIdentifier, _ facts: PackageFacts?
  ) throws(Problem) {
    guard name == FeedComposer.fileName(of: product, facts) else {
      throw Problem(.notFound, "the file has another name")
    }
  }

  /// Names the bytes of what is free, which no grant counts: the readers of one network share the limits of one purchase.
  func openHandle(
    of product: ProductIdentifier, for request: HTTPRequest
  ) throws(Problem) -> DeliveryHandle {
    let network = PeerNetwork(limiting: infrastructure.settings.client(of: request))
    let name = SHA256Digest.of("open \(product) \(network)".utf8)
    guard let handle = DeliveryHandle(Array(name.array.prefix(16))) else { throw Problem(.internalError) }
    return handle
  }

  private func shopPage(to request: HTTPRequest, _ parameters: PathParameters) async throws -> HTTPResponse {
    guard let product = ProductIdentifier(parameters["id"]) else { throw Problem(.productUnknown) }
    let ask = try ask(request, nil)
    let (snapshot, now) = (try await infrastructure.cache.current(), infrastructure.clock.now())
    let page = try await composer(for: ask, of: snapshot, at: now, nil)
      .shopPage(of: product, shop: options.shop, choice: ask.choice)
    let bytes = ShopPageWriter(base: base(of: request)).document(page)
    var response = try ConditionalJSON.response(
      to: request,
      document: ConditionalJSON.Document(
        bytes: bytes,
        lastModified: max(snapshot.lastChange(before: now), infrastructure.settings.value.pricesSince)),
      cacheControl: "public, max-age=\(CatalogRoutes.maximumAge)", contentType: "text/html; charset=utf-8")
    response.headers["Content-Security-Policy"] = ShopPageWriter.contentSecurityPolicy
    response.headers["X-Content-Type-Options"] = "nosniff"
    response.headers["Referrer-Policy"] = "no-referrer"
    return response
  }

  /// The product and the version in the address. Throws `product-unknown` and `version-unknown` for texts that are none.
  static func content(
    _ parameters: PathParameters
  ) throws(Problem) -> (product: ProductIdentifier, version: ContentVersion) {
    guard let product = ProductIdentifier(parameters["id"]) else { throw Problem(.productUnknown) }
    guard let version = ContentVersion(parameters["version"]) else { throw Problem(.versionUnknown) }
    return (product, version)
  }
}

extension HTTPResponse {
  /// Says under which name and type an application is to keep the package (RFC 6266).
  mutating func name(as title: String, _ facts: PackageFacts?, of product: ProductIdentifier) {
    guard status == .ok || status == .partialContent else { return }
    headers["Content-Disposition"] = PackageFacts.disposition(of: title, facts, product: product)
    let isMultipart = headers["Content-Type"]?.hasPrefix("multipart/") ?? false
    if let facts, !isMultipart { headers["Content-Type"] = facts.mediaType.text }
  }
}
