import HTTPServer

/// Tells the access record who asked, where a trusted proxy forwarded the request.
struct ForwardedClientHandler: AsyncHandler {
  let handler: any AsyncHandler
  let settings: LiveSettings

  func respond(to request: HTTPRequest) async -> HTTPResponse {
    var response = await handler.respond(to: request)
    if settings.dependsOnProxies {
      response.client = settings.value.proxies.origin(of: request.peer, ForwardingFields(request)).client
    }
    return response
  }
}
