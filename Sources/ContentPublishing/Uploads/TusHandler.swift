import CoreTypes
import Crypto
import DeliveryModel
import DeliveryRecords
import HTTPParsing
import HTTPServer
import PullboxAPI
import PullboxAPIServer
import RouteAccess
import ServiceAPI

/// tus 1.0.0: core, creation, creation-with-upload, creation-defer-length, checksum, expiration, termination.
/// A newer request about an upload ends the one before, as in the draft: a client that resumes has given that
/// one up, and the server may learn of its end much later. A field that occurs twice is refused: a proxy that
/// joins or reorders fields must not decide what is verified. docs/uploading.md ("tus by hand") shows its
/// requests.
struct TusHandler: Sendable {
  /// `Tus-Resumable` of every request and answer.
  static let protocolVersion = "1.0.0"
  /// The extensions that OPTIONS names.
  static let extensions =
    "creation,creation-with-upload,creation-defer-length,checksum,expiration,termination"
  /// Bytes of `Upload-Metadata`, at most.
  static let maximumMetadataLength = 4096

  let uploads: UploadService
  /// Knows creations that are repeated with an idempotency key.
  let answers: IdempotentAnswers

  /// The fields of the answer to OPTIONS.
  static var discovery: HTTPFields {
    [
      "Tus-Resumable": protocolVersion, "Tus-Version": protocolVersion, "Tus-Extension": extensions,
      "Tus-Max-Size": String(UploadLimits.maximumLength.rawValue),
      "Tus-Checksum-Algorithm": TusChecksum.algorithms.map(\.name).joined(separator: ","),
    ]
  }

  /// Answers POST: 201 with the address and the expiry, and with the offset where bytes came with it. An upload
  /// whose client was not told the address is forgotten where the request fails, unless the client can repeat
  /// it with its key.
  func create(_ request: HTTPRequest, authorization: Authorization) async throws -> HTTPResponse {
    try await answer(request, authorization: authorization) { actor in
      var newUpload = try newUpload(of: request)
      let hasContent = (request.body.expectedLength ?? ByteCount(1)) > .zero
      var append = TusAppend(offset: .zero, contentLength: request.body.expectedLength)
      if hasContent {
        newUpload.isAddressed = newUpload.length == .zero || request.headers.contains(IdempotencyKey.field)
        try Self.requireOffsetMediaType(request)
        append.checksum = try Self.checksum(of: request)
        if let length = newUpload.length, let content = append.contentLength, content > length {
          throw Problem(.uploadTooLarge, "more bytes come with the request than were announced")
        }
      }
      let asked = newUpload
      let creation = try await answers.creation(
        request, of: asked, by: actor
      ) { try await uploads.create(asked, owner: actor) }
      guard case .new(var upload) = creation else {
        return try await repeated(creation)
      }
      var headers: HTTPFields = ["Location": "\(UploadRoutes.path)/\(upload.id)"]
      if hasContent {
        let state: UploadState
        do {
          (upload, state) = try await uploads.append(
            request.body, to: upload.id, under: append, onConflict: .preempt)
        } catch let problem as Problem where asked.isAddressed && Self.mayBeResumed(problem) {
          // The client repeats the creation with its key, and is told the address then.
          throw problem
        } catch {
          // The client was not told its address, and this protocol cannot tell it any more.
          try await uploads.withdraw(upload.id)
          throw error
        }
        headers["Upload-Offset"] = String(state.offset.rawValue)
      }
      headers["Upload-Expires"] = HTTPDate.format(uploads.expiry(of: upload))
      return HTTPResponse(status: .created, headers: headers)
    }
  }

  /// Answers `PATCH`, `DELETE` and `HEAD` or `GET` of one upload. Refusals are answers, and not thrown.
  func respond(
    to request: HTTPRequest, as method: HTTPMethod, upload id: String, authorization: Authorization
  ) async throws -> HTTPResponse {
    try await answer(request, authorization: authorization) { _ in
      switch method {
      case .patch: try await append(request, to: id)
      case .delete: try await terminate(id)
      default: try await status(of: id)
      }
    }
  }

  /// Whether the request was only cut off.
  private static func mayBeResumed(_ problem: Problem) -> Bool {
    [ProblemCode.requestMalformed, .requestTimeout, .uploadLocked].contains(problem.code)
  }

