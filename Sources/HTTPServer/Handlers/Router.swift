/// Finds the responder for a request's method and path: an ``AsyncHandler`` made of routes. The route of
/// `GET` serves `HEAD` too, unless `HEAD` has its own.
///
/// ```swift
/// let router = Router { routes in
///   routes.on(.get, "/v1/products/{id}") { request, parameters in
///     HTTPResponse(status: .ok, body: .bytes(Array(parameters["id"].utf8)))
///   }
/// }
/// ```
public final class Router: AsyncHandler {
  /// Answers a request whose path no route matches.
  public typealias NotFound = @Sendable (HTTPRequest) async -> HTTPResponse
  /// Answers a request whose path has no route for its method. `allowed` are the methods it has; the router
  /// adds the `Allow` field to what it returns.
  public typealias MethodNotAllowed = @Sendable (HTTPRequest, _ allowed: [HTTPMethod]) async -> HTTPResponse

  /// Answers a request whose method no route has and ``HTTPMethod/standard`` has not.
  public typealias NotImplemented = @Sendable (HTTPRequest) async -> HTTPResponse

  private let routes: [RouteTable.Route]
  private let methods: Set<HTTPMethod>
  private let notFound: NotFound
  private let methodNotAllowed: MethodNotAllowed
  private let notImplemented: NotImplemented

  /// Collects the routes that `build` declares; see ``RouteTable/on(_:_:use:)``.
  public init(
    notFound: @escaping NotFound = { _ in HTTPResponse(status: .notFound) },
    methodNotAllowed: @escaping MethodNotAllowed = { _, _ in HTTPResponse(status: .methodNotAllowed) },
    notImplemented: @escaping NotImplemented = { _ in HTTPResponse(status: .notImplemented) },
    routes build: (inout RouteTable) -> Void
  ) {
    var table = RouteTable()
    build(&table)
    routes = table.routes.sorted { $0.pattern.precedes($1.pattern) }
    self.notFound = notFound
    self.methodNotAllowed = methodNotAllowed
    self.notImplemented = notImplemented
    methods = table.routes.reduce(into: HTTPMethod.standard) { $0.formUnion($1.responders.keys) }
  }

  /// Runs the responder of the request's route, or `notFound`, or `methodNotAllowed`; `notImplemented` for a
  /// method that it does not know at all, whatever the path (RFC 9110 §9.1). Answers `OPTIONS *` itself.
  public func respond(to request: HTTPRequest) async -> HTTPResponse {
    if request.method == .options, request.path == "*" { return answerForServer() }
    guard methods.contains(request.method) else { return await notImplemented(request) }
    var allowed: Set<HTTPMethod> = []
    for route in routes {
      guard let values = route.pattern.match(request.pathSegments) else { continue }
      let responder =
        route.responders[request.method] ?? (request.method == .head ? route.responders[.get] : nil)
      if let responder { return await responder(request, PathParameters(values)) }
      allowed.formUnion(route.responders.keys)
      // A path that a pattern spells out is that pattern's alone.
      if route.pattern.isLiteral { break }
    }
    guard !allowed.isEmpty else { return await notFound(request) }
    let methods = Self.listed(allowed)
    var response = await methodNotAllowed(request, methods)
    response.headers["Allow"] = methods.map(\.rawValue).joined(separator: ", ")
    return response
  }

