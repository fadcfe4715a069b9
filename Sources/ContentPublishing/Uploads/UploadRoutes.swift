import CoreTypes
import Crypto
import DeliveryModel
import DeliveryRecords
package import HTTPServer
import PullboxAPI
import PullboxAPIServer
package import RouteAccess
import ServiceAPI

/// `/v1/operator/uploads`: one set of uploads in two protocols, tus 1.0.0 and
/// draft-ietf-httpbis-resumable-upload. The fields of a request tell which one it speaks. See
/// docs/uploading.md.
package struct UploadRoutes: Sendable {
  /// The address of the list. An upload's own address is this, a slash and its name.
  package static let path = "/v1/operator/uploads"
  private static let methods: [HTTPMethod] = [.options, .post, .get, .head, .patch, .put, .delete]

  package let uploads: UploadService
  package let answers: IdempotentAnswers

  package init(uploads: UploadService, answers: IdempotentAnswers) {
    self.uploads = uploads
    self.answers = answers
  }

  private var tus: TusHandler { TusHandler(uploads: uploads, answers: answers) }
  private var resumable: ResumableUploadHandler {
    ResumableUploadHandler(uploads: uploads, answers: answers)
  }

  /// Adds every method on both addresses. The key's scope is checked by the handlers, so that a refusal is
  /// written as the protocol has it: `publish` for uploads, `read` for the list.
  package func add(to routes: inout ScopedRoutes) {
    for method in Self.methods {
      routes.on(method, Self.path, requiresByRequest: [.read, .publish]) { request, _, authorization in
        try await respond(to: request, upload: nil, authorization: authorization)
      }
      routes.on(method, Self.path + "/{id}", requiresByRequest: [.publish]) {
        request, parameters, authorization in
        try await respond(to: request, upload: parameters["id"], authorization: authorization)
      }
    }
  }

  /// Gives the request to its protocol. Answers itself what is none of either: OPTIONS, the list, and methods
  /// that the address does not have.
  private func respond(
    to request: HTTPRequest, upload id: String?, authorization: Authorization
  ) async throws -> HTTPResponse {
    let method = try Self.method(of: request)
    let allowed = Self.allowed(isUpload: id != nil)
    guard allowed.contains(method) else {
      let names = allowed.map(\.rawValue).joined(separator: ", ")
      var response = HTTPResponse.problem(
        HTTPMethod.standard.contains(method)
          ? Problem(.methodNotAllowed, "\(request.path) answers \(names)")
          : Problem(.notImplemented, "\(method) is no method of this server"))
      if response.status == .methodNotAllowed { response.headers["Allow"] = names }
      if request.headers.contains("Tus-Resumable") {
        response.headers["Tus-Resumable"] = TusHandler.protocolVersion
      }
      return response
    }
    if method == .options { return options() }
    guard let id else {
      if method != .post { return try await list(request, authorization: authorization) }
      return try Self.isForTus(request, method, authorization: authorization)
        ? try await tus.create(request, authorization: authorization)
        : try await resumable.create(request, authorization: authorization)
    }
    return try Self.isForTus(request, method, authorization: authorization)
      ? try await tus.respond(to: request, as: method, upload: id, authorization: authorization)
      : try await resumable.respond(to: request, as: method, upload: id, authorization: authorization)
  }

  /// The methods that the list of uploads or one upload answers.
  package static func allowed(isUpload: Bool) -> [HTTPMethod] {
    isUpload ? [.delete, .get, .head, .options, .patch] : [.get, .head, .options, .post]
  }

  /// tus: what the field names counts, for clients and proxies that know no PATCH or DELETE.
  private static func method(of request: HTTPRequest) throws(Problem) -> HTTPMethod {
    try request.onlyValue(of: "X-HTTP-Method-Override").map { HTTPMethod(rawValue: $0) } ?? request.method
  }

  /// `Tus-Resumable` is in every request of tus. Without it, the draft's own fields tell; a question or a
  /// cancellation that has neither could only be the draft's, once it is out of its experimental phase. Throws
  /// `request-malformed` for one that has the fields of both: what it says in one of them would not count. It has no
  /// protocol that would ask for the key: that is asked for here, before anything is said of its fields.
  private static func isForTus(
    _ request: HTTPRequest, _ method: HTTPMethod, authorization: Authorization
  ) throws(Problem) -> Bool {
    if request.headers.contains("Tus-Resumable") {
      guard !request.headers.contains("Upload-Complete") else {
        _ = try authorization.authorize(for: .publish)
        throw Problem(.requestMalformed, "Tus-Resumable and Upload-Complete are of two protocols")
      }
      return true
    }
    let marks = ["Upload-Draft-Interop-Version", "Upload-Complete"]
    if marks.contains(where: request.headers.contains) { return false }
    return method == .post || method == .patch
  }

  /// Returns what both protocols tell of this server. No key is needed for it.
  private func options() -> HTTPResponse {
    var headers = TusHandler.discovery
    headers["Upload-Limit"] = resumable.limit(age: uploads.limits.lifetime)
    headers["Accept-Patch"] = "application/offset+octet-stream, application/partial-upload"
    return HTTPResponse(status: .noContent, headers: headers)
  }

  /// Returns a page of the open uploads, the oldest first, for the scope `read`.
  private func list(
    _ request: HTTPRequest, authorization: Authorization
  ) async throws -> HTTPResponse {
    _ = try authorization.authorize(for: .read)
    try request.requireQuery(only: HTTPRequest.pageQuery)
    let after = try request.cursor("after") { UploadCursor($0) }
    return try .page(try await uploads.page(after: after, limit: try request.pageLimit()), of: request)
  }
}
