import APIServing
import Digests
import HTTPServer
import Measures
import PullboxAPI

/// tus 1.0.0 (core, creation, creation-with-upload, creation-defer-length, termination) under `/v1/operator/uploads`.
struct UploadRoutes: Sendable {
  static let protocolVersion = "1.0.0"
  static let extensions = "creation,creation-with-upload,creation-defer-length,termination"
  static let maximumMetadataLength = 4096
  private static let path = "/v1/operator/uploads"

  let desk: UploadDesk
  let keys: OperatorKeys

  func add(to routes: inout ContractRoutes) {
    for pattern in [Self.path, Self.path + "/{id}"] {
      routes.on(.options, pattern) { _, _ in
        HTTPResponse(
          status: .noContent,
          headers: [
            "Tus-Resumable": Self.protocolVersion, "Tus-Version": Self.protocolVersion,
            "Tus-Extension": Self.extensions, "Tus-Max-Size": String(UploadDesk.maximumLength.rawValue),
          ])
      }
    }
    routes.on(.post, Self.path) { request, _ in
      try await answer(request) { actor in try await create(request, by: actor) }
    }
    routes.on(.head, Self.path + "/{id}") { request, parameters in
      try await answer(request) { _ in
        let (upload, offset) = try await desk.status(of: parameters["id"])
        var headers: HTTPFields = ["Upload-Offset": String(offset.rawValue), "Cache-Control": "no-store"]
        if let length = upload.length {
          headers["Upload-Length"] = String(length.rawValue)
        } else {
          headers["Upload-Defer-Length"] = "1"
        }
        if !upload.metadata.isEmpty { headers["Upload-Metadata"] = upload.metadata }
        return HTTPResponse(status: .ok, headers: headers)
      }
    }
    routes.on(.patch, Self.path + "/{id}") { request, parameters in
      try await answer(request) { _ in
        try Self.requireOffsetMediaType(request)
        guard let offset = try Self.length("Upload-Offset", of: request) else {
          throw Problem(.requestMalformed, "Upload-Offset is missing")
        }
        let (_, position) = try await desk.append(
          request.body, to: parameters["id"], at: offset,
          deferredLength: try Self.length("Upload-Length", of: request))
        return HTTPResponse(status: .noContent, headers: ["Upload-Offset": String(position.rawValue)])
      }
    }
    routes.on(.delete, Self.path + "/{id}") { request, parameters in
      try await answer(request) { _ in
        try await desk.terminate(parameters["id"])
        return HTTPResponse(status: .noContent)
      }
    }
  }

  private func create(_ request: HTTPRequest, by actor: String) async throws -> HTTPResponse {
    let length = try Self.length("Upload-Length", of: request)
    let deferred = request.headers["Upload-Defer-Length"]
    guard deferred == nil || deferred == "1", (length == nil) == (deferred == "1") else {
      throw Problem(.requestMalformed, "either Upload-Length or Upload-Defer-Length: 1 is needed")
    }
    let metadata = request.headers["Upload-Metadata"] ?? ""
    guard metadata.utf8.count <= Self.maximumMetadataLength, UploadMetadata(metadata) != nil else {
      throw Problem(.requestMalformed, "Upload-Metadata is not a list of keys and base 64 values")
    }
    let hasContent = (request.body.expectedLength ?? ByteCount(1)) > .zero
    if hasContent { try Self.requireOffsetMediaType(request) }
    let upload = try await desk.create(length: length, metadata: metadata, owner: actor)
    var headers: HTTPFields = ["Location": "\(Self.path)/\(upload.id)"]
    if hasContent {
      let (_, position) = try await desk.append(request.body, to: upload.id, at: .zero, deferredLength: nil)
      headers["Upload-Offset"] = String(position.rawValue)
    }
    return HTTPResponse(status: .created, headers: headers)
  }

  /// Authorizes, checks the protocol's version, and puts `Tus-Resumable` on whatever comes out.
  private func answer(
    _ request: HTTPRequest, _ body: (_ actor: String) async throws -> HTTPResponse
  ) async throws -> HTTPResponse {
    var response: HTTPResponse
    do {
      let actor = try keys.authorize(request, for: .publish)
      guard request.headers["Tus-Resumable"] == Self.protocolVersion else {
        throw Problem(.uploadVersionUnsupported, "Tus-Resumable: 1.0.0 is needed")
      }
      response = try await body(actor)
    } catch let problem as Problem {
      response = .problem(problem)
      if problem.code == .uploadVersionUnsupported { response.headers["Tus-Version"] = Self.protocolVersion }
      if let offset = problem.expectedOffset { response.headers["Upload-Offset"] = String(offset) }
    }
    response.headers["Tus-Resumable"] = Self.protocolVersion
    return response
  }

  private static func requireOffsetMediaType(_ request: HTTPRequest) throws(Problem) {
    guard request.headers["Content-Type"]?.lowercased() == "application/offset+octet-stream" else {
      throw Problem(.uploadTypeUnsupported)
    }
  }

  /// A field that holds a number of bytes; nil without it.
  private static func length(_ name: String, of request: HTTPRequest) throws(Problem) -> ByteCount? {
    guard let text = request.headers[name] else { return nil }
    guard text.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let number = Int64(text) else {
      throw Problem(.requestMalformed, "\(name) is a number of bytes")
    }
    return ByteCount(rawValue: number)
  }
}