  /// The methods that the request's path answers, in order; none where there is no route.
  public func methods(of request: HTTPRequest) -> [HTTPMethod] {
    let matching = routes.filter { $0.pattern.match(request.pathSegments) != nil }
    if let only = matching.first(where: { $0.pattern.isLiteral }) {
      return Self.listed(Set(only.responders.keys))
    }
    return Self.listed(matching.reduce(into: []) { $0.formUnion($1.responders.keys) })
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

/// Collects the routes of a ``Router``.
public struct RouteTable {
  /// Answers a request; the parameters hold what the placeholders of the route's pattern stand for.
  public typealias Responder = @Sendable (HTTPRequest, PathParameters) async -> HTTPResponse

  struct Route: Sendable {
    let pattern: RoutePattern
    var responders: [HTTPMethod: Responder]
  }

  private(set) var routes: [Route] = []

  init() {}

  /// Declares a route. `pattern` has placeholders for segments: `/v1/grants/{grant}`,
  /// `/v1/content/{digest}.meta4`, `/files/{path...}`. Where several patterns match, literals win over
  /// placeholders, from left to right; a path that one without placeholders matches has its methods and no
  /// others. A malformed pattern, or the same method and pattern twice, is a defect and traps.
  public mutating func on(_ method: HTTPMethod, _ pattern: String, use responder: @escaping Responder) {
    let parsed = RoutePattern(pattern)
    if let index = routes.firstIndex(where: { $0.pattern == parsed }) {
      precondition(routes[index].responders[method] == nil, "two routes for \(method) \(pattern)")
      routes[index].responders[method] = responder
    } else {
      routes.append(Route(pattern: parsed, responders: [method: responder]))
    }
  }
}

/// The values of the placeholders of a route's pattern, percent-decoded.
public struct PathParameters: Sendable, Hashable {
  private let values: [String: String]

  /// Parameters by name; for tests of responders.
  public init(_ values: [String: String] = [:]) {
    self.values = values
  }

  /// The value of a placeholder of the route's own pattern; asking for another one is a defect and traps.
  public subscript(name: String) -> String {
    guard let value = values[name] else { preconditionFailure("the pattern has no {\(name)}") }
    return value
  }
}

/// A path with placeholders: `/v1/grants/{grant}`, `/v1/content/{digest}.meta4`, `/files/{path...}`. A
/// placeholder stands for one segment, or for one up to a literal suffix, or (last, with dots) for all that
/// remain.
struct RoutePattern: Sendable, Hashable {
  /// One part of the pattern.
  enum Segment: Sendable, Hashable {
    /// This text alone.
    case literal(String)
    /// One segment, without the suffix that it must end with, under that name.
    case placeholder(String, suffix: String)
    /// All segments that remain, at least one, under that name.
    case rest(String)
  }

  let segments: [Segment]
  private let takesRest: Bool

  /// Whether it has no placeholder.
  var isLiteral: Bool {
    segments.allSatisfy { segment in
      if case .literal = segment { true } else { false }
    }
  }

  /// A malformed pattern is a defect and traps.
  init(_ pattern: String) {
    precondition(pattern.hasPrefix("/"), "a pattern starts with a slash: \(pattern)")
    let parts = pattern.dropFirst().split(separator: "/", omittingEmptySubsequences: false)
    let segments: [Segment] = parts.enumerated().map { index, part in
      guard part.hasPrefix("{") else { return .literal(String(part)) }
      guard let end = part.firstIndex(of: "}") else {
        preconditionFailure("a placeholder is not closed: \(pattern)")
      }
      let name = String(part[part.index(after: part.startIndex)..<end])
      let suffix = String(part[part.index(after: end)...])
      if name.hasSuffix("...") {
        precondition(index == parts.count - 1 && suffix.isEmpty, "only the end takes the rest: \(pattern)")
        return .rest(String(name.dropLast(3)))
      }
      return .placeholder(name, suffix: suffix)
    }
    self.segments = segments
    if case .rest? = segments.last { takesRest = true } else { takesRest = false }
  }

  func match(_ path: [String]) -> [String: String]? {
    // Most patterns are not looked at further.
    guard takesRest ? path.count >= segments.count : path.count == segments.count else { return nil }
    var values: [String: String] = [:]
    for (index, segment) in segments.enumerated() {
      switch segment {
      case .literal(let text):
        guard text == path[index] else { return nil }
      case .placeholder(let name, let suffix):
        guard path[index].hasSuffix(suffix), path[index].utf8.count > suffix.utf8.count else { return nil }
        values[name] = String(path[index].dropLast(suffix.count))
      case .rest(let name):
        values[name] = path[index...].joined(separator: "/")
      }
    }
    return values
  }

  /// Whether this pattern is tried before `other`: the first segment that differs is the more specific one
  /// here.
  func precedes(_ other: RoutePattern) -> Bool {
    for (mine, theirs) in zip(segments, other.segments) where mine.rank != theirs.rank {
      return mine.rank > theirs.rank
    }
    return segments.count > other.segments.count
  }
}

extension RoutePattern.Segment {
  fileprivate var rank: Int {
    switch self {
    case .literal: Int.max
    case .placeholder(_, let suffix): 1 + suffix.count
    case .rest: 0
    }
  }
}
