import Commerce
import Database
import HTTPServer
import PullboxAPI
import PullboxAPIServer

/// The lists for operators, in pages, newest first: what was granted and delivered, and the audit log.
struct ListRoutes: Sendable {
  static let maximumPage = 200

  let database: Database
  let recorder: DeliveryRecorder

  func add(to routes: inout ScopedRoutes) {
    // One list under two names: what was delivered, and what can be revoked.
    for path in ["/v1/operator/deliveries", "/v1/operator/grants"] {
      routes.on(.get, path, requires: .read) { request, _, _ in
        try .json(try await deliveries(request))
      }
    }
    routes.on(.get, "/v1/operator/audit", requires: .read) { request, _, _ in
      try .json(try await audit(request))
    }
  }

  private func deliveries(_ request: HTTPRequest) async throws -> Page<GrantStatus> {
    let limit = try request.number("limit", in: 1...Self.maximumPage, default: 50)
    let after = try request.cursor("after") { GrantIdentifier($0) }
    let filter = try GrantFilter(request)
    // What was sent a moment ago counts.
    try await recorder.record()
    return try await database.read { connection in
      let grants = try GrantTable.page(after: after, matching: filter, limit: limit + 1, in: connection)
      let items = try grants.prefix(limit).map { grant in
        GrantStatus(grant, history: try GrantTable.history(of: grant.id, in: connection))
      }
      return Page(items: items, next: grants.count > limit ? items.last?.grant.description : nil)
    }
  }

  private func audit(_ request: HTTPRequest) async throws -> Page<AuditEntry> {
    let limit = try request.number("limit", in: 1...Self.maximumPage, default: 50)
    let before = try request.cursor("after") { Int64($0) } ?? .max
    let filter = AuditTable.Filter(
      product: try request.filter("product") { ProductIdentifier($0) },
      actor: request.queryValue("actor"), action: request.queryValue("action"))
    return try await database.read { connection in
      let rows = try AuditTable.page(before: before, matching: filter, limit: limit + 1, in: connection)
      let page = rows.prefix(limit)
      return Page(items: page.map(\.entry), next: rows.count > limit ? page.last.map { String($0.id) } : nil)
    }
  }
}
