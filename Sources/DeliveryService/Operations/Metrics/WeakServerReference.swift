import HTTPServer
import Synchronization

/// The server that a route is part of, which is made after the route. Weak: the server holds the route.
final class WeakServerReference: Sendable {
  private struct Reference: Sendable {
    weak var server: HTTPServer?
  }

  private let reference = Mutex(Reference())

  func set(_ server: HTTPServer) {
    reference.withLock { $0.server = server }
  }

  /// Nothing before there is a server.
  var statistics: HTTPServerStatistics {
    reference.withLock { $0.server }?.statistics() ?? HTTPServerStatistics()
  }
}
