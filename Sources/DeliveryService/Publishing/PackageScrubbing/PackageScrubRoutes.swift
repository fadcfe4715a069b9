import HTTPServer
import PullboxAPI
import PullboxAPIServer

/// How the stored packages stand, and a round on demand.
struct PackageScrubRoutes: Sendable {
  let scrubber: PackageScrubber

  func add(to routes: inout ScopedRoutes) {
    routes.on(.get, "/v1/operator/scrub", requires: .read) { _, _, _ in
      try .json(try await scrubber.report())
    }
    routes.on(.post, "/v1/operator/scrub", requires: .admin) { _, _, _ in
      try .json(try await scrubber.ask(), status: .accepted)
    }
  }
}
