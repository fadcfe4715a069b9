import AgentRecords
import CatalogDocuments
import Commerce
import ContentLibrary
import ContentPackage
import CoreTypes
import Crypto
import HTTPServer
import PullboxAPI
import PullboxAPIServer
import SystemCalls

/// The routes that feeds lead to: covers, files, manifests and pages of what is placed.
extension LibraryCatalog {
  /// Bytes of a file by whose first ones its format is told.
  private static let startLength: Int64 = 16

  func addContent(to routes: inout APIRoutes) {
    add("/opds/covers/{id}/{version}", query: ["width"], to: &routes) { request, parameters in
      try await cover(to: request, parameters)
    }
    add("/opds/cover.png", query: [], to: &routes) { request, _ in
      let content = NoCover.content
      return try Self.answer(
        request, entityTag: "\"\(SHA256Digest.of(content))\"", length: Int64(content.count),
        type: NoCover.mediaType
      ) { range in .bytes(Array(content[Int(range.lowerBound)..<Int(range.upperBound)])) }
    }
    add("/opds/files/{id}/{version}/{name}", query: [], to: &routes) { request, parameters in
      try await file(to: request, parameters)
    }
    add("/opds/manifest/{id}/{version}", query: [], to: &routes) { request, parameters in
      try await manifest(to: request, parameters)
    }
    add("/opds/pages/{id}/{version}/{n}", query: ["width"], to: &routes) { request, parameters in
      try await page(to: request, parameters)
    }
  }

  /// The manifest of a version that may be read here, with the product as feeds show it. Throws `library-item-unknown` for what the library
  /// does not hold, and for what was taken back.
  func content(
    _ parameters: PathParameters
  ) async throws -> (item: LibraryItem, manifest: Manifest, feeds: LibraryFeeds) {
    let product = try Self.product(parameters)
    guard let version = ContentVersion(parameters["version"]) else {
      throw Problem(.versionUnknown)
    }
    let held = try await infrastructure.library.item(of: product, version: version)
    guard let item = held, !infrastructure.library.isTakenBack(item) else { throw Self.unknown(product) }
    let manifest = try await PlacedFiles.online {
      try await infrastructure.library.manifest(of: product, version: version)
    }
    guard let manifest else { throw Self.unknown(product) }
    let feeds = LibraryFeeds(
      [item], title: Self.title, started: infrastructure.started, listings: listings(of: [product]))
    return (item, manifest, feeds)
  }

  private func file(to request: HTTPRequest, _ parameters: PathParameters) async throws -> HTTPResponse {
    let (item, manifest, feeds) = try await content(parameters)
    let facts = PlacedFacts(manifest)
    guard parameters["name"] == PackageFacts.fileName(of: item.product, facts.package) else {
      throw Problem(.notFound, "the file has another name")
    }
    let type = facts.package.mediaType.text
    var response: HTTPResponse
    if manifest.kind == .file {
      let file = try await files.open(0, of: manifest)
      response = try Self.answer(
        request, entityTag: "\"\(manifest.digest)\"", length: file.length.rawValue, type: type
      ) { range in .file(file, range) }
    } else {
      response = try await archive(of: manifest, to: request, type: type)
    }
    if response.status == .ok || response.status == .partialContent {
      response.headers["Content-Disposition"] = PackageFacts.disposition(
        of: feeds.publication(item, facts: facts).title, facts.package, product: item.product)
    }
    return response
  }

  /// A folder as one archive. Its checksums are read when bytes of it are sent for the first time, and not for what is answered without them.
  private func archive(
    of manifest: Manifest, to request: HTTPRequest, type: String
  ) async throws -> HTTPResponse {
    let tag = "\"\(manifest.identity)-zip\""
    // Its length does not depend on them.
    let length = FolderArchive(manifest, checksums: manifest.files.map { _ in 0 }).length
    var range: Range<Int64>?
    var response = try Self.answer(request, entityTag: tag, length: length, type: type) { wanted in
      range = wanted
      return .none
    }
    guard let range else { return response }
    try await files.requireWhole(manifest)
    guard request.method != .head else {
      response.body = .stream(contentLength: range.upperBound - range.lowerBound) { _ in }
      return response
    }
    let archive = FolderArchive(manifest, checksums: try await checksums.checksums(of: manifest, in: files))
    response.body = .stream(contentLength: range.upperBound - range.lowerBound) { [files] writer in
      try await archive.write(range, from: files, to: writer)
    }
    return response
  }

  private func manifest(to request: HTTPRequest, _ parameters: PathParameters) async throws -> HTTPResponse {
    let (item, manifest, feeds) = try await content(parameters)
    let pages = try await pages.pages(of: manifest, in: files)?.namedByFolders()
    let bytes = try WebPublicationWriter(addresses: addresses(.json)).document(
      feeds.publication(item, facts: PlacedFacts(manifest)), item.version, pages: pages)
    return try answer(bytes, to: request, type: PackagePages.manifestType(isComic: pages != nil))
  }

  private func page(to request: HTTPRequest, _ parameters: PathParameters) async throws -> HTTPResponse {
    let width = try Self.width(request)
    let (item, manifest, _) = try await content(parameters)
    let name = parameters["n"]
    guard let number = Int(name), number >= 0, name == String(number) else {
      throw Problem(.notFound, "pages have numbers from 0")
    }
    guard let pages = try await pages.pages(of: manifest, in: files)?.pages else {
      throw Problem(.notFound, "\(item.product) has no pages that are sent one by one")
    }
    guard pages.indices.contains(number) else {
      throw Problem(.notFound, "pages have numbers from 0 to \(pages.count - 1)")
    }
    return try await picture(pages[number].picture(ofWidth: width), of: manifest, to: request)
  }

