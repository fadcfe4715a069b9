import ContentDelivery
import CoreTypes
import Database
import HTTPServer
import Monitoring
import PullboxAPI
import PullboxAPIServer
import RouteAccess

/// The routes for monitoring: health and metrics. They need no key.
struct OperationsRoutes: Sendable {
  /// The database whose check says whether the server is ready.
  let database: Database
  /// This server among those that share the database.
  let node: NodeMembership
  let metrics: ServiceMetrics

  /// Adds the routes of health and `/metrics`.
  func add(to routes: inout ScopedRoutes) {
    routes.onHealth { await unreadiness() }
    routes.public(.get, "/metrics") { _, _ in
      .metrics(await metrics.page())
    }
  }

  /// Why the server is not ready; nil if it is.
  private func unreadiness() async -> String? {
    do {
      try await database.check()
      return node.unreadiness
    } catch {
      return
        "the database cannot be used: \((error as? DatabaseError)?.code.description ?? "it does not answer")"
    }
  }
}
