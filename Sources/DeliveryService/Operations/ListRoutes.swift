import Commerce
import Database
import HTTPServer
import PullboxAPI
import PullboxAPIServer

/// The lists for operators, in pages, newest first: what was granted and delivered, and the audit log.
struct ListRoutes: Sendable {
  let database: Database
  let recorder: DeliveryRecorder

  func add(to routes: inout ScopedRoutes) {
    // One list under two names: what was delivered, and what can be revoked.
    for path in ["/v1/operator/deliveries", "/v1/operator/grants"] {
      let query = HTTPRequest.pageQuery.union(GrantFilter.query).union(TimeRange.query)
      routes.on(.get, path, requires: .read, query: query) { request, _, _ in
        try .page(try await deliveries(request), of: request)
      }
    }
    let query = HTTPRequest.pageQuery.union(["product", "actor", "action"]).union(TimeRange.query)
    routes.on(.get, "/v1/operator/audit", requires: .read, query: query) { request, _, _ in
      try .page(try await audit(request), of: request)
    }
  }

  private func deliveries(_ request: HTTPRequest) async throws -> Page<OperatorGrant> {
    let limit = try request.pageLimit()
    let after = try request.cursor("after") { GrantShortName($0) }
    let filter = try GrantFilter(request)
    // What was sent a moment ago counts.
    try await recorder.record()
    return try await database.read { connection in
      if let after, try GrantTable.all(named: after, in: connection).isEmpty { throw Problem.unknownCursor }
      let grants = try GrantTable.page(after: after, matching: filter, limit: limit + 1, in: connection)
      let items = try grants.prefix(limit).map { grant in
        OperatorGrant(grant, history: try GrantTable.history(of: grant.id, in: connection))
      }
      return Page(items: items, next: grants.count > limit ? items.last?.grant.description : nil)
    }
  }

  private func audit(_ request: HTTPRequest) async throws -> Page<AuditEntry> {
    let limit = try request.pageLimit()
    let after = try request.cursor("after") { Int64($0) }
    let filter = AuditTable.Filter(
      product: try request.filter("product") { ProductIdentifier($0) },
      actor: request.queryValue("actor"), action: request.queryValue("action"), times: try TimeRange(request))
    return try await database.read { connection in
      if let after, try !AuditTable.exists(after, in: connection) { throw Problem.unknownCursor }
      let rows = try AuditTable.page(
        before: after ?? .max, matching: filter, limit: limit + 1, in: connection)
      let page = rows.prefix(limit)
      return Page(items: page.map(\.entry), next: rows.count > limit ? page.last.map { String($0.id) } : nil)
    }
  }
}
