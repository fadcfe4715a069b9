import ContentDelivery
import HTTPServer
import PullboxAPIServer

/// Adds what browsers need for the pages of the sites that ``CrossOriginPolicy`` allows, and answers their preflights.
/// Routes for operators are open to no page. See the Fetch standard, "CORS protocol". Without an allowed site
/// every request passes as it is.
struct CrossOriginHandler: AsyncHandler {
  /// Answers the requests, and knows the methods of each address.
  let router: Router
  /// The policy for other sites, which a reload may change.
  let settings: LiveSettings

  /// Answers a preflight with 204 where the site is allowed and the address has a method. The router answers
  /// everything else, and its answer gets the fields that the policy has for the origin.
  func respond(to request: HTTPRequest) async -> HTTPResponse {
    guard settings.allowsOrigins, !Self.isManagement(request) else {
      return await router.respond(to: request)
    }
    let policy = settings.value.origins
    let origin = request.headers["Origin"]
    if request.method == .options, let origin, policy.allows(origin),
      request.headers.contains("Access-Control-Request-Method")
    {
      let methods = router.methods(of: request)
      if !methods.isEmpty { return preflight(request, policy, origin, methods) }
    }
    var response = await router.respond(to: request)
    for field in policy.fields(for: origin) { response.headers.add(field.name, field.value) }
    return response
  }

  /// Returns the answer to a preflight, with the methods that the address has.
  private func preflight(
    _ request: HTTPRequest, _ policy: CrossOriginPolicy, _ origin: String, _ methods: [HTTPMethod]
  ) -> HTTPResponse {
    var response = HTTPResponse(status: .noContent, headers: ["X-Request-Id": request.id])
    let fields =
      policy.fields(for: origin)
      + policy.preflightFields(
        methods: methods.map(\.rawValue), asked: request.headers["Access-Control-Request-Headers"])
    for field in fields where field.name != "Access-Control-Expose-Headers" {
      response.headers.add(field.name, field.value)
    }
    return response
  }

  /// Whether the request is one for operators or monitoring.
  private static func isManagement(_ request: HTTPRequest) -> Bool {
    ["metrics", "console"].contains(request.pathSegments.first ?? "")
      || request.pathSegments.starts(with: ["v1", "operator"])
  }
}

extension HTTPFields {
  /// Adds a field, or a value to a `Vary` that is there.
  fileprivate mutating func add(_ name: String, _ value: String) {
    if name == "Vary", let present = self[name] {
      self[name] = "\(present), \(value)"
    } else {
      append(name: name, value: value)
    }
  }
}
