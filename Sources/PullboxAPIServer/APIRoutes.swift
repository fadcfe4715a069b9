internal import CoreTypes
public import HTTPServer
public import PullboxAPI

/// Collects the routes of a service whose responders may throw: a ``Problem`` becomes the answer, a
/// `TemporaryFailure` is answered 503 or 507 with the time to try again, anything else `internal-error`, without a
/// word about its cause. What is no ``Problem`` is reported with its request, overload and a cancelled task apart: the first
/// is answered 503, the second only where its client is still there. A request with the character U+0000 in its query is
/// refused before its responder is asked.
///
/// Routes are added first, then ``router(reporting:observing:)`` makes the handler of an `HTTPServer` of
/// them:
///
///     var routes = APIRoutes()
///     routes.onHealth { nil }
///     routes.on(.get, "/v1/downloads/{id}") { request, parameters in
///       guard let download = await downloads[parameters["id"]] else { throw Problem(.notFound) }
///       return try .json(download)
///     }
///     let handler = routes.router(reporting: { request, error in
///       log.error("request failed", ["request": LogValue(request.id), "error": LogValue(error)])
///     })
public struct APIRoutes {
  /// Answers one request; `PathParameters` holds what the pattern's `{…}` matched.
  public typealias Responder = @Sendable (HTTPRequest, PathParameters) async throws -> HTTPResponse

  /// Goes before a route's responder: answers itself, throws, or lets `respond` answer the request, changed or
  /// not.
  public typealias Middleware =
    @Sendable (
      _ request: HTTPRequest, _ parameters: PathParameters,
      _ respond: @Sendable (HTTPRequest) async throws -> HTTPResponse
    ) async throws -> HTTPResponse

  private var routes: [(method: HTTPMethod, pattern: String, responder: Responder)] = []

  /// No routes yet.
  public init() {}

  /// Adds a route. `pattern` is a path in which `{name}` stands for one part; of two that match, the more
  /// exact one counts.
  public mutating func on(_ method: HTTPMethod, _ pattern: String, use responder: @escaping Responder) {
    routes.append((method: method, pattern: pattern, responder: responder))
  }

  /// Liveness and readiness (`GET /healthz`, `GET /readyz`); `ready` answers why the service is not, or nil.
  public mutating func onHealth(ready: @escaping @Sendable () async -> String?) {
    on(.get, "/healthz") { _, _ in
      HTTPResponse(status: .ok, headers: Self.healthFields, body: .bytes(Array("ok\n".utf8)))
    }
    on(.get, "/readyz") { _, _ in
      if let reason = await ready() { throw Problem(.unavailable, reason, retryAfterSeconds: 1) }
      return HTTPResponse(status: .ok, headers: Self.healthFields, body: .bytes(Array("ready\n".utf8)))
    }
  }

  /// An answer of a minute ago says nothing of now.
  private static let healthFields: HTTPFields = ["Content-Type": "text/plain", "Cache-Control": "no-store"]

  /// Puts before the responder of each route what `middleware` makes for it, if anything.
  public mutating func wrap(_ middleware: (_ method: HTTPMethod, _ pattern: String) -> Middleware?) {
    routes = routes.map { method, pattern, responder in
      guard let middleware = middleware(method, pattern) else { return (method, pattern, responder) }
      return (
        method, pattern,
        { request, parameters in
          try await middleware(request, parameters) { try await responder($0, parameters) }
        }
      )
    }
  }

  /// Adds the routes of `other` as they are, with what they were wrapped in.
  public mutating func add(_ other: APIRoutes) {
    routes += other.routes
  }

  /// Leaves out the routes that `isWanted` does not accept.
  public mutating func keep(_ isWanted: (_ method: HTTPMethod, _ pattern: String) -> Bool) {
    routes.removeAll { !isWanted($0.method, $0.pattern) }
  }

  /// A function that is told of each answer: the pattern of the request's route (nil where there is none), the problem if
  /// it is a refusal, and the time from the route to the response, not to the end of a stream. A postponed answer is told
  /// of when it is given.
  public typealias Observer =
    @Sendable (
      _ route: String?, _ request: HTTPRequest, _ response: HTTPResponse, _ problem: Problem?,
      _ duration: Duration
    ) -> Void

