import APIServing
import Digests
import HTTPServer
import Measures
import PullboxAPI

/// Content as the loops do not answer it: refusals with their documents, packages that have first to be opened, and
/// manifests.
struct ContentRoutes: Sendable {
  let content: ContentLibrary
  let access: ContentAccess
  let meters: DeliveryMeters
  let timer: any MonotonicClock

  func add(to routes: inout ContractRoutes) {
    routes.on(.get, "/v1/content/{digest}") { request, parameters in
      let digest = try Self.digest(parameters)
      let ticket = try access.ticket(of: request, for: digest)
      let entry = try await content.entry(for: digest)
      return try answer(request, from: entry, for: ticket)
    }
    routes.on(.get, "/v1/content/{digest}/manifest") { request, parameters in
      let digest = try Self.digest(parameters)
      let ticket = try access.ticket(of: request, for: digest)
      let bytes = try await content.manifestBytes(of: digest, for: ticket.grant)
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
    _ request: HTTPRequest, from entry: ContentEntry, for ticket: Ticket
  ) throws(Problem) -> HTTPResponse {
    let conditions = Preconditions(request, entityTag: entry.entityTag)
    let range = RangeSet.requested(request, length: entry.length)
    var headers = HTTPFields()
    for (name, value) in ContentEntry.commonFields(entry.digest) { headers.append(name, value) }
    let meter = meters.meter(for: ticket.grant, device: ticket.device, content: entry.digest)
    let content = ContentAnswer(conditions.verdict, range)
    let limits = access.settings.value.classes.limits(of: ticket.rateClass)
    var pacing: UInt64?
    if let length = content.bodyLength(of: entry.length) { pacing = try begin(length, meter, limits) }
    var response = HTTPResponse(status: .ok, headers: headers)
    switch content {
    case .whole:
      response.headers["Content-Type"] = entry.mediaType
      response.body = .file(entry.file, 0..<entry.length, meter: meter)
    case .part(let range):
      response.status = .partialContent
      response.headers["Content-Type"] = entry.mediaType
      response.headers["Content-Range"] =
        "bytes \(range.lowerBound)-\(range.upperBound - 1)/\(entry.length)"
      response.body = .file(entry.file, range, meter: meter)
    case .parts(let ranges):
      let multipart = MultipartRanges(ranges, of: entry.file, partType: entry.mediaType)
      response.status = .partialContent
      response.headers["Content-Type"] = multipart.contentType
      response.body = .parts(multipart.parts, meter: meter)
    case .unsatisfiable:
      response.status = .rangeNotSatisfiable
      response.headers["Content-Range"] = "bytes */\(entry.length)"
    case .notModified:
      response.status = .notModified
    case .preconditionFailed:
      response.status = .preconditionFailed
    }
    response.pacing = pacing
    return response
  }

  /// The pace of a body that may begin now. Throws `too-many-requests` where it may not.
  private func begin(
    _ length: Int64, _ meter: GrantMeter, _ limits: RateLimits
  ) throws(Problem) -> UInt64? {
    let delay = meter.delay(under: limits) { timer.now().nanoseconds }
    guard delay == 0 else {
      let seconds = Int((delay + 999_999_999) / 1_000_000_000)
      throw Problem(
        .tooManyRequests, "this purchase or device has all it may have at once", retryAfterSeconds: seconds)
    }
    return meter.pace(under: limits, length: length) { timer.now().nanoseconds }
  }

  private static func digest(_ parameters: PathParameters) throws(Problem) -> SHA256Digest {
    guard let digest = SHA256Digest(hexadecimal: parameters["digest"]) else { throw Problem(.contentUnknown) }
    return digest
  }
}
