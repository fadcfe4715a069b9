import Commerce
import ContentLibrary
import ContentPackage
import CoreTypes
import HTTPServer
import LibraryCatalog
import PullboxAPI
import PullboxAPIServer

extension ControlInterface {
  /// Adds the routes by which content is read: of a download that is under way, and of a product, before and after its content is at its
  /// place. A file that is read makes its download wanted now, where the reader may change that. Lists and HEAD leave it as it is.
  func addFiles(to routes: inout APIRoutes) {
    let reader = ContentReader(library, clock: clock)
    routes.on(.get, "/v1/downloads/{id}/files") { request, parameters in
      try request.requireQuery(only: ["wait"])
      return try await reader.list(.coming(try await reading(parameters)), to: request)
    }
    routes.on(.get, "/v1/downloads/{id}/files/{path...}") { request, parameters in
      try request.requireQuery(only: ["wait"])
      let content = ContentReader.Content.coming(try await reading(parameters))
      await hasten(content, for: request)
      return try await reader.file(parameters["path"], of: content, to: request)
    }
    routes.on(.get, "/v1/library/{product}/files") { request, parameters in
      try request.requireQuery(only: ["wait", "version"])
      return try await reader.list(try await content(parameters, request), to: request)
    }
    routes.on(.get, "/v1/library/{product}/files/{path...}") { request, parameters in
      try request.requireQuery(only: ["wait", "version"])
      let content = try await content(parameters, request, holding: parameters["path"])
      await hasten(content, for: request)
      return try await reader.file(parameters["path"], of: content, to: request)
    }
  }

  /// Has the download wanted now while the request reads it, where who asks may say how urgently one is wanted.
  private func hasten(_ content: ContentReader.Content, for request: HTTPRequest) async {
    guard case .coming(let reader) = content, request.method != .head,
      !reader.reading.standing.status.state.isFinal,
      await authority.allows(.hasten, ChangeSubject(credentials: request.credentials))
    else { return }
    await downloads.hasten(by: reader)
  }

  private func reading(_ parameters: PathParameters) async throws -> DownloadReading.Request {
    try await downloads.openReading(of: try Self.download(parameters))
  }

  /// The version that is read of a product: the one that the library holds, whole, else the one that a download brings. `version` names
  /// another one. With `path`, a file that is not among the sections at their place is read of the download that brings its section. Throws
  /// `library-item-unknown`, and `version-unknown`.
  private func content(
    _ parameters: PathParameters, _ request: HTTPRequest, holding path: String? = nil
  ) async throws -> ContentReader.Content {
    let product = try Self.product(parameters)
    var wanted: ContentVersion?
    if let text = request.queryValue("version") {
      guard let version = ContentVersion(text) else { throw Problem(.versionUnknown) }
      wanted = version
    }
    let held = try await library.items().filter { item in
      item.product == product && (wanted.map { $0 == item.version } ?? true)
    }
    if let item = held.filter({ $0.state == .present }).current(of: product) {
      if let path, let coming = try await section(holding: path, of: item) { return .coming(coming) }
      return .placed(product, item.version)
    }
    if let coming = try await downloads.openReading(ofProduct: product, version: wanted) {
      return .coming(coming)
    }
    // What is damaged says so by itself.
    if let item = held.current(of: product) { return .placed(product, item.version) }
    if let wanted { throw Problem(.versionUnknown, "\(product) \(wanted) is neither here nor on its way") }
    throw try await unknown(product)
  }

  /// The download that brings a file which the item lacks; nil where the item has it, and where none does.
  private func section(
    holding path: String, of item: LibraryItem
  ) async throws -> DownloadReading.Request? {
    let (product, version) = (item.product, item.version)
    guard let download = await downloads.download(bringing: path, of: product, version: version) else {
      return nil
    }
    let placed = try await PlacedFiles.online { [library] in
      try await library.manifest(of: product, version: version)
    }
    guard let placed, !placed.files.contains(where: { $0.path.text == path }) else { return nil }
    return try await downloads.openReading(of: download)
  }
}
