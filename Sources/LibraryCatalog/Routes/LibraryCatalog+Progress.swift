import CatalogDocuments
import Commerce
import ContentPackage
import CoreTypes
import HTTPServer
import PullboxAPI
import PullboxAPIServer

/// The route by which programs of this device tell how far a product was read, and are told where another one went on.
extension LibraryCatalog {
  func addProgress(to routes: inout APIRoutes) {
    add("/opds/progress/{id}", query: [], to: &routes) { request, parameters in
      let content = try await readable(Self.product(parameters))
      guard let found = try await infrastructure.reading.progress(of: content) else {
        return HTTPResponse(status: .noContent, headers: ["Cache-Control": "no-store"])
      }
      var response = try HTTPResponse.json(
        shown(of: content)(found), to: request, cacheControl: Self.caching)
      if response.status == .ok { response.headers["Content-Type"] = ReadingProgress.mediaType }
      return response
    }
    add("/opds/progress/{id}", by: .put, query: [], to: &routes) { request, parameters in
      let content = try await readable(Self.product(parameters))
      var told = try await request.decodeOnce(
        ReadingProgress.self, upTo: ReadingProgress.maximumLength)
      // That of an earlier page where a program gives it back.
      told.position = nil
      let shown = shown(of: content)
      let standing = try await infrastructure.reading.put(
        told, of: content, at: infrastructure.clock.now(), where: WriteConditions(request), shown: shown)
      let bytes = try APIJSON.encode(shown(standing))
      return HTTPResponse(
        status: .ok,
        headers: [
          "Content-Type": ReadingProgress.mediaType, "Cache-Control": "no-store", "ETag": EntityTag.of(bytes),
        ], body: .bytes(bytes))
    }
  }

  /// Finds the version that is read now. Throws `library-item-unknown`.
  private func readable(_ product: ProductIdentifier) async throws -> ReadingShelf.Content {
    guard let content = try await infrastructure.reading.content(of: product) else {
      throw Self.unknown(product)
    }
    return content
  }

  /// Makes of a word what programs are shown. One that was told without a locator has that of its page, which Readium's programs go by.
  private func shown(
    of content: ReadingShelf.Content
  ) -> @Sendable (ReadingProgress) -> ReadingProgress {
    let addresses = addresses(.json)
    return { progress in
      var told = progress
      if told.locator == nil, let page = told.page, let names = content.pages, names.indices.contains(page) {
        let place = CatalogPage(.page(content.item.product, content.item.version, page, width: nil))
        told.locator = ReadingProgress.Locator(
          href: addresses.address(of: place),
          type: PackageFacts.pictureType(ofFileNamed: names[page]) ?? MediaType.bytes.text,
          locations: ReadingProgress.Locator.Locations(
            position: page + 1, totalProgression: told.progression))
      }
      return told
    }
  }
}
