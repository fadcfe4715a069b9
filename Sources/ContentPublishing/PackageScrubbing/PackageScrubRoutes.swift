import HTTPServer
import PullboxAPI
import PullboxAPIServer
package import RouteAccess
import ServiceAPI

/// How the stored packages stand, and a round on demand. See docs/uploading.md ("Damaged packages").
package struct PackageScrubRoutes: Sendable {
  package let scrubber: PackageScrubber

  package init(scrubber: PackageScrubber) {
    self.scrubber = scrubber
  }

  /// Adds `GET /v1/operator/scrub` (scope `read`) and `POST /v1/operator/scrub` (scope `admin`). The latter is
  /// answered with 202 at once; the round goes on behind it.
  package func add(to routes: inout ScopedRoutes) {
    routes.on(.get, "/v1/operator/scrub", requires: .read) { _, _, _ in
      try .json(try await scrubber.report())
    }
    routes.on(.post, "/v1/operator/scrub", requires: .admin) { _, _, _ in
      try .json(try await scrubber.ask(), status: .accepted)
    }
  }
}
