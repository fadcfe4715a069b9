package import ContentDelivery
package import CoreTypes
import HTTPParsing
package import HTTPServer
import PullboxAPI
import PullboxAPIServer
package import RouteAccess
package import ServiceRuntime

/// The operator's console: pages of HTML below `/console/` that work without a script. Every page is a reading of the HTTP interface
/// (``ManagementInterface``) and every button a request to it, with the key of the operator who is signed in.
///
/// It answers the paths below `/console`, and passes all others on to `next`. See docs/console.md.
package struct Console: AsyncHandler {
  let interface: ManagementInterface
  let sessions: ConsoleSessions
  let keys: OperatorKeys
  let settings: LiveSettings
  let clock: any WallClock
  let log: Log
  let events: ConsoleEvents
  private let admission: RouteAdmission

  /// - Parameters:
  ///   - interface: the routes, asked within the process.
  ///   - events: tells open pages to look again.
  ///   - admission: admits requests, among those of operators.
  package init(
    interface: ManagementInterface, sessions: ConsoleSessions, keys: OperatorKeys, settings: LiveSettings,
    events: ConsoleEvents, admission: RouteAdmission, clock: any WallClock, log: Log
  ) {
    self.interface = interface
    self.sessions = sessions
    self.keys = keys
    self.settings = settings
    self.events = events
    self.admission = admission
    self.clock = clock
    self.log = log
  }

  /// Ends the streams of open pages.
  package func close() { events.close() }

  /// Puts the console before another handler.
  package func before(_ next: any AsyncHandler) -> some AsyncHandler {
    ConsoleFirst(console: self, next: next)
  }

  /// Answers a request below `/console`. Nothing that is thrown below becomes more than a page that says so.
  package func respond(to request: HTTPRequest) async -> HTTPResponse {
    var response: HTTPResponse
    do {
      response = try await admitted(request)
    } catch let problem as Problem {
      response = refusal(problem, to: request)
    } catch {
      if !(error is CancellationError) {
        log.error("a page failed", ["request": LogValue(request.id), "error": LogValue(error)])
      }
      response = refusal(
        Problem(.unavailable, "what is stored cannot be used now", retryAfterSeconds: 5), to: request)
    }
    // Nothing is an error of the console's own: what is out of order is behind it.
    if response.status == .internalServerError { response.status = .serviceUnavailable }
    for (name, value) in Self.fields where !response.headers.contains(name) { response.headers[name] = value }
    response.headers["X-Request-Id"] = request.id
    return compressed(response, for: request)
  }

  /// Compresses a page for a browser that accepts that. Its length tells nothing of the form's token to other sites: they can make no
  /// browser ask for a page with the session's cookie (`SameSite=Strict`).
  private func compressed(_ response: HTTPResponse, for request: HTTPRequest) -> HTTPResponse {
    guard case .bytes(let bytes) = response.body,
      response.headers["Content-Type"]?.hasPrefix("text/html") == true
    else { return response }
    var response = response
    response.headers["Vary"] = "Accept-Encoding"
    guard ConditionalJSON.acceptsGzip(request) else { return response }
    do {
      response.body = .bytes(try Gzip.compress(bytes))
      response.headers["Content-Encoding"] = "gzip"
    } catch {
      log.warning("a page could not be compressed", ["error": LogValue(error)])
    }
    return response
  }

  /// The fields of every answer. No other site's page can frame, load or script one, and no cache keeps it.
  private static let fields = [
    (
      "Content-Security-Policy",
      "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
        + "form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
    ),
    ("Cache-Control", "no-store"), ("Referrer-Policy", "no-referrer"), ("X-Content-Type-Options", "nosniff"),
    ("Cross-Origin-Opener-Policy", "same-origin"), ("Cross-Origin-Resource-Policy", "same-origin"),
  ]

  private func admitted(_ request: HTTPRequest) async throws -> HTTPResponse {
    let admit = admission.middleware(for: Self.admissionClass(of: request))
    return try await admit(request, PathParameters()) { try await dispatch($0) }
  }

  /// Uploads and streams of events last for minutes: they have places of their own.
  private static func admissionClass(of request: HTTPRequest) -> AdmissionClass {
    switch (request.method, Array(request.pathSegments.prefix(2))) {
    case (.post, ["console", "upload"]), (.patch, ["console", "uploads"]): .upload
    case (.get, ["console", "events"]): .feed
    default: .operator
    }
  }

  private func dispatch(_ request: HTTPRequest) async throws -> HTTPResponse {
    guard request.pathSegments.count > 1 else {
      return Self.seeOther(.console())
    }
    let path = Array(request.pathSegments.dropFirst())
    if path.count == 3, path[0] == "assets" {
      guard let asset = ConsoleAsset.all.first(where: { $0.name == path[2] }) else {
        throw Problem(.notFound)
      }
      return asset.response(to: request, digest: path[1])
    }
    let door = Door(request, settings: settings)
    guard door.isOpen else { return closed(request) }
    switch (request.method, path) {
    case (.post, ["sign-in"]): return try await signIn(request, door)
    case (.get, ["sign-in"]), (.head, ["sign-in"]): return try signInPage(request)
    default: break
    }
    let secret = door.secret(of: request)
    // A page that looks again by itself is no sign of an operator.
    let isLooking = request.headers.contains("X-Pullbox-Look") || path == ["events"]
    guard let secret, let visitor = try await sessions.visitor(secret, isUsed: !isLooking) else {
      return try signInFirst(request, door)
    }
    let visit = Visit(
      request: request, visitor: visitor,
      reader: OperatorReader(interface: interface.asked(for: request.id), key: visitor.key),
      now: clock.now())
    do {
      return try await answer(path, visit, door, secret: secret)
    } catch let problem as Problem {
      return refusal(problem, to: request, in: visit.words)
    }
  }

  /// Answers who is signed in.
  private func answer(
    _ path: [String], _ visit: Visit, _ door: Door, secret: String
  ) async throws -> HTTPResponse {
    let request = visit.request
    if request.method == .get, path == ["events"] {
      return try events.response { [sessions] in
        do {
          return try await sessions.visitor(secret, isUsed: false) != nil
        } catch {
          return false
        }
      }
    }
    if path[0] == "uploads" { return await upload(Array(path.dropFirst()), visit, door) }
    switch request.method {
    case .get, .head: return try await show(path, visit)
    case .post:
      try door.requireOwnOrigin(request)
      return try await change(path, visit, door, secret)
    default: throw Problem(.methodNotAllowed, "pages answer GET, and forms POST")
    }
  }

  /// Leads the browser to another page.
  static func seeOther(_ address: Address) -> HTTPResponse {
    HTTPResponse(status: .seeOther, headers: ["Location": address.text])
  }

  static func html(_ bytes: [UInt8], status: HTTPStatus = .ok) -> HTTPResponse {
    HTTPResponse(status: status, headers: ["Content-Type": "text/html; charset=utf-8"], body: .bytes(bytes))
  }

  /// The page of a refusal, in the session's language, and in the browser's where there is none.
  private func refusal(
    _ problem: Problem, to request: HTTPRequest, in language: Words? = nil
  ) -> HTTPResponse {
    let words =
      language ?? Words(Language(accepting: request.headers.values(of: "Accept-Language")))
    var problem = problem
    problem.instance = Problem.instance(ofRequest: request.id)
    var response = Self.html(
      Layout.document(words.title(of: problem), words) {
        Parts.problem(problem, words)
        element(.p) { element(.a, .href(.console())) { words(.toToday) } }
      }, status: HTTPStatus(rawValue: problem.status))
    if let seconds = problem.retryAfterSeconds { response.headers["Retry-After"] = String(seconds) }
    return response
  }

  /// The answer over plain HTTP from elsewhere: no key is shown here, and no cookie is looked at.
  private func closed(_ request: HTTPRequest) -> HTTPResponse {
    let words = Words(Language(accepting: request.headers.values(of: "Accept-Language")))
    return Self.html(
      Layout.document(words(.needsTLS), words) { element(.p) { words(.needsTLSHint) } }, status: .forbidden)
  }
}

/// The console, and behind it the handler of all other paths.
private struct ConsoleFirst: AsyncHandler {
  let console: Console
  let next: any AsyncHandler

  func respond(to request: HTTPRequest) async -> HTTPResponse {
    guard request.pathSegments.first == "console" else { return await next.respond(to: request) }
    return await console.respond(to: request)
  }
}
