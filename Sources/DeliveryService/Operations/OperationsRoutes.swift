import CoreTypes
import Database
import HTTPServer
import PullboxAPI
import PullboxAPIServer

/// The routes for monitoring: health and metrics. They need no key.
struct OperationsRoutes: Sendable {
  let database: Database
  let metrics: ServiceMetrics

  func add(to routes: inout ScopedRoutes) {
    routes.onHealth { await unreadiness() }
    routes.public(.get, "/metrics") { _, _ in
      let text = try await metrics.page()
      return HTTPResponse(
        status: .ok,
        headers: [
          "Content-Type": "text/plain; version=0.0.4; charset=utf-8", "Cache-Control": "no-store",
        ],
        body: .bytes(Array(text.utf8)))
    }
  }

  /// Why the server is not ready; nil if it is.
  private func unreadiness() async -> String? {
    do {
      try await database.check()
      return nil
    } catch {
      return
        "the database cannot be used: \((error as? DatabaseError)?.code.description ?? "it does not answer")"
    }
  }
}
