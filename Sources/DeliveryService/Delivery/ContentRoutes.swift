import APIServing
import Digests
import HTTPServer
import PullboxAPI

/// Content as the loops do not answer it: refusals with their documents, packages that have first to be opened, and
/// manifests.
struct ContentRoutes: Sendable {
  let content: ContentLibrary
  let access: ContentAccess
  let meters: DeliveryMeters

  func add(to routes: inout ContractRoutes) {
    routes.on(.get, "/v1/content/{digest}") { request, parameters in
      let digest = try Self.digest(parameters)
      let ticket = try access.ticket(of: request, for: digest)
      let entry = try await content.entry(for: digest)
      return answer(request, from: entry, for: ticket.grant)
    }
    routes.on(.get, "/v1/content/{digest}/manifest") { request, parameters in
      let digest = try Self.digest(parameters)
      _ = try access.ticket(of: request, for: digest)
      let bytes = try await content.manifestBytes(of: digest)
      let tag = SHA256Digest.of(bytes)
      return HTTPResponse(
        status: .ok,
        headers: [
          "Content-Type": "application/json", "ETag": "\"\(tag.hexadecimal)\"",
          "Cache-Control": "private, max-age=31536000, immutable",
        ], body: .bytes(bytes))
    }
  }

  private func answer(
    _ request: HTTPRequest, from entry: ContentEntry, for grant: Ticket.InlineGrant
  ) -> HTTPResponse {
    let conditions = Preconditions(request, entityTag: entry.entityTag)
    let range = RangeSet.requested(request, length: entry.length)
    var headers = HTTPFields()
    for (name, value) in ContentEntry.commonFields(entry.digest) { headers.append(name, value) }
    let meter = meters.meter(for: grant)
    switch ContentAnswer(conditions.verdict, range) {
    case .whole:
      headers["Content-Type"] = entry.mediaType
      return HTTPResponse(
        status: .ok, headers: headers, body: .file(entry.file, 0..<entry.length, meter: meter))
    case .part(let range):
      headers["Content-Type"] = entry.mediaType
      headers["Content-Range"] = "bytes \(range.lowerBound)-\(range.upperBound - 1)/\(entry.length)"
      return HTTPResponse(
        status: .partialContent, headers: headers, body: .file(entry.file, range, meter: meter))
    case .parts(let ranges):
      let multipart = MultipartRanges(ranges, of: entry.file, partType: entry.mediaType)
      headers["Content-Type"] = multipart.contentType
      return HTTPResponse(
        status: .partialContent, headers: headers, body: .parts(multipart.parts, meter: meter))
    case .unsatisfiable:
      headers["Content-Range"] = "bytes */\(entry.length)"
      return HTTPResponse(status: .rangeNotSatisfiable, headers: headers)
    case .notModified:
      return HTTPResponse(status: .notModified, headers: headers)
    case .preconditionFailed:
      return HTTPResponse(status: .preconditionFailed, headers: headers)
    }
  }

  private static func digest(_ parameters: PathParameters) throws(Problem) -> SHA256Digest {
    guard let digest = SHA256Digest(hexadecimal: parameters["digest"]) else { throw Problem(.contentUnknown) }
    return digest
  }
}