  /// Returns the answer to a repeated creation, whose client was not told the upload's address before. The bytes that came
  /// again with the request are not read: the client continues at `Upload-Offset`.
  private func repeated(_ creation: UploadCreation) async throws -> HTTPResponse {
    var response = try await status(of: creation.id)
    response.status = .created
    response.headers["Location"] = "\(UploadRoutes.path)/\(creation.id)"
    return response
  }

  private func status(of id: String) async throws -> HTTPResponse {
    let (upload, state) = try await uploads.status(of: id, onConflict: .preempt)
    var headers: HTTPFields = [
      "Upload-Offset": String(state.offset.rawValue), "Cache-Control": "no-store",
      "Upload-Expires": HTTPDate.format(uploads.expiry(of: upload)),
    ]
    if let length = upload.length {
      headers["Upload-Length"] = String(length.rawValue)
    } else {
      headers["Upload-Defer-Length"] = "1"
    }
    if !upload.metadata.isEmpty { headers["Upload-Metadata"] = upload.metadata }
    return HTTPResponse(status: .ok, headers: headers)
  }

  private func append(_ request: HTTPRequest, to id: String) async throws -> HTTPResponse {
    try Self.requireOffsetMediaType(request)
    guard let offset = try Self.length("Upload-Offset", of: request) else {
      throw Problem(.requestMalformed, "Upload-Offset is missing")
    }
    let append = TusAppend(
      offset: offset, length: try Self.length("Upload-Length", of: request),
      checksum: try Self.checksum(of: request), contentLength: request.body.expectedLength)
    let (upload, state) = try await uploads.append(
      request.body, to: id, under: append, onConflict: .preempt)
    return HTTPResponse(
      status: .noContent,
      headers: [
        "Upload-Offset": String(state.offset.rawValue),
        "Upload-Expires": HTTPDate.format(uploads.expiry(of: upload)),
      ])
  }

  private func terminate(_ id: String) async throws -> HTTPResponse {
    try await uploads.terminate(id, onConflict: .preempt)
    return HTTPResponse(status: .noContent)
  }

  /// Reads the fields of a creation. Throws `request-malformed`.
  private func newUpload(of request: HTTPRequest) throws(Problem) -> NewUpload {
    let length = try Self.length("Upload-Length", of: request)
    let deferred = try request.onlyValue(of: "Upload-Defer-Length")
    guard deferred == nil || deferred == "1", (length == nil) == (deferred == "1") else {
      throw Problem(.requestMalformed, "either Upload-Length or Upload-Defer-Length: 1 is needed")
    }
    let metadata = try request.onlyValue(of: "Upload-Metadata") ?? ""
    guard metadata.utf8.count <= Self.maximumMetadataLength, UploadMetadata(metadata) != nil else {
      throw Problem(.requestMalformed, "Upload-Metadata is not a list of keys and base 64 values")
    }
    return NewUpload(length: length, metadata: metadata, contentLength: request.body.expectedLength)
  }

  /// Authorizes, checks the protocol's version, and puts `Tus-Resumable` on whatever comes out.
  private func answer(
    _ request: HTTPRequest, authorization: Authorization,
    _ body: (_ actor: String) async throws -> HTTPResponse
  ) async throws -> HTTPResponse {
    var response: HTTPResponse
    do {
      let actor = try authorization.authorize(for: .publish).name
      guard request.headers.values(of: "Tus-Resumable") == [Self.protocolVersion] else {
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

  /// Throws `upload-type-unsupported` unless the content is `application/offset+octet-stream`.
  private static func requireOffsetMediaType(_ request: HTTPRequest) throws(Problem) {
    guard try request.onlyValue(of: "Content-Type")?.lowercased() == "application/offset+octet-stream" else {
      throw Problem(.uploadTypeUnsupported)
    }
  }

  /// Returns `Upload-Checksum`; nil without the field. Throws what ``TusChecksum/parse(_:)`` throws.
  private static func checksum(of request: HTTPRequest) throws(Problem) -> Checksum? {
    guard let field = try request.onlyValue(of: "Upload-Checksum") else { return nil }
    return try TusChecksum.parse(field)
  }

  /// A field that holds a number of bytes; nil without it. Throws `request-malformed` for a field that occurs
  /// twice or is no number.
  private static func length(_ name: String, of request: HTTPRequest) throws(Problem) -> ByteCount? {
    guard let text = try request.onlyValue(of: name) else { return nil }
    guard !text.isEmpty, text.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let number = Int64(text) else {
      throw Problem(.requestMalformed, "\(name) is a number of bytes")
    }
    return ByteCount(rawValue: number)
  }
}
