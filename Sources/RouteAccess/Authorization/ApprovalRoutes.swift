import HTTPServer
import PullboxAPI
import PullboxAPIServer
import ServiceAPI

/// The requests that want a second operator over HTTP: a list in pages, newest first, and what may be decided of one. See
/// docs/running.md ("Two operators").
package struct ApprovalRoutes: Sendable {
  private let approvals: Approvals

  package init(_ approvals: Approvals) {
    self.approvals = approvals
  }

  /// Adds the list and one request (scope `read`), and its approval and refusal, which need the scope of the step that was asked for
  /// as well, and take an idempotency key.
  package func add(to routes: inout ScopedRoutes) {
    let path = "/v1/operator/approvals"
    routes.on(.get, path, requires: .read, query: HTTPRequest.pageQuery.union(["state"])) { request, _, _ in
      try .page(
        try await approvals.page(
          after: try request.cursor("after") { Int64($0) },
          in: try request.filter("state") { Approval.State(rawValue: $0) }, limit: try request.pageLimit()),
        of: request)
    }
    routes.on(.get, path + "/{id}", requires: .read) { _, parameters, _ in
      try .json(try await approvals.approval(try Self.number(parameters)))
    }
    routes.on(.post, path + "/{id}/approve", requires: .read, takesIdempotencyKey: true) {
      _, parameters, actor in
      try .json(try await approvals.approve(try Self.number(parameters), by: actor))
    }
    routes.on(.post, path + "/{id}/decline", requires: .read, takesIdempotencyKey: true) {
      request, parameters, actor in
      let number = try Self.number(parameters)
      return try .json(
        try await approvals.decline(number, because: try await request.reason(), by: actor))
    }
  }

  /// Throws `not-found` for a text that is no number.
  private static func number(_ parameters: PathParameters) throws(Problem) -> Int64 {
    guard let id = Int64(parameters["id"]) else { throw Problem(.notFound) }
    return id
  }
}
