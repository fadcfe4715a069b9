import ContentDelivery
import CoreTypes
import Crypto
import DeliveryModel
import DeliveryRecords
import HTTPServer
import PullboxAPI
import PullboxAPIServer
import RouteAccess
import ServiceAPI

/// draft-ietf-httpbis-resumable-upload, interoperability version 8. A newer request about an upload ends the
/// one before rather than waiting for it: its client has given that one up. docs/uploading.md ("The draft by
/// hand") shows its requests.
struct ResumableUploadHandler: Sendable {
  /// The version of the draft whose interim answers are spoken.
  static let interopVersion: Int64 = 8
  private static let interopField = "Upload-Draft-Interop-Version"
  private static let mediaType = "application/partial-upload"

  /// Receives the bytes.
  let uploads: UploadService
  /// Knows creations that are repeated with an idempotency key.
  let answers: IdempotentAnswers

  /// `Upload-Limit`: what an upload may hold, and for how many seconds it is kept.
  func limit(age: Duration) -> String {
    "max-size=\(UploadLimits.maximumLength.rawValue), min-size=0, max-age=\(max(0, age.components.seconds))"
  }

  /// Any content with `Upload-Complete`: the whole (`?1`) or its first part (`?0`).
  ///
  /// A client that speaks the draft's version is told the upload's address in a 104 before its bytes are read.
  /// An upload whose client cannot know the address is forgotten where the request fails. Refusals are answers,
  /// and not thrown.
  func create(_ request: HTTPRequest, authorization: Authorization) async throws -> HTTPResponse {
    try await answer(authorization: authorization) { actor in
      let append = try Self.append(request, at: .zero)
      // What contradicts itself is refused before there is an upload.
      switch append.decide(UploadState(offset: .zero, length: nil, isComplete: false)) {
      case .refuse(let error), .abandon(let error): throw error
      case .receive, .repeatAnswer: break
      }
      let newUpload = NewUpload(
        length: append.length ?? (append.isComplete ? append.contentLength : nil),
        metadata: Self.metadata(of: request), awaitsEnd: true,
        wholeDigest: DigestField.sha256(request.headers.values(of: "Repr-Digest")),
        contentLength: append.contentLength,
        isAddressed: Self.isSpoken(by: request) || request.headers.contains(IdempotencyKey.field))
      let creation = try await answers.creation(
        request, of: newUpload, by: actor
      ) { try await uploads.create(newUpload, owner: actor) }
      guard case .new(let upload) = creation else {
        // The client was not told the address; it continues at Upload-Offset.
        var response = try await status(of: creation.id)
        response.status = .created
        response.headers["Location"] = "\(UploadRoutes.path)/\(creation.id)"
        return response
      }
      let location = "\(UploadRoutes.path)/\(upload.id)"
      await Self.sendInterim(
        ["Location": location, "Upload-Limit": limit(age: uploads.limits.lifetime)], to: request)
      do {
        return try await receive(request, under: append, for: upload.id, status: .created)
      } catch  where !newUpload.isAddressed {
        // Without a 104 the client was not told the address.
        try await uploads.withdraw(upload.id)
        throw error
      }
    }
  }

  /// Answers `PATCH`, `DELETE` and `HEAD` or `GET` of one upload. Each ends the request that holds the upload,
  /// and what that had sent stays.
  func respond(
    to request: HTTPRequest, as method: HTTPMethod, upload id: String, authorization: Authorization
  ) async throws -> HTTPResponse {
    try await answer(authorization: authorization) { _ in
      switch method {
      case .patch:
        guard try request.onlyValue(of: "Content-Type")?.lowercased() == Self.mediaType else {
          throw Problem(.uploadTypeUnsupported, "what continues an upload is sent as \(Self.mediaType)")
        }
        guard let offset = StructuredField.length(request.headers.values(of: "Upload-Offset")) else {
          throw Problem(.requestMalformed, "Upload-Offset is missing, or no number of bytes")
        }
        return try await receive(
          request, under: try Self.append(request, at: ByteCount(offset)), for: id, status: .noContent)
      case .delete:
        try await uploads.terminate(id, onConflict: .preempt)
        return HTTPResponse(status: .noContent)
      default:
        return try await status(of: id)
      }
    }
  }

  /// Returns 204 with the offset, the end and the time that is left.
  private func status(of id: String) async throws -> HTTPResponse {
    let (upload, state) = try await uploads.status(of: id, onConflict: .preempt)
    var headers: HTTPFields = [
      "Upload-Offset": String(state.offset.rawValue), "Upload-Complete": state.isComplete ? "?1" : "?0",
      "Upload-Limit": limit(age: uploads.remaining(of: upload)), "Cache-Control": "no-store",
    ]
    if let length = upload.length { headers["Upload-Length"] = String(length.rawValue) }
    return HTTPResponse(status: .noContent, headers: headers)
  }

  /// Takes the request's content; `status` answers one that does not end the upload.
  private func receive(
    _ request: HTTPRequest, under append: ResumableAppend, for id: String, status: HTTPStatus
  ) async throws -> HTTPResponse {
    let (upload, state) = try await uploads.append(
      request.body, to: id, under: append, onConflict: .preempt, progress: Self.progress(of: request))
    let headers: HTTPFields = [
      "Location": "\(UploadRoutes.path)/\(id)", "Upload-Complete": state.isComplete ? "?1" : "?0",
      "Upload-Offset": String(state.offset.rawValue),
      "Upload-Limit": limit(age: uploads.remaining(of: upload)),
    ]
    guard state.isComplete else { return HTTPResponse(status: status, headers: headers) }
    // What a client asked for with the whole: an upload that a version can be made of.
    return try .json(uploads.record(of: upload, at: state.offset), status: .created, headers: headers)
  }

