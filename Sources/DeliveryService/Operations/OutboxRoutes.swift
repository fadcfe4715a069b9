import ContentGrants
import DeliveryRecords
import HTTPServer
import PullboxAPI
import PullboxAPIServer
import RouteAccess
import ServiceAPI

/// The outbox over HTTP, for operators: a list in pages, newest first, and what may be decided of a call. See
/// docs/delivery.md ("Calls to payment stores").
struct OutboxRoutes: Sendable {
  let outbox: Outbox

  /// Adds the list (scope `read`), and the retry and the drop of a call (scope `admin`), which take an
  /// idempotency key.
  func add(to routes: inout ScopedRoutes) {
    let query = HTTPRequest.pageQuery.union(["state", "store", "kind"])
    routes.on(.get, "/v1/operator/outbox", requires: .read, query: query) { request, _, _ in
      let filter = OutboxTable.Filter(
        state: try request.filter("state") { OutboxCall.State(rawValue: $0) },
        store: request.queryValue("store"), kind: request.queryValue("kind"))
      let page = try await outbox.page(
        after: try request.cursor("after") { Int64($0) }, matching: filter, limit: try request.pageLimit())
      return try .page(page, of: request)
    }
    routes.on(.post, "/v1/operator/outbox/{id}/retry", requires: .admin, takesIdempotencyKey: true) {
      _, parameters, actor in
      try .json(try await outbox.retry(try Self.call(parameters), by: actor.name))
    }
    routes.on(.post, "/v1/operator/outbox/{id}/drop", requires: .admin, takesIdempotencyKey: true) {
      request, parameters, actor in
      let id = try Self.call(parameters)
      return try .json(try await outbox.drop(id, because: try await request.reason(), by: actor.name))
    }
  }

  /// Returns the call in the address. Throws `call-unknown` for a text that is no number.
  private static func call(_ parameters: PathParameters) throws(Problem) -> Int64 {
    guard let id = Int64(parameters["id"]) else { throw Problem(.callUnknown) }
    return id
  }
}
