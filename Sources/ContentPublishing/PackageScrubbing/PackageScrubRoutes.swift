import HTTPServer
import PullboxAPI
import PullboxAPIServer
package import RouteAccess

/// How the stored packages stand, and a round on demand.
package struct PackageScrubRoutes: Sendable {
  package let scrubber: PackageScrubber

  package init(scrubber: PackageScrubber) {
    self.scrubber = scrubber
  }

  package func add(to routes: inout ScopedRoutes) {
    routes.on(.get, "/v1/operator/scrub", requires: .read) { _, _, _ in
      try .json(try await scrubber.report())
    }
    routes.on(.post, "/v1/operator/scrub", requires: .admin) { _, _, _ in
      try .json(try await scrubber.ask(), status: .accepted)
    }
  }
}
