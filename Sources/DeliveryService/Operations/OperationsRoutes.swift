import APIServing
import Commerce
import Database
import HTTPServer
import Measures
import PullboxAPI

/// Health, metrics, deliveries and the audit log.
struct OperationsRoutes: Sendable {
  static let maximumPage = 200

  let database: Database
  let recorder: DeliveryRecorder
  let keys: OperatorKeys

  func add(to routes: inout ContractRoutes) {
    routes.onHealth { await unreadiness() }
    routes.on(.get, "/metrics") { _, _ in try await metrics() }
    routes.on(.get, "/v1/operator/deliveries") { request, _ in
      _ = try keys.authorize(request, for: .read)
      return try .json(try await deliveries(request))
    }
    routes.on(.get, "/v1/operator/grants") { request, _ in
      _ = try keys.authorize(request, for: .read)
      return try .json(try await deliveries(request))
    }
    routes.on(.get, "/v1/operator/audit") { request, _ in
      _ = try keys.authorize(request, for: .read)
      return try .json(try await audit(request))
    }
  }

  private func unreadiness() async -> String? {
    do {
      _ = try await database.read { try $0.first("SELECT 1 AS one") }
      return nil
    } catch {
      return "the database does not answer"
    }
  }

  private func deliveries(_ request: HTTPRequest) async throws -> Page<GrantStatus> {
    let limit = try request.number("limit", in: 1...Self.maximumPage, default: 50)
    let after = request.queryValue("after").flatMap { GrantIdentifier($0) }
    let filter = try GrantFilter(request)
    try await recorder.record()
    return try await database.read { connection in
      let grants = try GrantTable.page(after: after, filter: filter, limit: limit + 1, in: connection)
      let items = try grants.prefix(limit).map { grant in
        GrantStatus(grant, history: try GrantTable.history(of: grant.id, in: connection))
      }
      return Page(items: items, next: grants.count > limit ? items.last?.grant.text : nil)
    }
  }

  private func audit(_ request: HTTPRequest) async throws -> Page<AuditEntry> {
    let limit = try request.number("limit", in: 1...Self.maximumPage, default: 50)
    let before = request.queryValue("after").flatMap { Int64($0) } ?? .max
    return try await database.read { connection in
      let rows = try AuditTable.page(before: before, limit: limit + 1, in: connection)
      let page = rows.prefix(limit)
      return Page(items: page.map(\.entry), next: rows.count > limit ? page.last.map { String($0.id) } : nil)
    }
  }

  private func metrics() async throws -> HTTPResponse {
    try await recorder.record()
    let (depth, states) = try await database.read { connection in
      (
        try OutboxTable.depth(in: connection),
        try connection.query("SELECT state, count(*) AS grants FROM grants GROUP BY state ORDER BY state").map
        {
          (try $0.text("state"), try $0.integer("grants"))
        }
      )
    }
    var text = """
      # HELP pullbox_delivered_bytes_total Body bytes of packages sent since the start.
      # TYPE pullbox_delivered_bytes_total counter
      pullbox_delivered_bytes_total \(recorder.meters.totalRecorded.rawValue)
      # HELP pullbox_outbox_depth Calls that a store has still to hear.
      # TYPE pullbox_outbox_depth gauge
      pullbox_outbox_depth \(depth)
      # HELP pullbox_grants Grants by state.
      # TYPE pullbox_grants gauge

      """
    for (state, count) in states { text += "pullbox_grants{state=\"\(state)\"} \(count)\n" }
    return HTTPResponse(
      status: .ok, headers: ["Content-Type": "text/plain; version=0.0.4"], body: .bytes(Array(text.utf8)))
  }
}
