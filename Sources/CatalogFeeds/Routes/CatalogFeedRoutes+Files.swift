import Commerce
import ContentCatalog
import ContentDelivery
import ContentPackage
import CoreTypes
import Crypto
import Database
import DeliveryRecords
import HTTPServer
import PullboxAPI
import PullboxAPIServer
import RouteAccess
import SystemCalls

/// The routes that feeds lead to: pictures, samples, packages of what is free, and the page of the shop.
extension CatalogFeedRoutes {
  private static let previewQuery: Set<String> = ["width"]

  /// Adds the covers, the samples, the files and the page of the shop. The first three lie in the realm of the feeds, since applications
  /// send a password to no other.
  func addFiles(to routes: inout ScopedRoutes) {
    routes.public(.get, "/opds/covers/{id}/{version}", query: Self.previewQuery) { request, parameters in
      let isWished = request.queryValue("width") != nil
      let width = try request.number("width", in: 1...10_000, default: 1)
      return try await preview(to: request, parameters) { product, version, now, connection in
        isWished
          ? try PreviewTable.releasedCover(
            width: width, of: product, version: version, at: now, in: connection)
          : try PreviewTable.released(
            PreviewTable.cover, of: product, version: version, at: now, in: connection)
      }
    }
    routes.public(.get, "/opds/samples/{id}/{version}/{n}", query: []) { request, parameters in
      guard let place = Int(parameters["n"]), place > PreviewTable.cover else {
        throw Problem(.previewUnknown, "samples have numbers from 1")
      }
      return try await preview(to: request, parameters) { product, version, now, connection in
        try PreviewTable.released(place, of: product, version: version, at: now, in: connection)
      }
    }
    routes.public(.get, "/opds/files/{id}/{version}/{name}", query: FeedRequest.query) {
      request, parameters in
      try await file(to: request, parameters)
    }
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
    try requireOpen()
    let (product, version) = try Self.content(parameters)
    let now = infrastructure.clock.now()
    let found = try await infrastructure.database.read { connection in
      try find(product, version, now, connection)
    }
    guard let found else { throw Problem(.previewUnknown) }
    var response = try HTTPResponse.preview(
      found, to: request, cacheControl: "public, max-age=31536000, immutable")
    response.headers["Vary"] = "Authorization"
    return response
  }

  /// The package of a product that costs nothing, as its catalog says.
  private func file(to request: HTTPRequest, _ parameters: PathParameters) async throws -> HTTPResponse {
    try requireOpen()
    let (product, version) = try Self.content(parameters)
    let ask = try ask(request)
    let (snapshot, now) = (try await infrastructure.cache.current(), infrastructure.clock.now())
    let composer = try await composer(for: ask, of: snapshot, at: now)
    let selection = try composer.selection(of: product)
    let facts = try await facts.facts(of: selection.digests)
    guard let item = composer.window.item(product), let content = item.content, content.version == version
    else { throw Problem(.versionUnknown, "\(product) \(version) is not what is released") }
    guard composer.isFree(item) else {
      throw Problem(.purchaseRequired, "\(product) is for sale, and not for free")
    }
    let known = facts[content.digest]
    guard parameters["name"] == FeedComposer.fileName(of: product, known) else { throw Problem(.notFound) }
    // No grant counts them; the readers of one network share the limits of one purchase.
    let network = PeerNetwork(limiting: infrastructure.settings.client(of: request))
    let name = SHA256Digest.of("open \(product) \(network)".utf8)
    guard let handle = DeliveryHandle(Array(name.array.prefix(16))) else { throw Problem(.internalError) }
    var response = try await infrastructure.content.response(
      to: request, with: content.digest, for: handle, device: handle.low, of: product.description)
    response.name(as: item.listing.title, known, of: product)
    response.headers["Cache-Control"] = "public, no-cache"
    response.headers["Vary"] = "Authorization"
    return response
  }

  private func shopPage(to request: HTTPRequest, _ parameters: PathParameters) async throws -> HTTPResponse {
    guard let product = ProductIdentifier(parameters["id"]) else { throw Problem(.productUnknown) }
    let ask = try ask(request)
    let (snapshot, now) = (try await infrastructure.cache.current(), infrastructure.clock.now())
    let page = try await composer(for: ask, of: snapshot, at: now)
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
    let plain = FeedComposer.fileName(of: product, facts)
    let ending = facts?.fileExtension ?? "bin"
    // A path, or what shells and file systems take for more than a letter, is no part of a name.
    let shown = String(
      String.UnicodeScalarView(
        title.unicodeScalars.filter {
          !"/\\:*?\"<>|".unicodeScalars.contains($0) && $0.properties.generalCategory != .control
        }.prefix(120)))
    headers["Content-Disposition"] =
      "attachment; filename=\"\(plain)\"; filename*=UTF-8''\("\(shown).\(ending)".percentEncoded)"
    let isMultipart = headers["Content-Type"]?.hasPrefix("multipart/") ?? false
    if let facts, !isMultipart { headers["Content-Type"] = facts.mediaType.text }
  }
}
