/// Finds the responder for a request's method and path. `HEAD` is served by the route of `GET` unless it has its own.
public final class Router: AsyncHandler {
  public typealias NotFound = @Sendable (HTTPRequest) async -> HTTPResponse
  /// Gets the methods the path does answer. The router adds the `Allow` field to what it returns.
  public typealias MethodNotAllowed = @Sendable (HTTPRequest, _ allowed: [HTTPMethod]) async -> HTTPResponse

  private let routes: [RouteTable.Route]
  private let notFound: NotFound
  private let methodNotAllowed: MethodNotAllowed

  public init(
    notFound: @escaping NotFound = { _ in HTTPResponse(status: .notFound) },
    methodNotAllowed: @escaping MethodNotAllowed = { _, _ in HTTPResponse(status: .methodNotAllowed) },
    routes build: (inout RouteTable) -> Void
  ) {
    var table = RouteTable()
    build(&table)
    routes = table.routes.sorted { $0.pattern.precedes($1.pattern) }
    self.notFound = notFound
    self.methodNotAllowed = methodNotAllowed
  }

  public func respond(to request: HTTPRequest) async -> HTTPResponse {
    if request.method == .options, request.path == "*" { return answerForServer() }
    var allowed: Set<HTTPMethod> = []
    for route in routes {
      guard let values = route.pattern.match(request.pathSegments) else { continue }
      let responder =
        route.responders[request.method] ?? (request.method == .head ? route.responders[.get] : nil)
      if let responder { return await responder(request, PathParameters(values)) }
      allowed.formUnion(route.responders.keys)
    }
    guard !allowed.isEmpty else { return await notFound(request) }
    let methods = Self.listed(allowed)
    var response = await methodNotAllowed(request, methods)
    response.headers["Allow"] = methods.map(\.rawValue).joined(separator: ", ")
    return response
  }

  /// `OPTIONS *` asks about the server as a whole (RFC 9110 §9.3.7): the methods that some path answers.
  private func answerForServer() -> HTTPResponse {
    let methods = Self.listed(routes.reduce(into: [.options]) { $0.formUnion($1.responders.keys) })
    return HTTPResponse(
      status: .noContent, headers: ["Allow": methods.map(\.rawValue).joined(separator: ", ")])
  }

  /// In order, with `HEAD` where there is `GET`.
  private static func listed(_ methods: Set<HTTPMethod>) -> [HTTPMethod] {
    (methods.contains(.get) ? methods.union([.head]) : methods).sorted { $0.rawValue < $1.rawValue }
  }
}
