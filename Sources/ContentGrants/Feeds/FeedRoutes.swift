import Commerce
package import ContentDelivery
import CoreTypes
import HTTPParsing
import HTTPServer
import PullboxAPI
import PullboxAPIServer
package import RouteAccess
import ServiceAPI

/// `GET /v1/feed`: what becomes of what a device's customer owns, as a long poll or as server-sent events.
/// Follows docs/delivery.md ("Feeds").
package struct FeedRoutes: Sendable {
  package let feeds: FeedService
  /// Has the proxies whose word on the server's public address is believed.
  package let settings: LiveSettings

  /// Creates the route over a service whose ``FeedService/run()`` runs elsewhere.
  package init(feeds: FeedService, settings: LiveSettings) {
    self.feeds = feeds
    self.settings = settings
  }

  /// Adds the route, which needs no operator key: its bearer token names one feed. `wait` is 0 to 300 seconds.
  /// A client that takes `text/event-stream` gets a stream and may send `Last-Event-ID` in place of `after`.
  package func add(to routes: inout ScopedRoutes) {
    routes.public(.get, "/v1/feed", query: ["device", "after", "wait"]) { request, _ in
      guard let device = try request.filter("device", { DeviceIdentifier($0) }) else {
        throw Problem(.requestMalformed, "device names the device whose feed it is")
      }
      let seconds = try request.number("wait", in: FeedService.waits, default: 0)
      let base = settings.value.proxies.origin(of: request.peer, ForwardingFields(request)).base ?? ""
      let isStream = Self.wantsStream(request)
      // What is no cursor of this server's is one that is too old.
      let cursor =
        (isStream ? request.headers["Last-Event-ID"] : nil).map { FeedService.Cursor($0) }
        ?? request.queryValue("after").flatMap { FeedService.Cursor($0) }
      let found: FeedService.Answer
      if let poll = request.postponement as? FeedPoll {
        found = try await feeds.answer(to: poll)
      } else {
        found = try await feeds.answer(
          token: request.bearerToken, device: device, after: cursor,
          waiting: isStream ? .zero : .seconds(seconds))
      }
      guard case .reading(let reading) = found else {
        var response = HTTPResponse(status: .noContent)
        if case .later(let poll) = found { response.postponement = poll }
        return response
      }
      if isStream {
        return HTTPResponse(
          status: .ok,
          headers: [
            "Content-Type": "text/event-stream", "Cache-Control": "private, no-cache", "Vary": "Accept",
            "X-Accel-Buffering": "no",
          ],
          body: try feeds.stream(reading.feed, of: device, after: cursor, opening: reading.page, base: base))
      }
      return try answer(request, with: reading, to: device, base: base)
    }
  }

  /// Whether the client names server-sent events among what it takes; anything else gets a document.
  private static func wantsStream(_ request: HTTPRequest) -> Bool {
    request.headers.values(of: "Accept").flatMap { $0.split(separator: ",") }.contains { range in
      range.prefix { $0 != ";" }.filter { $0 != " " && $0 != "\t" }.lowercased() == "text/event-stream"
    }
  }

  /// Returns the document, or 304 without a body where the cursor is the one in `If-None-Match`, nothing is new
  /// and the token needs no renewal. The entity tag is the cursor.
  private func answer(
    _ request: HTTPRequest, with reading: FeedService.Reading, to device: DeviceIdentifier, base: String
  ) throws -> HTTPResponse {
    let page = reading.page
    let tag = "\"\(page.cursor)\""
    let fields = [("ETag", tag), ("Cache-Control", "private, no-cache"), ("Vary", "Accept")]
    // An answer without a body brings no token.
    if page.items.isEmpty, !reading.renewsToken,
      Preconditions(request, entityTag: tag).verdict == .notModified
    {
      var response = HTTPResponse(status: .notModified)
      for (name, value) in fields { response.headers[name] = value }
      return response
    }
    var response = try HTTPResponse.json(
      FeedResponse(
        entries: page.items.map { feeds.entry($0) }, cursor: page.cursor.description, isWhole: page.isWhole,
        feed: feeds.reference(to: reading.feed, of: device, base: base)))
    for (name, value) in fields { response.headers[name] = value }
    return response
  }
}