  /// `report` gets what a responder threw that is no ``Problem``, for the log; `observe` every answer, and of a request that was cancelled
  /// before its answer, because its client went away or the server ends, one of status 499. Each
  /// answer carries the request's id as `X-Request-Id`, each problem document as `instance`. `revise`
  /// has the last word on every problem.
  public func router(
    reporting report: @escaping @Sendable (_ request: HTTPRequest, _ error: any Error) -> Void,
    revising revise: @escaping @Sendable (Problem) -> Problem = { $0 },
    observing observe: @escaping Observer = { _, _, _, _, _ in }
  ) -> Router {
    let clock = SystemMonotonicClock()
    // None of these is put into the responders: what an async function needs for a moment takes memory until its request is
    // answered, and hundreds of them wait at once.
    @inline(never) @Sendable func refuse(
      _ problem: Problem, to request: HTTPRequest, at route: String?, since begin: MonotonicInstant? = nil
    ) -> HTTPResponse {
      var problem = revise(problem)
      problem.instance = Problem.instance(ofRequest: request.id)
      return finish(.problem(problem), to: request, at: route, problem, since: begin)
    }
    @inline(never) @Sendable func finish(
      _ response: HTTPResponse, to request: HTTPRequest, at route: String?, _ problem: Problem?,
      since begin: MonotonicInstant?
    ) -> HTTPResponse {
      if response.postponement != nil { return response }
      var response = response
      response.headers["X-Request-Id"] = request.id
      observe(route, request, response, problem, begin.map { clock.now() - $0 } ?? .zero)
      return response
    }
    @inline(never) @Sendable func abandon(
      _ request: HTTPRequest, at route: String, since begin: MonotonicInstant
    ) -> HTTPResponse {
      var problem = revise(.cancelled)
      problem.instance = Problem.instance(ofRequest: request.id)
      var response = HTTPResponse.problem(problem)
      response.headers["X-Request-Id"] = request.id
      response.isAbandonment = true
      var unanswered = response
      unanswered.status = .clientClosedRequest
      observe(route, request, unanswered, nil, clock.now() - begin)
      return response
    }
    @inline(never) @Sendable func answer(
      to error: any Error, of request: HTTPRequest, at route: String, since begin: MonotonicInstant
    ) -> HTTPResponse {
      if let problem = error as? Problem { return refuse(problem, to: request, at: route, since: begin) }
      if error is CancellationError {
        return Task.isCancelled
          ? abandon(request, at: route, since: begin)
          : refuse(.cancelled, to: request, at: route, since: begin)
      }
      let failure = (error as? any TemporarilyFailing)?.temporaryFailure
      // Overload is counted, and no line each: it would add to the load.
      if failure != .overloaded { report(request, error) }
      let problem = failure.map { Problem($0) } ?? Problem(.internalError, "request \(request.id)")
      return refuse(problem, to: request, at: route, since: begin)
    }
    return Router(
      notFound: { request in
        refuse(Problem(.notFound, "nothing is at \(request.path)"), to: request, at: nil)
      },
      methodNotAllowed: { request, allowed in
        let methods = allowed.map(\.rawValue).joined(separator: ", ")
        return refuse(Problem(.methodNotAllowed, "\(request.path) answers \(methods)"), to: request, at: nil)
      },
      notImplemented: { request in
        refuse(
          Problem(.notImplemented, "\(request.method) is no method of this server"), to: request, at: nil)
      },
      routes: { table in
        for (method, pattern, responder) in routes {
          table.on(method, pattern) { request, parameters in
            let begin = clock.now()
            do {
              try request.requireTextInQuery()
              return finish(
                try await responder(request, parameters), to: request, at: pattern, nil, since: begin)
            } catch {
              return answer(to: error, of: request, at: pattern, since: begin)
            }
          }
        }
      })
  }
}

extension HTTPResponse {
  /// A page of metrics in version 0.0.4 of the text format of Prometheus.
  public static func metrics(_ page: String) -> HTTPResponse {
    HTTPResponse(
      status: .ok,
      headers: ["Content-Type": "text/plain; version=0.0.4; charset=utf-8", "Cache-Control": "no-store"],
      body: .bytes(Array(page.utf8)))
  }
}

extension Problem {
  /// The problem for a request that was cancelled: its client went away, or the server is stopping. Neither is a fault.
  fileprivate static let cancelled = Problem(.unavailable, "the request was abandoned", retryAfterSeconds: 1)

  /// Creates the problem for a temporary failure. It says when to try again, and nothing of the cause.
  init(_ failure: TemporaryFailure) {
    switch failure {
    case .outOfSpace: self.init(.outOfSpace, "the disk is full", retryAfterSeconds: 30)
    case .overloaded: self.init(.unavailable, "too much is asked for at once", retryAfterSeconds: 2)
    case .storage: self.init(.unavailable, "what is stored cannot be used now", retryAfterSeconds: 10)
    case .unreachable:
      self.init(.unavailable, "where this is written down cannot be reached now", retryAfterSeconds: 2)
    case .outcomeUnknown:
      self.init(.unavailable, "whether this was done is not known; ask again", retryAfterSeconds: 2)
    }
  }
}
