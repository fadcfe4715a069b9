import ContentPackage
package import CoreTypes
package import Crypto
package import HTTPServer
import PullboxAPI
import PullboxAPIServer
package import ServiceAPI

/// Answers the requests for content that the loops defer: refusals that name a time, packages that have first to be opened, bodies that a proxy sends, manifests and Metalink documents.
package struct ContentRoutes: Sendable {
  package static let pattern = "/v1/content/{digest}"
  private static let immutable = "private, max-age=31536000, immutable"
  /// The delay for a client whose content cannot be fetched, where it is not known when it can be.
  private static let fetchDelay = Duration.seconds(2)

  package let packages: OpenPackageCache
  /// Told of a package whose bytes are not there; whether it was set aside as damaged.
  package let noteMissing: @Sendable (SHA256Digest) async -> Bool
  package let verifier: TicketVerifier
  package let meters: MeterRegistry
  package let timer: any MonotonicClock
  package let publicURL: String

  package init(
    packages: OpenPackageCache, noteMissing: @escaping @Sendable (SHA256Digest) async -> Bool,
    verifier: TicketVerifier, meters: MeterRegistry, timer: any MonotonicClock, publicURL: String
  ) {
    self.packages = packages
    self.noteMissing = noteMissing
    self.verifier = verifier
    self.meters = meters
    self.timer = timer
    self.publicURL = publicURL
  }

  /// Adds the package, its manifest and its Metalink document (RFC 5854). Each needs a ticket.
  package func add(to routes: inout some PublicRoutes) {
    routes.public(.get, Self.pattern) { request, parameters in
      let name = parameters["digest"]
      if name.hasSuffix(".meta4") {
        return try await metalink(request, of: try Self.digest(name.dropLast(6)))
      }
      let digest = try Self.digest(name)
      let ticket = try verifier.ticket(of: request, for: digest)
      return try await response(to: request, from: try await package(for: digest), for: ticket) {
        () throws(Problem) in _ = try verifier.ticket(of: request, for: digest)
      }
    }
    routes.public(.get, Self.pattern + "/manifest") { request, parameters in
      let digest = try Self.digest(parameters["digest"])
      let ticket = try verifier.ticket(of: request, for: digest)
      return Self.manifest(
        try await packages.manifestBytes(of: digest, for: ticket.handle), to: request)
    }
  }

  /// Returns the package, opened. Throws `content-damaged` where a version is to have it, else
  /// `content-unknown`.
  package func package(for digest: SHA256Digest) async throws -> OpenPackage {
    if let package = try await packages.package(for: digest) { return package }
    throw await noteMissing(digest) ? Problem.stopped(.contentDamaged) : Problem(.contentUnknown)
  }

  /// A manifest of many files takes its time, and is gone on with by a range; where several are asked for it is sent whole.
  private static func manifest(_ bytes: [UInt8], to request: HTTPRequest) -> HTTPResponse {
    let tag = "\"\(SHA256Digest.of(bytes).hexadecimal)\""
    let length = Int64(bytes.count)
    let decision = RangeDecision(on: request, entityTag: tag, length: length)
    var headers: HTTPFields = ["ETag": tag, "Cache-Control": immutable]
    headers["Content-Range"] = decision.contentRange(of: length)
    switch decision {
    case .whole, .parts:
      headers["Content-Type"] = "application/json"
      headers["Accept-Ranges"] = "bytes"
      return HTTPResponse(status: .ok, headers: headers, body: .bytes(bytes))
    case .part(let range):
      headers["Content-Type"] = "application/json"
      return HTTPResponse(
        status: decision.status, headers: headers,
        body: .bytes(Array(bytes[Int(range.lowerBound)..<Int(range.upperBound)])))
    case .notModified: return HTTPResponse(status: decision.status, headers: headers)
    case .unsatisfiable, .preconditionFailed:
      headers["Cache-Control"] = "no-store"
      return HTTPResponse(status: decision.status, headers: headers)
    }
  }

  /// Returns once the first byte of the range, which is to be sent, is there. Throws `content-damaged` or `content-unknown` where the package turns out
  /// to be missing or damaged, `unavailable` where it cannot be brought now, and what `check` throws where the request opens the
  /// package no longer.
  func bring(
    _ range: Range<Int64>, of package: OpenPackage, check: () throws(Problem) -> Void
  ) async throws {
    guard !range.isEmpty, !package.file.isThere(range.lowerBound) else { return }
    do throws(FilePresenceError) {
      try await package.file.prepare(range)
    } catch {
      if error.code == .missing {
        throw await noteMissing(package.digest) ? Problem.stopped(.contentDamaged) : Problem(.contentUnknown)
      }
      // Who has compared the bytes has set the package aside.
      if error.code == .damaged { throw Problem.stopped(.contentDamaged) }
      throw Problem(
        .unavailable, "the content cannot be fetched now",
        retryAfterSeconds: RetryAfter.seconds(clamping: error.retryAfter ?? Self.fetchDelay))
    }
    // It may have taken seconds.
    try check()
  }

  /// Answers as ``pattern`` does, for a request that opens the package by other means than a ticket: the same ranges, limits, counts and
  /// refusals. Throws `content-unknown`, `content-damaged`, `content-withdrawn`, `entitlement-revoked`, `too-many-requests`,
  /// `unavailable`.
  ///
  /// - Parameters:
  ///   - digest: the package.
  ///   - handle: the grant whose bytes these are, or a name for what no grant counts.
  ///   - device: who gets them, as ``Ticket/tag(of:)`` says.
  ///   - product: chooses the class of limits.
  package func response(
    to request: HTTPRequest, with digest: SHA256Digest, for handle: DeliveryHandle, device: UInt64,
    of product: String
  ) async throws -> HTTPResponse {
    try check(handle, digest)
    let ticket = Ticket(
      rateClass: verifier.settings.value.classes.number(for: product), keyIdentifier: 0,
      expiry: verifier.now, handle: handle, device: device)
    return try await response(to: request, from: try await package(for: digest), for: ticket) {
      () throws(Problem) in try check(handle, digest)
    }
  }

  private func response(
    to request: HTTPRequest, from package: OpenPackage, for ticket: Ticket,
    check: () throws(Problem) -> Void
  ) async throws -> HTTPResponse {
    let settings = verifier.settings.value
    let decision = RangeDecision(on: request, entityTag: package.entityTag, length: package.length)
    let meter = meters.meter(for: ticket.handle, device: ticket.device, content: package.digest)
    let limits = settings.classes.limits(of: ticket.rateClass)
    let now = { timer.now().nanoseconds }
    let redirect = location(for: request, decision: decision, package, settings) {
      meter.pace(under: limits, length: $0, now: now)
    }
    // Before the limits are asked: they count what is sent from then on.
    if redirect == nil, request.method == .get, let range = decision.firstRange(of: package.length) {
      try await bring(range, of: package, check: check)
    }
    let pacing = try decision.admission(of: package.length, to: meter, under: limits, now: now).pacing()
    if let redirect {
      // This server does not see what nginx sends: it counts what nginx was told to send.
      if request.method == .get { meter.didSend(Int(decision.bodyLength(of: package.length) ?? 0)) }
      return redirected(request, as: decision, of: package, to: redirect, pacing: pacing)
    }
    var response = Self.response(to: request, as: decision, from: package, meter: meter)
    response.pacing = pacing
    return response
  }

  /// The location by which the proxy sends this body; nil where this server sends it. What comes in parts lies in a store: a proxy that
  /// reads this server's files would send the holes. `pace` is asked for a body of that many bytes.
  private func location(
    for request: HTTPRequest, decision: RangeDecision, _ package: OpenPackage, _ settings: DeliverySettings,
    pace: (Int64) -> UInt64?
  ) -> String? {
    guard let redirect = settings.accelRedirect, settings.proxies.contains(request.peer),
      ForwardingFields(request).areGiven,
      redirect.suits(request, decision: decision, length: package.length)
    else { return nil }
    switch redirect.origin {
    case .directory:
      return package.file.presence == nil ? redirect.location(of: package.digest) : nil
    case .store:
      guard let body = decision.bodyLength(of: package.length),
        redirect.bears(pace: pace(body), length: body),
        let query = packages.readingQuery(of: package.digest, seconds: AccelRedirect.lifetime)
      else { return nil }
      return redirect.location(of: package.digest, query: query)
    }
  }

  private static func response(
    to request: HTTPRequest, as decision: RangeDecision, from package: OpenPackage, meter: GrantMeter
  ) -> HTTPResponse {
    var response = HTTPResponse(
      status: decision.status, headers: fields(decision.fields, of: package, for: request))
    response.headers["Content-Range"] = decision.contentRange(of: package.length)
    switch decision {
    case .whole:
      response.body = .file(package.file, 0..<package.length, meter: meter)
    case .part(let range):
      response.body = .file(package.file, range, meter: meter)
    case .parts(let ranges):
      let multipart = MultipartRanges(ranges, of: package.file, partType: package.mediaType)
      response.headers["Content-Type"] = multipart.contentType
      response.body = .parts(multipart.parts, meter: meter)
    case .unsatisfiable, .notModified, .preconditionFailed:
      break
    }
    return response
  }

  /// The package's fields, with the digests that the request wants where the response is about the content's bytes.
  private static func fields(
    _ set: OpenPackage.FieldSet, of package: OpenPackage, for request: HTTPRequest
  ) -> HTTPFields {
    var fields = HTTPFields()
    for (name, value) in package.fields(set) { fields.append(name: name, value: value) }
    guard set != .refusal else { return fields }
    let digests = DigestPreference(request)
    if !digests.wantsReprDigest { fields["Repr-Digest"] = nil }
    if digests.wantsDigest {
      fields.append(name: "Digest", value: "SHA-256=\(Base64.encode(package.digest.array))")
    }
    return fields
  }

  private func redirected(
    _ request: HTTPRequest, as decision: RangeDecision, of package: OpenPackage,
    to location: String, pacing: UInt64?
  ) -> HTTPResponse {
    var response = HTTPResponse(status: .ok, headers: Self.fields(.content, of: package, for: request))
    // nginx copies this field, and adds its own to a whole body.
    if decision == .whole { response.headers["Accept-Ranges"] = nil }
    response.headers["X-Accel-Redirect"] = location
    if let pacing { response.headers["X-Accel-Limit-Rate"] = String(pacing) }
    return response
  }

  /// The URL in the document has the ticket of this request, which opens the content for the tool that reads it.
  private func metalink(_ request: HTTPRequest, of digest: SHA256Digest) async throws -> HTTPResponse {
    _ = try verifier.ticket(of: request, for: digest)
    let manifest = try await packages.manifest(of: digest)
    let ticket = request.queryValue("ticket") ?? request.bearerToken ?? ""
    let base = publicURL.isEmpty ? base(of: request) : publicURL
    let link = Metalink(manifest: manifest, url: "\(base)/v1/content/\(digest.hexadecimal)?ticket=\(ticket)")
    return HTTPResponse(
      status: .ok,
      headers: [
        "Content-Type": Metalink.mediaType, "Cache-Control": "no-store",
        "Content-Disposition": "attachment; filename=\"\(link.fileName).meta4\"",
      ], body: .bytes(link.document))
  }

  /// The scheme and host by which the client calls this server: those that a trusted proxy names, or the request's own
  /// `Host`.
  private func base(of request: HTTPRequest) -> String {
    let origin = verifier.settings.value.proxies.origin(of: request.peer, ForwardingFields(request))
    let scheme = origin.scheme ?? (request.isSecure ? "https" : "http")
    let own = request.headers["Host"].flatMap { RequestOrigin.isHost($0) ? $0 : nil }
    return "\(scheme)://\(origin.host ?? own ?? "localhost")"
  }

  private static func digest(_ name: some StringProtocol) throws(Problem) -> SHA256Digest {
    guard let digest = SHA256Digest(hexadecimal: name) else { throw ContentRefusal.contentUnknown.problem }
    return digest
  }
}

