import PullboxAPIServer
import HTTPServer
import CoreTypes
import PullboxAPI

/// Collection on demand.
struct GarbageCollectionRoutes: Sendable {
  /// A year.
  static let maximumGrace = 31_536_000

  let collector: GarbageCollector
  let keys: OperatorKeys

  func add(to routes: inout APIRoutes) {
    routes.on(.post, "/v1/operator/collection") { request, _ in
      let actor = try keys.authorize(request, for: .admin)
      let wish =
        try await request.decodeIfPresent(GarbageCollectionRequest.self) ?? GarbageCollectionRequest()
      if let seconds = wish.graceSeconds, !(0...Self.maximumGrace).contains(seconds) {
        throw Problem(.requestMalformed, "graceSeconds is a number from 0 to \(Self.maximumGrace)")
      }
      return try .json(
        try await collector.run(
          grace: wish.graceSeconds.map { .seconds($0) }, isDryRun: wish.dryRun ?? false, by: actor))
    }
  }
}
