/// Collects routes for a ``Router``.
public struct RouteTable {
  public typealias Responder = @Sendable (HTTPRequest, PathParameters) async -> HTTPResponse

  struct Route: Sendable {
    let pattern: RoutePattern
    var responders: [HTTPMethod: Responder]
  }

  private(set) var routes: [Route] = []

  init() {}

  /// `pattern` has placeholders for segments: `/v1/grants/{grant}`, `/v1/content/{digest}.meta4`, `/files/{path...}`.
  /// Where several patterns match, literals win over placeholders, from left to right. A malformed pattern, or the same
  /// method and pattern twice, is a defect and traps.
  public mutating func on(_ method: HTTPMethod, _ pattern: String, _ responder: @escaping Responder) {
    let parsed = RoutePattern(pattern)
    if let index = routes.firstIndex(where: { $0.pattern == parsed }) {
      precondition(routes[index].responders[method] == nil, "two routes for \(method) \(pattern)")
      routes[index].responders[method] = responder
    } else {
      routes.append(Route(pattern: parsed, responders: [method: responder]))
    }
  }
}
