package import CoreTypes
import HTTPParsing
import HTTPServer
import PullboxAPI
import PullboxAPIServer
import ServiceAPI
import ServiceRuntime
import SystemCalls

/// The routes by which `pullbox doctor` finds out what lies between it and this server. They need no purchase: one tells
/// what arrived of the request, one sends bytes that are computed, one a small file as packages are sent. Ranges and
/// conditions are those of content (``RangeDecision``).
package struct DiagnosticRoutes: Sendable {
  /// Bodies of all clients that are sent at once; those beyond are answered 503.
  static let maximumBodies = 8
  /// Bodies of one client's address that are sent at once; those beyond are answered 429.
  static let maximumBodiesOfClient = 2
  /// Bytes a second of each.
  package static let pace: UInt64 = 64 << 20

  package let settings: LiveSettings
  package let clock: any WallClock
  package let timer: any MonotonicClock
  package let file: DiagnosticFile
  let slots = DiagnosticSlots(count: Self.maximumBodies, ofClient: Self.maximumBodiesOfClient)

  package init(
    settings: LiveSettings, clock: any WallClock, timer: any MonotonicClock, file: DiagnosticFile
  ) {
    self.settings = settings
    self.clock = clock
    self.timer = timer
    self.file = file
  }

  package func add(to routes: inout some PublicRoutes) {
    // `ticket` shows whether a proxy passes the query on, and what it logs of it.
    routes.public(.get, DiagnosticContent.reportPath, query: ["ticket"]) { request, _ in
      try .json(report(of: request))
    }
    routes.public(.get, DiagnosticContent.path, query: ["length", "pause", "pauseAfter"]) { request, _ in
      try body(for: request)
    }
    routes.public(.get, DiagnosticContent.filePath, query: []) { request, _ in
      try await fileResponse(to: request)
    }
  }

  private func report(of request: HTTPRequest) -> DiagnosticReport {
    let settings = settings.value
    return DiagnosticReport(
      version: ProductVersion.current, time: clock.now(),
      client: settings.proxies.origin(of: request.peer, ForwardingFields(request)).client.host,
      isProxyTrusted: settings.proxies.contains(request.peer),
      handsOff: settings.accelRedirect?.origin == .directory && settings.proxies.contains(request.peer),
      fields: DiagnosticReport.reportedFields.filter { request.headers.contains($0) },
      parameters: Set(request.query.map(\.name)).sorted())
  }

  private func body(for request: HTTPRequest) throws(Problem) -> HTTPResponse {
    let length = Int64(
      try request.number("length", in: 0...Int(DiagnosticContent.maximumLength), default: 65_536))
    let pause = try request.number("pause", in: 0...DiagnosticContent.maximumPause, default: 0)
    let pauseAfter = try request.number(
      "pauseAfter", in: 0...Int(DiagnosticContent.maximumLength), default: 0)
    let decision = Self.decision(on: request, length: length)
    var response = Self.head(decision, length: length)
    guard let range = decision.range(of: length) else { return response }
    let slot = try slots.take(for: settings.client(of: request))
    let plan = DiagnosticBody(
      range: range, pause: .seconds(pause), pauseAfter: Int64(pauseAfter), timer: timer)
    response.body = .stream(contentLength: range.upperBound - range.lowerBound) { writer in
      defer { slot.release() }
      try await plan.write { try await writer.write($0) }
    }
    response.pacing = Self.pace
    return response
  }

  private func fileResponse(to request: HTTPRequest) async throws -> HTTPResponse {
    let length = DiagnosticContent.fileLength
    let decision = Self.decision(on: request, length: length)
    var response = Self.head(decision, length: length)
    guard let range = decision.range(of: length) else { return response }
    let descriptor = try await file.open()
    let settings = settings.value
    // The file lies in no object store.
    if let redirect = settings.accelRedirect, redirect.origin == .directory,
      settings.proxies.contains(request.peer),
      redirect.suits(request, decision: decision, length: length)
    {
      response.status = .ok
      response.headers["Content-Range"] = nil
      // nginx adds its own to a whole body.
      if decision == .whole { response.headers["Accept-Ranges"] = nil }
      response.headers["X-Accel-Redirect"] = redirect.prefix + DiagnosticFile.name
      return response
    }
    let slot = try slots.take(for: self.settings.client(of: request))
    response.body = .file(descriptor, range, meter: slot)
    response.pacing = Self.pace
    return response
  }

  /// Several ranges are answered with the whole, as RFC 9110 §14.2 allows: nothing here needs more than one.
  private static func decision(on request: HTTPRequest, length: Int64) -> RangeDecision {
    let decision = RangeDecision(
      on: request, entityTag: DiagnosticContent.entityTag(length: length), length: length)
    if case .parts = decision { return .whole }
    return decision
  }

  /// Status and fields as content has them.
  private static func head(_ decision: RangeDecision, length: Int64) -> HTTPResponse {
    var response = HTTPResponse(
      status: decision.status,
      headers: ["Accept-Ranges": "bytes", "ETag": DiagnosticContent.entityTag(length: length)])
    switch decision {
    case .whole, .part, .parts:
      response.headers["Content-Type"] = "application/octet-stream"
      response.headers["Cache-Control"] = "private, no-store"
      response.headers["X-Accel-Buffering"] = "no"
    case .notModified, .unsatisfiable, .preconditionFailed: response.headers["Cache-Control"] = "no-store"
    }
    response.headers["Content-Range"] = decision.contentRange(of: length)
    return response
  }
}

extension RangeDecision {
  /// The bytes of content that is `length` long that are sent as one; nil for a response that carries none.
  fileprivate func range(of length: Int64) -> Range<Int64>? {
    switch self {
    case .whole: 0..<length
    case .part(let range): range
    case .parts, .unsatisfiable, .notModified, .preconditionFailed: nil
    }
  }
}