extension GrantMeter.Admission {
  /// Bytes a second for a body that may begin; nil if it need not be paced. Throws `too-many-requests` for one that may not.
  func pacing() throws(Problem) -> UInt64? {
    switch self {
    case .begin(let bytesPerSecond): return bytesPerSecond
    case .wait(let nanoseconds):
      throw Problem(
        .tooManyRequests, "this purchase or device has all it may have at once",
        retryAfterSeconds: Int((nanoseconds + 999_999_999) / 1_000_000_000))
    }
  }
}

extension AccelRedirect {
  /// Whether nginx would answer this request as decided. nginx evaluates ranges and conditions by itself: only a
  /// request that leaves it no choice is redirected, this server sends the rest. For a head alone no store is asked. `length` is the
  /// package's, in bytes.
  func suits(_ request: HTTPRequest, decision: RangeDecision, length: Int64) -> Bool {
    guard origin == .directory || request.method == .get else { return false }
    if let longest, let body = decision.bodyLength(of: length), body > longest.rawValue { return false }
    let conditions = ["If-Match", "If-Unmodified-Since", "If-Modified-Since", "If-None-Match"]
    guard conditions.allSatisfy({ !request.headers.contains($0) }) else { return false }
    return switch decision {
    case .whole: !request.headers.contains("Range")
    case .part: request.method == .get && Self.isPlainRange(request.headers["Range"] ?? "")
    case .parts, .unsatisfiable, .notModified, .preconditionFailed: false
    }
  }

  /// Whether it is one range of numbers that nginx can hold.
  private static func isPlainRange(_ field: String) -> Bool {
    guard field.hasPrefix("bytes=") else { return false }
    let sides = field.dropFirst(6).split(separator: "-", omittingEmptySubsequences: false)
    return sides.count == 2
      && sides.allSatisfy { $0.utf8.count <= 15 && $0.utf8.allSatisfy { (0x30...0x39).contains($0) } }
  }
}
