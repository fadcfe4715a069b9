import CoreTypes
import HTTPServer
import PullboxAPI
import PullboxAPIServer
package import RouteAccess
import ServiceAPI

/// Collection on demand. docs/uploading.md ("Garbage collection") has the request.
package struct GarbageCollectionRoutes: Sendable {
  /// A year, in seconds.
  static let maximumGrace = 31_536_000

  package let collector: GarbageCollector

  package init(collector: GarbageCollector) {
    self.collector = collector
  }

  /// Adds `POST /v1/operator/collection`, which needs the scope `admin`. The request may have no body: then the
  /// operator's rules count, and the run removes. The answer comes when the run has ended.
  package func add(to routes: inout ScopedRoutes) {
    routes.on(.post, "/v1/operator/collection", requires: .admin) { request, _, actor in
      let asked =
        try await request.decodeIfPresent(GarbageCollectionRequest.self) ?? GarbageCollectionRequest()
      if let seconds = asked.graceSeconds, !(0...Self.maximumGrace).contains(seconds) {
        throw Problem(.requestMalformed, "graceSeconds is a number from 0 to \(Self.maximumGrace)")
      }
      return try .json(
        try await collector.run(
          grace: asked.graceSeconds.map { .seconds($0) }, isDryRun: asked.dryRun ?? false, by: actor.name))
    }
  }
}
