import ContentDelivery
package import HTTPServer
package import PullboxAPI
package import PullboxAPIServer
package import ServiceAPI

/// The service's routes, each declared with the operator scope that it needs, or as public: there is no way
/// to add one without. The key is checked before the responder runs, which gets its holder.
///
///     routes.public(.get, "/v1/products") { request, _ in … }
///     routes.on(.post, "/v1/operator/collection", requires: .admin) { request, parameters, actor in … }
package struct ScopedRoutes: PublicRoutes {
  /// The authorization that a route asks of a request.
  package enum Access: Hashable, Sendable {
    /// No key; what else the request must prove (a ticket, a receipt) is for the responder to check.
    case open
    /// The holder of a key with that scope.
    case key(OperatorScope)
    /// The responder asks for one of these scopes, or for none, as the request's fields say.
    case byRequest(Set<OperatorScope>)
  }

  /// One route as it was declared.
  package struct Declaration: Hashable, Sendable {
    /// The method of the requests that it answers.
    package var method: HTTPMethod
    /// The path with its parameters in braces: `/v1/grants/{grant}`.
    package var pattern: String
    /// The requests that are answered at all.
    package var access: Access
    /// The parameters that the query may have; nil where the responder reads what it knows and ignores the rest.
    package var query: Set<String>?
    /// Whether a repetition with the same `Idempotency-Key` is answered as the first was.
    package var takesIdempotencyKey = false
  }

  /// Every route so far, in the order of declaration.
  package private(set) var declarations: [Declaration] = []
  private var routes = APIRoutes()
  private let keys: OperatorKeys
  private let answers: IdempotentAnswers
  private let approvals: Approvals

  /// Begins without routes. `answers` keeps what a repeated request gets again, and `approvals` what a second operator has to approve.
  package init(keys: OperatorKeys, answers: IdempotentAnswers, approvals: Approvals) {
    self.keys = keys
    self.answers = answers
    self.approvals = approvals
  }

  /// A route that needs no key. With `query`, parameters of other names are refused, and so is one that occurs twice and is
  /// not among `repeatable`.
  mutating func `public`(
    _ method: HTTPMethod, _ pattern: String, query: Set<String>?, repeatable: Set<String>,
    use responder: @escaping APIRoutes.Responder
  ) {
    declarations.append(Declaration(method: method, pattern: pattern, access: .open, query: query))
    routes.on(method, pattern) { request, parameters in
      if let query { try request.requireQuery(only: query, repeatable: repeatable) }
      return try await responder(request, parameters)
    }
  }

  /// A route for keys with `scope`; others are answered `unauthorized` or `forbidden`. Parameters of the query that
  /// `query` does not name are refused, and so is one that occurs twice. With `takesIdempotencyKey`, see ``IdempotentAnswers``; with
  /// `approval`, ``Approvals``.
  package mutating func on(
    _ method: HTTPMethod, _ pattern: String, requires scope: OperatorScope, query: Set<String> = [],
    takesIdempotencyKey: Bool = false, approval: Approvals.Rule? = nil,
    use responder:
      @escaping @Sendable (HTTPRequest, PathParameters, Operator) async throws -> HTTPResponse
  ) {
    declarations.append(
      Declaration(
        method: method, pattern: pattern, access: .key(scope), query: query,
        takesIdempotencyKey: takesIdempotencyKey))
    if approval != nil { approvals.register(method, pattern, scope: scope, use: responder) }
    routes.on(method, pattern) { [keys, answers, approvals] request, parameters in
      let actor = try keys.authorize(request, for: scope)
      try request.requireQuery(only: query)
      @Sendable func respond(_ request: HTTPRequest) async throws -> HTTPResponse {
        guard let approval else { return try await responder(request, parameters, actor) }
        return try await approvals.answer(
          request, parameters, by: actor, at: pattern, scope: scope, under: approval, responder: responder)
      }
      guard takesIdempotencyKey else { return try await respond(request) }
      return try await answers.answer(request, by: actor.name, respond)
    }
  }

  /// A route whose responder finds out from the request which of `scopes` it needs, and asks for that one
  /// itself: for protocols that have refusals of their own.
  package mutating func on(
    _ method: HTTPMethod, _ pattern: String, requiresByRequest scopes: Set<OperatorScope>,
    use responder:
      @escaping @Sendable (HTTPRequest, PathParameters, Authorization) async throws -> HTTPResponse
  ) {
    declarations.append(Declaration(method: method, pattern: pattern, access: .byRequest(scopes)))
    routes.on(method, pattern) { [keys] request, parameters in
      try await responder(
        request, parameters,
        Authorization(scopes: scopes) { scope throws(Problem) in
          try keys.authorize(request, for: scope)
        })
    }
  }

  /// `GET /healthz` and `GET /readyz`, which need no key; see ``APIRoutes/onHealth(ready:)``.
  package mutating func onHealth(ready: @escaping @Sendable () async -> String?) {
    for pattern in ["/healthz", "/readyz"] {
      declarations.append(Declaration(method: .get, pattern: pattern, access: .open))
    }
    routes.onHealth(ready: ready)
  }

  /// Puts before the responder of each route what `middleware` makes for its declaration, if anything: before the
  /// key is checked.
  package mutating func wrap(_ middleware: (Declaration) -> APIRoutes.Middleware?) {
    let declarations = declarations
    routes.wrap { method, pattern in
      declarations.first { $0.method == method && $0.pattern == pattern }.flatMap(middleware)
    }
  }

  /// The routes whose declarations `isWanted` accepts.
  package func filtered(_ isWanted: (Declaration) -> Bool) -> ScopedRoutes {
    var filtered = self
    filtered.declarations = declarations.filter(isWanted)
    let kept = Set(filtered.declarations.map { [$0.method.rawValue, $0.pattern] })
    filtered.routes.keep { method, pattern in kept.contains([method.rawValue, pattern]) }
    return filtered
  }

  /// See ``APIRoutes/router(reporting:revising:observing:)``.
  package func router(
    reporting report: @escaping @Sendable (_ request: HTTPRequest, _ error: any Error) -> Void,
    revising revise: @escaping @Sendable (Problem) -> Problem,
    observing observe: @escaping APIRoutes.Observer
  ) -> Router {
    routes.router(reporting: report, revising: revise, observing: observe)
  }
}

/// The check of one request's key, made when its responder knows what it needs.
package struct Authorization: Sendable {
  private let scopes: Set<OperatorScope>
  private let check: @Sendable (OperatorScope) throws(Problem) -> Operator

  /// `check` throws `unauthorized` without a key and `forbidden` for a key without the scope.
  package init(
    scopes: Set<OperatorScope>, check: @escaping @Sendable (OperatorScope) throws(Problem) -> Operator
  ) {
    self.scopes = scopes
    self.check = check
  }

  /// The holder of the request's key. Throws `unauthorized` or `forbidden`. `scope` must be one that the
  /// route declares.
  package func authorize(for scope: OperatorScope) throws(Problem) -> Operator {
    precondition(scopes.contains(scope), "the route does not declare the scope \(scope)")
    return try check(scope)
  }
}
