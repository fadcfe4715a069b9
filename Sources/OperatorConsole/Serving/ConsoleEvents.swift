package import CoreTypes
import HTTPServer
import PullboxAPI
import Synchronization

/// The streams of server-sent events that tell open pages to look again. A page reads itself then, and shows what differs.
package final class ConsoleEvents: Sendable {
  private static let interval: Duration = .seconds(5)
  /// Events of one stream; then the browser asks for another one.
  private static let maximumEvents = 60
  private static let maximumStreams = 64

  private struct State {
    var isClosed = false
    var streams = 0
  }

  private let timer: any MonotonicClock
  private let state = Mutex(State())

  package init(timer: any MonotonicClock) {
    self.timer = timer
  }

  /// Ends all streams by their next event, and begins none any more.
  package func close() { state.locked { $0.isClosed = true } }

  /// A stream for as long as `isWanted` says so. Throws `unavailable` where there are too many.
  func response(while isWanted: @escaping @Sendable () async -> Bool) throws(Problem) -> HTTPResponse {
    guard state.locked({ !$0.isClosed && $0.streams < Self.maximumStreams }) else {
      throw Problem(.unavailable, "too many pages are open", retryAfterSeconds: 30)
    }
    return HTTPResponse(
      status: .ok, headers: ["Content-Type": "text/event-stream", "X-Accel-Buffering": "no"],
      body: .stream { writer in
        self.state.locked { $0.streams += 1 }
        defer { self.state.locked { $0.streams -= 1 } }
        try await writer.write("retry: 10000\n\n")
        for _ in 0..<Self.maximumEvents {
          try await self.timer.sleep(for: Self.interval)
          guard !self.state.locked({ $0.isClosed }), await isWanted() else { return }
          try await writer.write("event: look\ndata:\n\n")
        }
      })
  }
}
