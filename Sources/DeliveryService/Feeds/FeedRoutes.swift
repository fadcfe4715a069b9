import Commerce
import CoreTypes
import HTTPServer
import PullboxAPI
import PullboxAPIServer

/// `GET /v1/feed`: what becomes of what a device's customer owns, as a long poll.
struct FeedRoutes: Sendable {
  let feeds: FeedService
  let settings: LiveSettings

  func add(to routes: inout ScopedRoutes) {
    routes.public(.get, "/v1/feed", query: ["device", "after", "wait"]) { request, _ in
      guard let device = try request.filter("device", { DeviceIdentifier($0) }) else {
        throw Problem(.requestMalformed, "device names the device whose feed it is")
      }
      let seconds = try request.number("wait", in: FeedService.waits, default: 0)
      // What is no cursor of this server's is one that is too old.
      let cursor = request.queryValue("after").flatMap { FeedService.Cursor($0) }
      let (page, number) = try await feeds.page(
        token: request.bearerToken, device: device, after: cursor, waiting: .seconds(seconds))
      let tag = "\"\(page.cursor)\""
      let headers: HTTPFields = ["ETag": tag, "Cache-Control": "private, no-cache"]
      if page.items.isEmpty, Preconditions(request, entityTag: tag).verdict == .notModified {
        return HTTPResponse(status: .notModified, headers: headers)
      }
      let base = settings.value.proxies.origin(of: request.peer, ForwardingFields(request)).base ?? ""
      var response = try HTTPResponse.json(
        FeedResponse(
          entries: page.items.map { feeds.entry($0) }, cursor: page.cursor.description, isWhole: page.isWhole,
          feed: feeds.reference(to: number, of: device, base: base)))
      for (name, value) in [("ETag", tag), ("Cache-Control", "private, no-cache")] {
        response.headers[name] = value
      }
      return response
    }
  }
}
