import Commerce
import CoreTypes
import Database
import DeliveryModel
import DeliveryRecords
import HTTPServer
import PullboxAPI
import PullboxAPIServer
import RouteAccess
import ServiceAPI

/// The lists for operators, in pages, newest first: what was granted and delivered, and the audit log.
struct ListRoutes: Sendable {
  let database: Database
  /// Has the lists of grants.
  let deliveries: DeliveryLists

  /// Adds the lists of grants, irregularities and audit entries. Each needs the scope `read`.
  func add(to routes: inout ScopedRoutes) {
    // One list under two names: what was delivered, and what can be revoked.
    for path in ["/v1/operator/deliveries", "/v1/operator/grants"] {
      let query = HTTPRequest.pageQuery.union(GrantFilter.query).union(TimeRange.query).union(["progress"])
      routes.on(.get, path, requires: .read, query: query) { request, _, _ in
        try .page(try await deliveries.page(request), of: request)
      }
    }
    let narrowed = Set(["product", "version", "device"]).union(TimeRange.query)
    routes.on(.get, "/v1/operator/deliveries/failures", requires: .read, query: narrowed) { request, _, _ in
      try .json(try await deliveries.failures(request))
    }
    routes.on(.get, "/v1/operator/deliveries/sums", requires: .read, query: TimeRange.query) {
      request, _, _ in
      try .json(try await deliveries.sums(request))
    }
    let kinds = HTTPRequest.pageQuery.union(["kind"])
    routes.on(.get, "/v1/operator/irregularities", requires: .read, query: kinds) { request, _, _ in
      try .page(try await irregularities(request), of: request)
    }
    let query = HTTPRequest.pageQuery.union(["product", "version", "actor", "action"]).union(TimeRange.query)
    routes.on(.get, "/v1/operator/audit", requires: .read, query: query) { request, _, _ in
      try .page(try await audit(request), of: request)
    }
  }

  /// Returns a page of irregularities; `after` is the row of one.
  private func irregularities(_ request: HTTPRequest) async throws -> Page<Irregularity> {
    let limit = try request.pageLimit()
    let after = try request.cursor("after") { Int64($0) }
    let kind = request.queryValue("kind").map { Irregularity.Kind(rawValue: $0) }
    return try await database.read { connection in
      if let after, try !IrregularityTable.exists(after, in: connection) { throw Problem.unknownCursor }
      let found = try IrregularityTable.page(
        before: after ?? .max, kind: kind, limit: limit + 1, in: connection)
      let items = Array(found.prefix(limit))
      return Page(items: items, next: found.count > limit ? items.last.map { String($0.id) } : nil)
    }
  }

  /// Returns a page of the audit log, in the order of its dates; `after` is the row of an entry.
  private func audit(_ request: HTTPRequest) async throws -> Page<AuditEntry> {
    let limit = try request.pageLimit()
    let after = try request.cursor("after") { Int64($0) }
    let filter = AuditTable.Filter(
      product: try request.filter("product") { ProductIdentifier($0) },
      version: try request.filter("version") { ContentVersion($0) }, actor: request.queryValue("actor"),
      action: request.queryValue("action"), times: try TimeRange(request))
    guard filter.version == nil || filter.product != nil else {
      throw Problem(.requestMalformed, "version needs a product beside it")
    }
    return try await database.read { connection in
      var filter = filter
      if let product = filter.product, let version = filter.version {
        // However it is spelled.
        filter.version = try VersionTable.find(product, version, in: connection)?.version ?? version
      }
      let place = try after.map { row in
        guard let place = try AuditTable.place(of: row, in: connection) else { throw Problem.unknownCursor }
        return place
      }
      let rows = try AuditTable.page(
        before: place ?? .end, matching: filter, limit: limit + 1, in: connection)
      let page = rows.prefix(limit)
      return Page(items: page.map(\.entry), next: rows.count > limit ? page.last.map { String($0.id) } : nil)
    }
  }
}
