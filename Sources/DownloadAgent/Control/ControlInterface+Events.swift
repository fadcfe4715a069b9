import HTTPServer
import CoreTypes
import PullboxAPI

extension ControlInterface {
  /// Server-sent events (WHATWG HTML §9.2): first every unfinished transaction and every live download, then every change.
  /// A comment line now and then shows both sides that the other is there.
  func events() throws -> HTTPResponse {
    guard let observer = hub.subscribe() else {
      throw Problem(.tooManyRequests, "at most \(EventHub.maximumObservers) observers", retryAfterSeconds: 5)
    }
    return HTTPResponse(
      status: .ok,
      headers: [
        "Content-Type": "text/event-stream", "Cache-Control": "no-store", "X-Accel-Buffering": "no",
      ],
      body: .stream { writer in
        defer { hub.unsubscribe(observer) }
        try await withThrowingTaskGroup(of: Void.self) { group in
          group.addTask {
            while true {
              try await clock.sleep(for: heartbeat)
              observer.postHeartbeat()
            }
          }
          defer { group.cancelAll() }
          // A first line at once: the observer knows that it is connected, also where nothing happens.
          try await writer.write(": pullbox agent\n\n")
          while let item = await observer.next() { try await writer.write(Self.lines(item)) }
        }
      })
  }

  /// JSON has no line breaks, so that one `data` line holds it.
  static func lines(_ item: EventObserver.Item) throws -> [UInt8] {
    switch item {
    case .heartbeat: Array(":\n\n".utf8)
    case .event(let event):
      Array("event: \(event.name)\ndata: ".utf8) + (try event.encodedData()) + Array("\n\n".utf8)
    }
  }
}
