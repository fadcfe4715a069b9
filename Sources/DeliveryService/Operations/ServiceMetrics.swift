import CoreTypes
import Database
import HTTPServer
import PullboxAPI
import Synchronization

/// Everything that `/metrics` tells, brought together when it is asked.
struct ServiceMetrics: Sendable {
  let database: Database
  let recorder: DeliveryRecorder
  let stops: RevocationList
  let tickets: TicketIssuer
  let routes: RouteMetrics
  let content: InlineMetrics
  let accessLog: AccessLog?
  let statistics: @Sendable () -> HTTPServerStatistics

  /// What the database knows.
  private struct DatabaseGauges: Sendable {
    var outbox: Int
    var uploads: Int64
    var grants: [(String, Int64)]
  }

  func page() async throws -> String {
    try await recorder.record()
    let stock = try await stock()
    var text = MetricsText()
    addServer(statistics(), to: &text)
    addRequests(to: &text)
    addDelivery(stock, to: &text)
    return text.text
  }

  private func stock() async throws -> DatabaseGauges {
    try await database.read { connection in
      let uploads = try connection.first("SELECT count(*) AS uploads FROM uploads")
      let grants = try connection.query(
        """
        SELECT CASE WHEN revoked_by IS NULL THEN state ELSE 'revoked' END AS name, count(*) AS grants
        FROM grants GROUP BY name ORDER BY name
        """)
      return DatabaseGauges(
        outbox: try OutboxTable.depth(in: connection), uploads: try uploads?.integer("uploads") ?? 0,
        grants: try grants.map { (try $0.text("name"), try $0.integer("grants")) })
    }
  }

  private func addServer(_ server: HTTPServerStatistics, to text: inout MetricsText) {
    text.add(
      "pullbox_http_responses_total", .counter, "Responses begun, by status.",
      server.responses.sorted { $0.key < $1.key }.map { ([("code", String($0.key))], Double($0.value)) })
    text.add(
      "pullbox_http_sent_bytes_total", .counter, "Bytes of responses behind their heads.", server.bytesSent)
    text.add(
      "pullbox_http_received_bytes_total", .counter, "Bytes of requests' content.", server.bytesReceived)
    text.add(
      "pullbox_http_active_responses", .gauge, "Responses on their way.", server.activeResponses)
    text.add(
      "pullbox_http_connections", .gauge, "Connections that are open.", server.openConnections)
    text.add(
      "pullbox_http_connections_accepted_total", .counter, "Connections ever accepted.",
      server.acceptedConnections)
    text.add(
      "pullbox_http_connections_rejected_total", .counter, "Connections turned away, by reason.",
      server.refusedConnections.map { ("\($0.key)", $0.value) }.sorted { $0.0 < $1.0 }.map {
        ([("reason", $0.0)], Double($0.1))
      })
    text.add(
      "pullbox_http_deadlines_total", .counter, "Connections ended by a deadline, by which.",
      server.deadlinesPassed.map { ("\($0.key)", $0.value) }.sorted { $0.0 < $1.0 }.map {
        ([("deadline", $0.0)], Double($0.1))
      })
    text.add(
      "pullbox_http_bodies_aborted_total", .counter, "Bodies ended by a revocation or withdrawal.",
      server.abortedBodies)
    text.addHistogram(
      "pullbox_http_time_to_first_byte_seconds",
      "From a request's complete head to the first bytes of its response.",
      bounds: LatencyHistogram.bounds.map { Double($0) / 1e9 }, buckets: server.timeToFirstByte.counts,
      sum: Double(server.timeToFirstByte.sum) / 1e9)
    text.add(
      "pullbox_access_records_dropped_total", .counter, "Requests that the access log has no line of.",
      server.droppedRecords + (accessLog?.lostLines ?? 0))
  }

  private func addRequests(to text: inout MetricsText) {
    var counts = routes.requests
    for (status, count) in content.totals where count > 0 {
      counts[RouteMetrics.Key(route: ContentRoutes.pattern, status: status), default: 0] += count
    }
    text.add(
      "pullbox_http_requests_total", .counter, "Requests that reached a route, by route and status.",
      counts.sorted { $0.key < $1.key }.map { key, count in
        ([("route", key.route), ("code", String(key.status))], Double(count))
      })
    text.add(
      "pullbox_problems_total", .counter, "Refusals, by the code of the problem.",
      routes.problems.sorted { $0.key < $1.key }.map { ([("code", $0.key)], Double($0.value)) })
  }

  private func addDelivery(_ stock: DatabaseGauges, to text: inout MetricsText) {
    text.add(
      "pullbox_delivered_bytes_total", .counter, "Body bytes of packages sent since the start.",
      recorder.meters.totalRecorded.rawValue)
    text.add("pullbox_delivery_bodies", .gauge, "Bodies of packages on their way.", recorder.meters.bodies)
    text.add(
      "pullbox_tickets_total", .counter, "Tickets sealed, with a grant or to renew one.",
      [
        ([("kind", "issued")], Double(tickets.issued)), ([("kind", "renewed")], Double(tickets.renewed)),
      ])
    text.add(
      "pullbox_stops_total", .counter, "Grants revoked and contents withdrawn since the start.", stops.count)
    text.add("pullbox_outbox_depth", .gauge, "Calls that a store has still to hear.", stock.outbox)
    text.add("pullbox_uploads", .gauge, "Uploads that are no version yet.", stock.uploads)
    text.add(
      "pullbox_grants", .gauge, "Grants by state.",
      stock.grants.map { ([("state", $0.0)], Double($0.1)) })
  }
}

/// The server that a route is part of, which is made after the route. Weak: the server holds the route.
final class WeakServerReference: Sendable {
  private struct Reference: Sendable {
    weak var server: HTTPServer?
  }

  private let reference = Mutex(Reference())

  func set(_ server: HTTPServer) {
    reference.withLock { $0.server = server }
  }

  /// Nothing before there is a server.
  var statistics: HTTPServerStatistics {
    reference.withLock { $0.server }?.statistics() ?? HTTPServerStatistics()
  }
}
