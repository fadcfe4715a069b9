import CoreTypes
import HTTPServer
import PullboxAPI
import PullboxAPIServer
import PullboxTesting
import Testing

@Suite("Routes whose responders may throw")
struct APIRoutesTests {
  /// An error that tells of a failure that passes, or of none.
  private struct Failing: TemporarilyFailing {
    var temporaryFailure: TemporaryFailure?
  }

  /// The reports and observations of the router while it answered.
  private struct Told {
    var reports: [String] = []
    var observations: [String] = []
  }

  private let told = Locked(Told())

  private func router(_ routes: APIRoutes, revising: @escaping @Sendable (Problem) -> Problem = { $0 })
    -> Router
  {
    routes.router(
      reporting: { [told] request, _ in told.withLock { $0.reports.append(request.id) } },
      revising: revising,
      observing: { [told] route, _, response, problem, duration in
        let word = problem?.code?.text ?? "-"
        told.withLock { $0.observations.append("\(route ?? "-") \(response.status.rawValue) \(word)") }
        #expect(duration >= .zero)
      })
  }

  private func answer(_ router: Router, _ target: String, _ method: HTTPMethod = .get) async throws
    -> HTTPResponse
  {
    await router.respond(to: try HTTPRequest(method: method, rawTarget: target, id: "7s"))
  }

  private func throwing(_ error: any Error) -> APIRoutes {
    var routes = APIRoutes()
    routes.on(.get, "/v1/things/{id}") { _, _ in throw error }
    return routes
  }

  @Test("an answer has the request's id, and the observer is told of it with the route's pattern")
  func answers() async throws {
    var routes = APIRoutes()
    routes.on(.get, "/v1/things/{id}") { _, parameters in
      HTTPResponse(status: .accepted, body: .bytes(Array(parameters["id"].utf8)))
    }
    let router = router(routes)
    for method in [HTTPMethod.get, .head] {
      let response = try await answer(router, "/v1/things/a%20b", method)
      #expect(response.status == .accepted && response.text == "a b")
      #expect(response.headers["X-Request-Id"] == "7s")
    }
    let observed = told.current
    #expect(observed.observations == ["/v1/things/{id} 202 -", "/v1/things/{id} 202 -"])
    #expect(observed.reports == [])
  }

  @Test("what no route answers is refused with a problem document: 404, 405 with the methods there are, 501")
  func refusals() async throws {
    var routes = APIRoutes()
    routes.on(.get, "/v1/things") { _, _ in HTTPResponse(status: .ok) }
    routes.on(.post, "/v1/things") { _, _ in HTTPResponse(status: .created) }
    let router = router(routes)
    for (method, target, code, allow) in [
      (.get, "/v1/thing", .notFound, nil), (.get, "/v1/things/", .notFound, nil),
      (.delete, "/v1/things", .methodNotAllowed, "GET, HEAD, POST"),
      (HTTPMethod(rawValue: "BREW"), "/v1/things", .notImplemented, nil),
      (HTTPMethod(rawValue: "get"), "/v1/things", .notImplemented, nil),
    ] as [(HTTPMethod, String, ProblemCode, String?)] {
      let response = try await answer(router, target, method)
      let problem = try #require(response.problem, "\(method) \(target)")
      #expect(problem.code == code && response.status.rawValue == code.status)
      #expect(problem.instance == "urn:pullbox:request:7s")
      #expect(response.headers["X-Request-Id"] == "7s" && response.headers["Allow"] == allow)
    }
    let observed = told.current.observations
    #expect(observed.count == 5 && observed.allSatisfy { $0.hasPrefix("- ") })
  }

  @Test(
    "a query with U+0000 in a name or a value is refused before the responder is asked",
    arguments: ["?actor=%00", "?actor=a%00b&limit=1", "?%00=a", "?limit=1&a%00", "?a=+%00"])
  func nullInQuery(query: String) async throws {
    var routes = APIRoutes()
    routes.on(.get, "/v1/things/{id}") { request, _ in
      #expect(request.queryValue("a") == "0")
      return HTTPResponse(status: .ok)
    }
    let router = router(routes)
    let response = try await answer(router, "/v1/things/1" + query)
    #expect(response.status == .badRequest && response.problem?.code == .requestMalformed)
    #expect(response.problem?.detail?.hasSuffix(" has the character U+0000") == true)
    #expect(try await answer(router, "/v1/things/1?a=0").status == .ok)
  }

  @Test("a problem that a responder throws is the answer, with its Retry-After, and is not reported")
  func problems() async throws {
    let routes = throwing(Problem(.tooManyRequests, "wait", retryAfterSeconds: 20))
    let response = try await answer(router(routes), "/v1/things/1")
    #expect(response.status == .tooManyRequests && response.headers["Retry-After"] == "20")
    #expect(response.headers["Cache-Control"] == "no-store")
    #expect(response.problem?.detail == "wait" && response.problem?.retryAfterSeconds == 20)
    let observed = told.current
    #expect(observed.reports == [] && observed.observations == ["/v1/things/{id} 429 too-many-requests"])
  }

