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

/// The routes by which a comic is read page by page: its manifest, and its pages.
extension CatalogFeedRoutes {
  private static let pageQuery = FeedRequest.query.union(["width"])

  /// Adds the manifest and the pages, of what is owned or free.
  func addPages(to routes: inout ScopedRoutes) {
    routes.public(
      .get, "/opds/manifest/{id}/{version}", query: FeedRequest.query,
      use: guarded { request, parameters, key in
        try await manifest(to: request, parameters, for: key)
      })
    routes.public(
      .get, PageHandler.pattern, query: Self.pageQuery,
      use: { request, parameters in
        let (product, version) = try Self.content(parameters)
        let name = infrastructure.admissions.name(
          of: request, product, version, since: infrastructure.database.changes(of: .catalog))
        if let name, let known = infrastructure.admissions.find(name) {
          return try await page(to: request, parameters, from: known, isOwned: true)
        }
        let generation = infrastructure.admissions.generation()
        return try await guarded { request, parameters, key in
          try await page(to: request, parameters, for: key, as: name, since: generation)
        }(request, parameters)
      })
  }

  private func manifest(
    to request: HTTPRequest, _ parameters: PathParameters, for key: ReaderKey?
  ) async throws -> HTTPResponse {
    let (product, version) = try Self.content(parameters)
    let ask = try ask(request, key)
    let (snapshot, now) = (try await infrastructure.cache.current(), infrastructure.clock.now())
    let composer = try await composer(for: ask, of: snapshot, at: now, key)
    let selection = try composer.selection(of: product)
    guard let item = selection.items.first, let content = item.content else {
      throw Problem(.productUnknown, "\(product) is not for sale here")
    }
    guard content.version == version else {
      throw Problem(.versionUnknown, "\(product) \(version) is not what is released")
    }
    guard composer.owned?.contents[product] != nil || composer.isFree(item) else {
      throw Problem(.purchaseRequired, "\(product) is for sale, and not for free")
    }
    if let reason = infrastructure.content.verifier.revocations.reason(for: content.digest) {
      throw Problem.stopped(reason)
    }
    let known = try await facts.facts(of: [content.digest])
    let pages = known[content.digest]?.stream == nil ? nil : try await pages(of: content.digest)
    guard let publication = composer.publications(selection, facts: known).first else {
      throw Problem(.productUnknown)
    }
    let writer = WebPublicationWriter(
      addresses: FeedAddresses(base: base(of: request), form: .json, choice: ask.choice))
    let bytes = try await BlockingPool.computing.run {
      try writer.document(publication, version, pages: pages)
    }
    return try answer(
      ConditionalJSON.Document(
        bytes: bytes,
        lastModified: key == nil
          ? max(snapshot.lastChange(before: now), infrastructure.settings.value.pricesSince) : nil),
      to: request, type: PackagePages.manifestType(isComic: pages != nil), for: key)
  }

  private func page(
    to request: HTTPRequest, _ parameters: PathParameters, for key: ReaderKey?, as name: SHA256Digest?,
    since generation: UInt64
  ) async throws -> HTTPResponse {
    let (product, version) = try Self.content(parameters)
    let (source, isGranted) = try await source(
      of: product, version, for: try ask(request, key), to: request, key)
    // What is free depends on more than the key, such as the territory that the request names.
    if isGranted, let name { infrastructure.admissions.note(source, as: name, since: generation) }
    return try await page(to: request, parameters, from: source, isOwned: key != nil)
  }

  private func page(
    to request: HTTPRequest, _ parameters: PathParameters, from source: PackageAdmission,
    isOwned: Bool
  ) async throws -> HTTPResponse {
    let (product, _) = try Self.content(parameters)
    let width = try request.queryValue("width").map { _ throws(Problem) in
      try request.number("width", in: PackagePages.widths, default: 1)
    }
    let name = parameters["n"]
    guard let number = Int(name), number >= 0, name == String(number) else {
      throw Problem(.notFound, "pages have numbers from 0")
    }
    try infrastructure.content.check(source.handle, source.digest)
    guard let pages = try await pages(of: source.digest) else {
      throw Problem(.notFound, "\(product) has no pages that are sent one by one")
    }
    guard pages.pages.indices.contains(number) else {
      throw Problem(.notFound, "pages have numbers from 0 to \(pages.pages.count - 1)")
    }
    let picture = pages.pages[number].picture(ofWidth: width)
    let (file, type) = try await reading(source.digest) { package in
      try await pageCache.checked(picture, in: package)
    }
    let tag = Self.entityTag(of: file, in: source.digest)
    var response = try await infrastructure.content.response(
      to: request, with: file, entityTag: tag, of: source.digest,
      for: source.handle, device: source.device, of: product.description)
    let (fields, contentFields) = (Self.pageFields(isOwned: isOwned), Self.pageFields(of: type))
    if isOwned, width == nil, file.method == .stored, pageCache.openFile(number, of: source.digest) == nil {
      pageCache.note(
        OpenFile(range: file.range, entityTag: tag, fields: fields, contentFields: contentFields),
        as: number, of: source.digest)
    }
    for (name, value) in fields { response.headers[name] = value }
    guard response.status == .ok || response.status == .partialContent else { return response }
    for (name, value) in contentFields { response.headers[name] = value }
    return response
  }