  /// Authorizes, and writes refusals as the draft has them.
  private func answer(
    authorization: Authorization,
    _ body: (_ actor: String) async throws -> HTTPResponse
  ) async throws -> HTTPResponse {
    do {
      return try await body(try authorization.authorize(for: .publish).name)
    } catch let problem as ResumableProblem {
      return try problem.response()
    } catch var problem as Problem {
      // The status is tus's own; in this protocol it is a request with wrong content.
      if problem.code == .checksumMismatch { problem.status = 400 }
      var response = HTTPResponse.problem(problem)
      response.headers["Upload-Complete"] = problem.code == .digestMismatch ? "?1" : "?0"
      if problem.code == .uploadTooLarge {
        response.headers["Upload-Limit"] = limit(age: uploads.limits.lifetime)
      }
      return response
    }
  }

  /// 104, to a client of this version alone.
  private static func sendInterim(_ fields: HTTPFields, to request: HTTPRequest) async {
    guard isSpoken(by: request) else { return }
    var headers = fields
    headers[interopField] = String(interopVersion)
    await request.sendInterim(HTTPStatus(rawValue: 104), headers: headers)
  }

  /// Tells the client in further 104s how much it need not keep; nil for one that would not understand.
  private static func progress(of request: HTTPRequest) -> (@Sendable (ByteCount) async -> Void)? {
    guard isSpoken(by: request) else { return nil }
    return { offset in await sendInterim(["Upload-Offset": String(offset.rawValue)], to: request) }
  }

  /// Whether the client speaks the draft in the version of this server.
  private static func isSpoken(by request: HTTPRequest) -> Bool {
    StructuredField.length(request.headers.values(of: interopField)) == interopVersion
  }

  /// Throws `request-malformed` without a valid `Upload-Complete`; an invalid `Upload-Length` is ignored, as
  /// any field is that is not what its type says.
  private static func append(_ request: HTTPRequest, at offset: ByteCount) throws(Problem) -> ResumableAppend
  {
    guard let isComplete = StructuredField.boolean(request.headers.values(of: "Upload-Complete")) else {
      throw Problem(.requestMalformed, "Upload-Complete is missing, or neither ?0 nor ?1")
    }
    return ResumableAppend(
      offset: offset, isComplete: isComplete,
      length: StructuredField.length(request.headers.values(of: "Upload-Length")).map { ByteCount($0) },
      contentLength: request.body.expectedLength,
      checksum: DigestField.checksum(request.headers.values(of: "Content-Digest")))
  }

  /// The file's name, kept as tus keeps it: from `Upload-Metadata`, or from `Content-Disposition`.
  private static func metadata(of request: HTTPRequest) -> String {
    if let given = request.headers["Upload-Metadata"], given.utf8.count <= TusHandler.maximumMetadataLength,
      UploadMetadata(given) != nil
    {
      return given
    }
    guard let name = ContentDisposition.filename(request.headers["Content-Disposition"] ?? "") else {
      return ""
    }
    return "filename " + Base64.encode(name.utf8)
  }
}

/// The problem types that draft-ietf-httpbis-resumable-upload registers, with their own members. Their
/// addresses are those of the registry of RFC 9457.
struct ResumableProblem: Error, Hashable, Sendable, Encodable {
  private static let prefix = "https://iana.org/assignments/http-problem-types#"

  private enum CodingKeys: String, CodingKey {
    case type
    case title
    case status
    case expectedOffset = "expected-offset"
    case providedOffset = "provided-offset"
  }

  /// The address of the problem's type.
  let type: String
  let title: String
  let status: Int
  /// The offset of the upload, in bytes; of a mismatching offset alone.
  var expectedOffset: Int64?
  /// The offset that the request named, in bytes; of a mismatching offset alone.
  var providedOffset: Int64?

  private init(_ name: String, status: Int, title: String) {
    type = Self.prefix + name
    self.title = title
    self.status = status
  }

  /// Returns the problem with status 409 and both offsets.
  static func mismatchingOffset(expected: ByteCount, provided: ByteCount) -> ResumableProblem {
    var problem = ResumableProblem(
      "mismatching-upload-offset", status: 409,
      title: "the upload stands at another offset than the request says")
    problem.expectedOffset = expected.rawValue
    problem.providedOffset = provided.rawValue
    return problem
  }

  /// Status 400. After an overrun the upload is forgotten as well.
  static let inconsistentLength = ResumableProblem(
    "inconsistent-upload-length", status: 400,
    title: "the lengths that were given for the upload do not agree")
  static let completedUpload = ResumableProblem(
    "completed-upload", status: 400, title: "the upload is complete; nothing can be added to it")

  /// Returns the problem document, with `Upload-Offset` where the request named a wrong one.
  func response() throws -> HTTPResponse {
    var response = try HTTPResponse.json(self, status: HTTPStatus(rawValue: status))
    response.headers["Content-Type"] = "application/problem+json"
    response.headers["Upload-Complete"] = "?0"
    if let expectedOffset { response.headers["Upload-Offset"] = String(expectedOffset) }
    return response
  }
}