  @Test("whoever revises problems has the last word, on those of the router too")
  func revisions() async throws {
    let router = router(throwing(Problem(.unavailable, retryAfterSeconds: 1))) { problem in
      var problem = problem
      problem.detail = "revised"
      problem.retryAfterSeconds = problem.retryAfterSeconds.map { $0 + 9 }
      return problem
    }
    let thrown = try await answer(router, "/v1/things/1")
    #expect(thrown.problem?.detail == "revised" && thrown.headers["Retry-After"] == "10")
    #expect(try await answer(router, "/nowhere").problem?.detail == "revised")
  }

  @Test("another error is answered 500 with the request's id and no word of its cause, and is reported")
  func otherErrors() async throws {
    struct Secret: Error { let text = "SELECT password" }
    let response = try await answer(router(throwing(Secret())), "/v1/things/1")
    #expect(response.status == .internalServerError && response.problem?.code == .internalError)
    #expect(response.problem?.detail == "request 7s" && !response.text.contains("SELECT"))
    #expect(told.current.reports == ["7s"])
  }

  @Test(
    "a failure that passes is answered 503, or 507 for a full disk, with the time to try again",
    arguments: [
      (.outOfSpace, .outOfSpace, true), (.storage, .unavailable, true), (.overloaded, .unavailable, false),
      (nil, .internalError, true),
    ] as [(TemporaryFailure?, ProblemCode, Bool)])
  func temporaryFailures(failure: TemporaryFailure?, code: ProblemCode, isReported: Bool) async throws {
    let response = try await answer(router(throwing(Failing(temporaryFailure: failure))), "/v1/things/1")
    let problem = try #require(response.problem)
    #expect(problem.code == code && response.status.rawValue == code.status)
    #expect(response.headers["Retry-After"] == problem.retryAfterSeconds.map { "\($0)" })
    #expect((problem.retryAfterSeconds != nil) == (failure != nil))
    // Overload is counted, and no line each.
    #expect(told.current.reports.isEmpty == !isReported)
  }

  @Test("a request that was cancelled is given up and observed as 499; an error of that name alone is 503")
  func cancellation() async throws {
    let router = router(throwing(CancellationError()))
    let response = try await answer(router, "/v1/things/1")
    #expect(response.problem?.code == .unavailable && !response.isAbandonment)
    let task = Task {
      while !Task.isCancelled { await Task.yield() }
      return try await answer(router, "/v1/things/1")
    }
    task.cancel()
    let abandoned = try await task.value
    #expect(abandoned.isAbandonment && abandoned.status == .serviceUnavailable)
    let observed = told.current
    #expect(observed.observations == ["/v1/things/{id} 503 unavailable", "/v1/things/{id} 499 -"])
    #expect(observed.reports == [])
  }

  @Test("health is 200 while the process runs, readiness 503 with the reason, and neither is kept by caches")
  func health() async throws {
    let reason = Locked<String?>(nil)
    var routes = APIRoutes()
    routes.onHealth { reason.current }
    let router = router(routes)
    for (path, text) in [("/healthz", "ok\n"), ("/readyz", "ready\n")] {
      let response = try await answer(router, path)
      #expect(response.status == .ok && response.text == text)
      #expect(response.headers["Cache-Control"] == "no-store")
    }
    reason.withLock { $0 = "the database cannot be read" }
    #expect(try await answer(router, "/healthz").status == .ok)
    let unready = try await answer(router, "/readyz")
    #expect(unready.problem?.code == .unavailable && unready.headers["Retry-After"] == "1")
    #expect(unready.problem?.detail == "the database cannot be read")
    #expect(unready.headers["Cache-Control"] == "no-store")
  }

  @Test("what is put before routes runs before them, the last first, for those that it wants alone")
  func middleware() async throws {
    var routes = APIRoutes()
    for path in ["/a", "/b"] {
      routes.on(.get, path) { request, _ in
        HTTPResponse(status: .ok, body: .bytes(Array((request.headers["X-Marks"] ?? "none").utf8)))
      }
    }
    for mark in ["1", "2"] {
      routes.wrap { _, pattern in
        guard pattern == "/a" else { return nil }
        return { request, _, respond in
          var request = request
          request.headers["X-Marks"] = (request.headers["X-Marks"] ?? "") + mark
          return try await respond(request)
        }
      }
    }
    var others = APIRoutes()
    others.on(.get, "/c") { _, _ in HTTPResponse(status: .ok) }
    others.on(.put, "/c") { _, _ in HTTPResponse(status: .ok) }
    others.keep { method, _ in method == .get }
    routes.add(others)
    let router = router(routes)
    #expect(try await answer(router, "/a").text == "21")
    #expect(try await answer(router, "/b").text == "none")
    #expect(try await answer(router, "/c").status == .ok)
    #expect(try await answer(router, "/c", .put).status == .methodNotAllowed)
  }
}
