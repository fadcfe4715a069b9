import CoreTypes
import HTTPServer
import PullboxTesting

/// A proxy in front of the fake server: answers the pages that a test has lined up.
struct ProxyPages: AsyncHandler {
  let server: FakeServer
  let handler: any AsyncHandler

  func respond(to request: HTTPRequest) async -> HTTPResponse {
    let name = Self.name(of: request)
    let page = server.state.withLock { state -> FakeServer.Page? in
      state.arrivals[name, default: []].append(SystemMonotonicClock().now())
      if let portal = state.portal {
        state.portalRequests += 1
        return portal
      }
      guard let first = state.pages[name]?.first else { return nil }
      state.pages[name]?.removeFirst()
      return first
    }
    guard let page else { return await handler.respond(to: request) }
    var headers: HTTPFields = ["Content-Type": "text/html"]
    if let retryAfter = page.retryAfter { headers["Retry-After"] = String(retryAfter) }
    if page.status == 302 { headers["Location"] = "http://log-in.example/" }
    return HTTPResponse(
      status: HTTPStatus(rawValue: page.status), headers: headers,
      body: .bytes(Array("<html><head><title>\(page.status)</title></head><body>nginx</body></html>".utf8)))
  }

  /// `METHOD /path`, with the grant or the digest left out.
  private static func name(of request: HTTPRequest) -> String {
    var segments = request.pathSegments
    if segments.count > 2, segments[0] == "v1", ["grants", "content"].contains(segments[1]) {
      segments.remove(at: 2)
    }
    return "\(request.method.rawValue) /\(segments.joined(separator: "/"))"
  }
}