  /// The content's own cover, else the one that came with the news of the product.
  private func cover(to request: HTTPRequest, _ parameters: PathParameters) async throws -> HTTPResponse {
    let width = try Self.width(request)
    let (item, manifest, _) = try await content(parameters)
    if let index = PlacedFacts.cover(of: manifest) {
      let name = manifest.files[index].path.text
      let page = PackagePages(manifest)?.pages.first { $0.picture.name == name }
      guard let page else { return try await picture(index, of: manifest, to: request) }
      return try await picture(page.picture(ofWidth: width), of: manifest, to: request)
    }
    guard let path = item.cover else { throw Problem(.previewUnknown) }
    let found = try await BlockingPool.shared.run { () throws -> (file: SharedDescriptor, tag: String)? in
      do throws(SystemError) {
        let descriptor = try FileDescriptor.openRegularFile(path)
        let status = try descriptor.status()
        return (try SharedDescriptor(descriptor), "\"\(status.inode)-\(status.changed)\"")
      } catch {
        guard error.isFileMissing || error.isUnreadable else { throw error }
        return nil
      }
    }
    guard let found else { throw Problem(.previewUnknown) }
    return try await picture(found.file, entityTag: found.tag, to: request)
  }

  private func picture(
    _ picture: PackagePages.Picture, of manifest: Manifest, to request: HTTPRequest
  ) async throws -> HTTPResponse {
    guard case .entry = picture.place else {
      guard let index = manifest.files.firstIndex(where: { $0.path.text == picture.name }) else {
        throw Problem(.internalError, "the manifest has no \(picture.name)")
      }
      return try await self.picture(index, of: manifest, to: request)
    }
    let archive = try await files.open(0, of: manifest)
    let (file, start) = try await PlacedFiles.reading(manifest) {
      let file = try await picture.file(in: archive.length, reading: archive.bytes(in:))
      return (
        file,
        try await PackedFileReader.start(
          of: file, reading: archive.bytes(in:), count: Int(Self.startLength))
      )
    }
    return try Self.picture(
      startingWith: start, entityTag: "\"\(manifest.digest)-\(file.range.lowerBound)\"",
      length: file.length.rawValue, to: request
    ) { range in
      guard file.method == .deflated else {
        let offset = file.range.lowerBound
        return .file(archive, offset + range.lowerBound..<offset + range.upperBound)
      }
      return .stream(contentLength: range.upperBound - range.lowerBound) { writer in
        try await Self.inflate(file, of: archive, range, to: writer)
      }
    }
  }

  /// Writes a part of a deflated file of an archive, which is inflated from its beginning.
  private static func inflate(
    _ file: PackedFile, of archive: SharedDescriptor, _ range: Range<Int64>, to writer: ResponseWriter
  ) async throws {
    var position: Int64 = 0
    try await PackedFileReader.forEachPart(of: file, reading: archive.bytes(in:)) { part in
      let whole = position..<position + Int64(part.count)
      let wanted = whole.clamped(to: range)
      if !wanted.isEmpty {
        try await writer.write(
          Array(part[Int(wanted.lowerBound - whole.lowerBound)..<Int(wanted.upperBound - whole.lowerBound)]))
      }
      position = whole.upperBound
    }
  }

  private func picture(
    _ index: Int, of manifest: Manifest, to request: HTTPRequest
  ) async throws -> HTTPResponse {
    let file = try await files.open(index, of: manifest)
    return try await picture(file, entityTag: "\"\(manifest.files[index].digest)\"", to: request)
  }

  private func picture(
    _ file: SharedDescriptor, entityTag: String, to request: HTTPRequest
  ) async throws -> HTTPResponse {
    let start = try await file.bytes(in: 0..<min(file.length.rawValue, Self.startLength))
    return try Self.picture(
      startingWith: start, entityTag: entityTag, length: file.length.rawValue, to: request
    ) { range in .file(file, range) }
  }

  /// Publishers' bytes are shown, and never run: the type is that of the bytes, and what browsers do not show is a download.
  private static func picture(
    startingWith start: [UInt8], entityTag: String, length: Int64, to request: HTTPRequest,
    _ body: (Range<Int64>) -> ResponseBody
  ) throws -> HTTPResponse {
    let type = CoverPicture.Format(of: start)?.mediaType
    var response = try answer(
      request, entityTag: entityTag, length: length, type: type ?? MediaType.bytes.text, body)
    response.headers["X-Content-Type-Options"] = "nosniff"
    response.headers["Content-Security-Policy"] = "sandbox; default-src 'none'"
    if type == nil { response.headers["Content-Disposition"] = "attachment" }
    return response
  }

  private static func width(_ request: HTTPRequest) throws(Problem) -> Int? {
    guard request.queryValue("width") != nil else { return nil }
    return try request.number("width", in: PackagePages.widths, default: 1)
  }

  /// Answers with bytes that have a strong validator: 200, 206, 304 or 416.
  private static func answer(
    _ request: HTTPRequest, entityTag: String, length: Int64, type: String,
    _ body: (Range<Int64>) -> ResponseBody
  ) throws(Problem) -> HTTPResponse {
    let answer = try FileAnswer(
      to: request, entityTag: entityTag, length: length, type: type,
      headers: ["Cache-Control": caching, "Vary": "Authorization"])
    return answer.range.map { answer.with(body($0)) } ?? answer.response
  }
}

extension CoverPicture.Format {
  fileprivate var mediaType: String { self == .jpeg ? "image/jpeg" : "image/\(rawValue)" }
}
