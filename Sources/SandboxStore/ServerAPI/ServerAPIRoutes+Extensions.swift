import CoreTypes
import Database
import HTTPServer
import PullboxAPIServer

/// Extensions of all subscriptions to a product.
extension ServerAPIRoutes {
  /// The answer about a request. The date and the counts are there once it is complete.
  private struct ExtensionOfAll: Encodable {
    var requestIdentifier: String
    var complete: Bool
    /// Milliseconds since the epoch.
    var completeDate: Int64?
    var succeededCount: Int64?
    var failedCount: Int64?
  }

  /// Adds the route that begins a request and the one that tells how far it is. A request that has begun is
  /// answered the same again and keeps its first terms.
  func addExtensionOfAll(to routes: inout APIRoutes) {
    routes.on(
      .post, "/inApps/v1/subscriptions/extend/mass",
      use: answering(.rare) { [store, wake] request, _ in
        let wanted = try MassExtension(try await request.bytes(upTo: Self.longestBody))
        try await store.database.write(locking: [.everything]) { [clock = store.clock] connection in
          try wanted.insert(at: clock.now(), in: connection)
        }
        wake()
        return try .json(["requestIdentifier": wanted.terms.request])
      })
    routes.on(
      .get, "/inApps/v1/subscriptions/extend/mass/{product}/{request}",
      use: answering(.rare) { [store] _, parameters in
        let (product, name) = (parameters["product"], parameters["request"])
        let found = try await store.database.read {
          try MassExtension.find(product: product, request: name, in: $0)
        }
        guard let found else { throw ServerAPIError.extensionRequestUnknown }
        let isComplete = found.completed != nil
        return try .json(
          ExtensionOfAll(
            requestIdentifier: name, complete: isComplete,
            completeDate: found.completed?.millisecondsSinceEpoch,
            succeededCount: isComplete ? found.succeeded : nil, failedCount: isComplete ? found.failed : nil))
      })
  }
}
