import PullboxAPIServer
import ContentPackage
import Crypto
import HTTPServer
import CoreTypes
import PullboxAPI

/// Content as the loops do not answer it: refusals with their documents, packages that have first to be opened, bodies that
/// a proxy sends, manifests and Metalink documents.
struct ContentRoutes: Sendable {
  static let pattern = "/v1/content/{digest}"
  private static let immutable = "private, max-age=31536000, immutable"

  let content: OpenPackageCache
  let access: TicketVerifier
  let meters: MeterRegistry
  let timer: any MonotonicClock
  let publicURL: String

  func add(to routes: inout APIRoutes) {
    routes.on(.get, Self.pattern) { request, parameters in
      let name = parameters["digest"]
      if name.hasSuffix(".meta4") { return try await metalink(request, try Self.digest(name.dropLast(6))) }
      let digest = try Self.digest(name)
      let ticket = try access.ticket(of: request, for: digest)
      return try answer(request, from: try await content.entry(for: digest), for: ticket)
    }
    routes.on(.get, Self.pattern + "/manifest") { request, parameters in
      let digest = try Self.digest(parameters["digest"])
      let ticket = try access.ticket(of: request, for: digest)
      return Self.manifest(
        try await content.manifestBytes(of: digest, for: ticket.grant), to: request)
    }
  }

  /// A manifest is sent whole, after its conditions.
  private static func manifest(_ bytes: [UInt8], to request: HTTPRequest) -> HTTPResponse {
    let tag = "\"\(SHA256Digest.of(bytes).hexadecimal)\""
    switch Preconditions(request, entityTag: tag).verdict {
    case .failed:
      return HTTPResponse(
        status: .preconditionFailed, headers: ["ETag": tag, "Cache-Control": "private, no-store"])
    case .notModified:
      return HTTPResponse(status: .notModified, headers: ["ETag": tag, "Cache-Control": immutable])
    case .proceed, .proceedWithoutRange:
      return HTTPResponse(
        status: .ok,
        headers: ["Content-Type": "application/json", "ETag": tag, "Cache-Control": immutable],
        body: .bytes(bytes))
    }
  }

  private func answer(
    _ request: HTTPRequest, from entry: OpenPackage, for ticket: Ticket
  ) throws(Problem) -> HTTPResponse {
    let settings = access.settings.value
    let answer = RangeDecision(
      Preconditions(request, entityTag: entry.entityTag).verdict,
      RangeSet.requested(request, length: entry.length))
    let meter = meters.meter(for: ticket.grant, device: ticket.device, content: entry.digest)
    var pacing: UInt64?
    if let length = answer.bodyLength(of: entry.length) {
      pacing = try begin(length, meter, settings.classes.limits(of: ticket.rateClass))
    }
    if let handOff = settings.handOff, settings.proxies.contains(request.peer),
      handOff.suits(request, answer, of: entry.length)
    {
      let length = answer.bodyLength(of: entry.length) ?? 0
      // What nginx sends is not seen from here: what it was told to send counts.
      if request.method == .get { meter.didSend(Int(length)) }
      return handedOff(request, answer, of: entry, to: handOff, pacing)
    }
    var response = response(to: request, answer, from: entry, meter)
    response.pacing = pacing
    return response
  }

  private func response(
    to request: HTTPRequest, _ answer: RangeDecision, from entry: OpenPackage, _ meter: GrantMeter
  ) -> HTTPResponse {
    var response = HTTPResponse(status: .ok, headers: Self.commonFields(request, entry))
    switch answer {
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
      response.headers = Self.fields(OpenPackage.refusalFields(entry.digest))
      response.headers["Content-Range"] = "bytes */\(entry.length)"
    case .notModified:
      response.status = .notModified
    case .preconditionFailed:
      response.status = .preconditionFailed
      response.headers = Self.fields(OpenPackage.refusalFields(entry.digest))
    }
    return response
  }

  private static func commonFields(_ request: HTTPRequest, _ entry: OpenPackage) -> HTTPFields {
    let digests = DigestPreference(request)
    var headers = fields(
      OpenPackage.commonFields(entry.digest).filter { $0.0 != "Repr-Digest" || digests.wantsReprDigest })
    if digests.wantsDigest { headers.append("Digest", "SHA-256=\(Base64.encode(entry.digest.array))") }
    return headers
  }

  private static func fields(_ all: [(String, String)]) -> HTTPFields {
    var fields = HTTPFields()
    for (name, value) in all { fields.append(name, value) }
    return fields
  }

  private func handedOff(
    _ request: HTTPRequest, _ answer: RangeDecision, of entry: OpenPackage, to handOff: AccelRedirect,
    _ pacing: UInt64?
  ) -> HTTPResponse {
    var response = HTTPResponse(status: .ok, headers: Self.commonFields(request, entry))
    // nginx takes over this field, and says it itself of the whole.
    if answer == .whole { response.headers["Accept-Ranges"] = nil }
    response.headers["Content-Type"] = entry.mediaType
    response.headers["X-Accel-Redirect"] = handOff.location(of: entry.digest)
    if let pacing { response.headers["X-Accel-Limit-Rate"] = String(pacing) }
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

  /// The ticket that was asked with opens the content for the tool that reads the document.
  private func metalink(_ request: HTTPRequest, _ digest: SHA256Digest) async throws -> HTTPResponse {
    _ = try access.ticket(of: request, for: digest)
    let manifest = try await content.manifest(of: digest)
    let ticket = request.queryValue("ticket") ?? request.bearerToken ?? ""
    let base = publicURL.isEmpty ? base(of: request) : publicURL
    let link = Metalink(manifest: manifest, url: "\(base)/v1/content/\(digest.hexadecimal)?ticket=\(ticket)")
    return HTTPResponse(
      status: .ok,
      headers: [
        "Content-Type": Metalink.mediaType, "Cache-Control": "private, no-store",
        "Content-Disposition": "attachment; filename=\"\(link.fileName).meta4\"",
      ], body: .bytes(link.document))
  }

  /// As the client calls this server: what a trusted proxy says, else the request's own `Host`.
  private func base(of request: HTTPRequest) -> String {
    let origin = access.settings.value.proxies.origin(of: request.peer, ForwardingFields(request))
    let scheme = origin.scheme ?? (request.isSecure ? "https" : "http")
    let own = request.headers["Host"].flatMap { RequestOrigin.isHost($0) ? $0 : nil }
    return "\(scheme)://\(origin.host ?? own ?? "localhost")"
  }

  private static func digest(_ name: some StringProtocol) throws(Problem) -> SHA256Digest {
    guard let digest = SHA256Digest(hexadecimal: name) else { throw Problem(.contentUnknown) }
    return digest
  }
}
