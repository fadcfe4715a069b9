import APIServing
import Commerce
import Database
import HTTPServer
import Measures
import PullboxAPI

/// Health and metrics.
struct OperationsRoutes: Sendable {
  let database: Database
  let recorder: DeliveryRecorder

  func add(to routes: inout ContractRoutes) {
    routes.onHealth { await unreadiness() }
    routes.on(.get, "/metrics") { _, _ in try await metrics() }
  }

  private func unreadiness() async -> String? {
    do {
      _ = try await database.read { try $0.first("SELECT 1 AS one") }
      return nil
    } catch {
      return "the database does not answer"
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