  /// The fields of every response about a page.
  private static func pageFields(isOwned: Bool) -> [(name: String, value: String)] {
    [
      ("Cache-Control", isOwned ? CatalogRoutes.revalidated : "public, no-cache"),
      ("Vary", "Authorization"),
    ]
  }

  /// The fields of a response with a page's bytes: publishers' bytes are shown, and never run.
  private static func pageFields(of type: String) -> [(name: String, value: String)] {
    [
      ("Content-Type", type), ("X-Content-Type-Options", "nosniff"),
      ("Content-Security-Policy", "sandbox; default-src 'none'"),
    ] + (type == MediaType.bytes.text ? [("Content-Disposition", "attachment")] : [])
  }

  private static func entityTag(of file: PackedFile, in package: SHA256Digest) -> String {
    switch file.check {
    case .digest(let digest): "\"\(digest)\""
    case .checksum: "\"\(package)-\(file.range.lowerBound)\""
    }
  }

  /// The package of a version that the reader owns, or that costs nothing, and the name for which its bytes count. The ledger decides with
  /// each request.
  private func source(
    of product: ProductIdentifier, _ version: ContentVersion, for ask: FeedRequest, to request: HTTPRequest,
    _ key: ReaderKey?
  ) async throws -> (PackageAdmission, isGranted: Bool) {
    var refusal: Problem?
    let (snapshot, now) = (try await infrastructure.cache.current(), infrastructure.clock.now())
    if let key {
      do {
        let owned = try await composer(for: ask, of: snapshot, at: now, key).owned
        let grant = try await grant(product, version, owned?.contents[product], for: key)
        infrastructure.bodies.note(key)
        let admission = PackageAdmission(
          digest: grant.digest, handle: grant.handle, device: Ticket.tag(of: grant.device),
          limits: infrastructure.content.limits(of: product.description))
        return (admission, isGranted: true)
      } catch let problem as Problem {
        // What is free is open to all.
        refusal = problem
      }
    }
    let composer = try await composer(for: ask, of: snapshot, at: now, nil)
    guard let item = composer.item(product), let content = item.content else {
      throw refusal ?? Problem(.productUnknown, "\(product) is not for sale here")
    }
    guard content.version == version else {
      throw refusal ?? Problem(.versionUnknown, "\(product) \(version) is not what is released")
    }
    guard composer.isFree(item) else {
      throw refusal ?? Problem(.purchaseRequired, "\(product) is for sale, and not for free")
    }
    let handle = try openHandle(of: product, for: request)
    let admission = PackageAdmission(
      digest: content.digest, handle: handle, device: handle.low,
      limits: infrastructure.content.limits(of: product.description))
    return (admission, isGranted: false)
  }

  private func pages(of digest: SHA256Digest) async throws -> PackagePages? {
    // Its manifest would be read and decoded for each page.
    if let known = pageCache.known(digest) { return known }
    let manifest = try await infrastructure.content.packages.manifest(of: digest)
    return try await reading(digest) { package in try await pageCache.pages(of: package, manifest) }
  }

  /// Looks into a package. Throws `content-damaged` where its bytes are not there or not the right ones, which is written down, and
  /// `unavailable` where they cannot be brought now.
  private func reading<Value>(
    _ digest: SHA256Digest, _ body: (OpenPackage) async throws -> Value
  ) async throws -> Value {
    let package = try await infrastructure.content.package(for: digest)
    do {
      return try await body(package)
    } catch is PackageValidationError {
      await infrastructure.noteDamaged(digest)
      throw Problem.stopped(.contentDamaged)
    } catch let error as FilePresenceError {
      switch error.code {
      case .missing:
        throw await infrastructure.content.noteMissing(digest)
          ? Problem.stopped(.contentDamaged) : Problem(.contentUnknown)
      case .damaged: throw Problem.stopped(.contentDamaged)
      default:
        throw Problem(
          .unavailable, "the content cannot be fetched now",
          retryAfterSeconds: RetryAfter.seconds(clamping: error.retryAfter ?? .seconds(2)))
      }
    }
  }
}
