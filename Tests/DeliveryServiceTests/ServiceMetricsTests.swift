import CoreTypes
import DeliveryModel
import DeliveryTesting
import HTTPClient
import PullboxAPIClient
import PullboxTesting
import ServiceRuntime
import Testing

@testable import ContentDelivery
@testable import ContentPublishing
@testable import DeliveryRecords
@testable import DeliveryService

/// Dashboards and alerts name metrics: what the page had once stays, in its order. A new metric needs no line here.
@Suite("Metrics of the delivery server")
struct ServiceMetricsTests {
  static let descriptions = """
    # HELP pullbox_http_responses_total Responses begun, by status.
    # TYPE pullbox_http_responses_total counter
    # HELP pullbox_http_sent_bytes_total Bytes of responses behind their heads.
    # TYPE pullbox_http_sent_bytes_total counter
    # HELP pullbox_http_received_bytes_total Bytes of requests' content.
    # TYPE pullbox_http_received_bytes_total counter
    # HELP pullbox_http_active_responses Responses on their way.
    # TYPE pullbox_http_active_responses gauge
    # HELP pullbox_http_connections Connections that are open.
    # TYPE pullbox_http_connections gauge
    # HELP pullbox_http_connections_accepted_total Connections ever accepted.
    # TYPE pullbox_http_connections_accepted_total counter
    # HELP pullbox_http_connections_rejected_total Connections turned away, by reason.
    # TYPE pullbox_http_connections_rejected_total counter
    # HELP pullbox_http_deadlines_total Connections ended by a deadline, by which.
    # TYPE pullbox_http_deadlines_total counter
    # HELP pullbox_http_bodies_aborted_total Bodies ended by a revocation or withdrawal.
    # TYPE pullbox_http_bodies_aborted_total counter
    # HELP pullbox_http_time_to_first_byte_seconds From a request's complete head to the first bytes of its response.
    # TYPE pullbox_http_time_to_first_byte_seconds histogram
    # HELP pullbox_access_records_dropped_total Requests that the access log has no line of.
    # TYPE pullbox_access_records_dropped_total counter
    # HELP pullbox_http_requests_total Requests that reached a route, by route and status.
    # TYPE pullbox_http_requests_total counter
    # HELP pullbox_problems_total Refusals, by the code of the problem.
    # TYPE pullbox_problems_total counter
    # HELP pullbox_delivered_bytes_total Body bytes of packages sent since the start.
    # TYPE pullbox_delivered_bytes_total counter
    # HELP pullbox_delivery_bodies Bodies of packages on their way.
    # TYPE pullbox_delivery_bodies gauge
    # HELP pullbox_tickets_total Tickets sealed, with a grant or to renew one.
    # TYPE pullbox_tickets_total counter
    # HELP pullbox_stops_total Grants revoked, contents withdrawn and packages found damaged since the start.
    # TYPE pullbox_stops_total counter
    # HELP pullbox_outbox_depth Calls that a store has still to accept.
    # TYPE pullbox_outbox_depth gauge
    # HELP pullbox_outbox_parked Calls that are not made until an operator asks for it.
    # TYPE pullbox_outbox_parked gauge
    # HELP pullbox_outbox_oldest_seconds Age of the call that has waited longest.
    # TYPE pullbox_outbox_oldest_seconds gauge
    # HELP pullbox_outbox_oldest_parked_seconds Age of the oldest call that is parked.
    # TYPE pullbox_outbox_oldest_parked_seconds gauge
    # HELP pullbox_outbox_breaker_open 1 while a store does not answer: only probes are made.
    # TYPE pullbox_outbox_breaker_open gauge
    # HELP pullbox_uploads Uploads that are no version yet.
    # TYPE pullbox_uploads gauge
    # HELP pullbox_grants Grants by state and by the environment of the purchase.
    # TYPE pullbox_grants gauge
    # HELP pullbox_grants_unconfirmed Grants that rest on what a store said before it was away.
    # TYPE pullbox_grants_unconfirmed gauge
    # HELP pullbox_packages_damaged Packages of versions that were found missing or damaged.
    # TYPE pullbox_packages_damaged gauge
    # HELP pullbox_package_checks_total Packages read to see whether they are whole.
    # TYPE pullbox_package_checks_total counter
    """

  private func samples(_ server: ServerHarness) async throws -> [String: Double] {
    let page = try await server.client.send(ClientRequest(method: "GET", url: server.api.url("/metrics")))
    return try PrometheusPage(String(decoding: page.body, as: UTF8.self)).samples
  }

  @Test("an upload counts as one until a version has its bytes, though its record stays until it expires")
  func uploads() async throws {
    try await ServerHarness.run { server in
      _ = try await server.publish((0..<2000).map { UInt8(truncatingIfNeeded: $0) })
      let published = try await samples(server)
      _ = try await server.server.components.uploads.create(NewUpload(length: ByteCount(10)), owner: "ada")
      let begun = try await samples(server)
      #expect([published["pullbox_uploads"], begun["pullbox_uploads"]] == [0, 1])
    }
  }

  @Test(
    "build, process, room, database and quota are on the page; without TLS no certificate is",
    .enabled(if: !TestDatabase.isOnServer))
  func house() async throws {
    try await ServerHarness.run(options: ["--storage-quota", "1GiB"]) { server in
      try await server.publish((0..<2000).map { UInt8(truncatingIfNeeded: $0) })
      let page = try await server.client.send(ClientRequest(method: "GET", url: server.api.url("/metrics")))
      let text = String(decoding: page.body, as: UTF8.self)
      let samples = try PrometheusPage(text).samples
      #expect(
        samples.contains {
          $0.key.hasPrefix("pullbox_build_info{version=\"\(ProductVersion.current)\"") && $0.value == 1
        })
      #expect((samples["process_cpu_seconds_total"] ?? 0) > 0)
      let (free, size) = (
        samples["pullbox_filesystem_free_bytes{directory=\"state\"}"] ?? 0,
        samples["pullbox_filesystem_size_bytes{directory=\"state\"}"] ?? 0
      )
      #expect(free > 0 && free < size)
      #expect(samples["pullbox_storage_quota_bytes"] == 1_073_741_824)
      #expect(samples["pullbox_storage_used_bytes"] == 2000)
      #expect((samples["pullbox_database_size_bytes"] ?? 0) > 0)
      #expect((samples["pullbox_database_wait_seconds_count{kind=\"write\"}"] ?? 0) > 0)
      #expect(samples["pullbox_database_write_failing"] == 0)
      #expect(samples["pullbox_metrics_unreadable"] == 0)
      #expect(
        (samples["pullbox_http_request_duration_seconds_count{route=\"/v1/operator/products/{id}\"}"] ?? 0)
          > 0)
      #expect(text.contains("# TYPE pullbox_tls_certificate_expiry_timestamp_seconds gauge"))
      #expect(samples["pullbox_tls_certificate_expiry_timestamp_seconds"] == nil)
    }
  }

  @Test("a reload that failed shows until one succeeds")
  func reload() async throws {
    struct Unreadable: Error {}
    let name = "pullbox_configuration_last_reload_successful"
    try await ServerHarness.run { server in
      let configuration = server.server.configuration
      let start = try await samples(server)
      await server.server.reload { () throws -> DeliveryConfiguration in throw Unreadable() }
      let failed = try await samples(server)
      await server.server.reload { configuration }
      let again = try await samples(server)
      #expect([start[name], failed[name], again[name]] == [1, 0, 1])
    }
  }

  @Test("the page describes these metrics in this order, and its labels stand in theirs")
  func page() async throws {
    try await ServerHarness.run { server in
      try await server.publish((0..<2000).map { UInt8(truncatingIfNeeded: $0) })
      let grant = try await server.grantForPurchase()
      _ = try await server.fetch(grant, headers: [("Range", "bytes=0-999")])
      _ = try await server.fetch(grant, headers: [("Range", "bytes=0-999")])
      let response = try await server.client.send(
        ClientRequest(method: "GET", url: server.api.url("/metrics")))
      let lines = String(decoding: response.body, as: UTF8.self).split(separator: "\n").map(String.init)
      let known = Self.descriptions.split(separator: "\n").map(String.init)
      #expect(lines.filter { known.contains($0) } == known)
      // Requests that the loops answered and those that they deferred are one series.
      #expect(lines.contains("pullbox_http_requests_total{route=\"/v1/content/{digest}\",code=\"206\"} 2"))
      #expect(
        lines.filter { $0.hasPrefix("pullbox_tickets_total") } == [
          "pullbox_tickets_total{kind=\"issued\"} 1", "pullbox_tickets_total{kind=\"renewed\"} 0",
        ])
      #expect(
        lines.filter { $0.hasPrefix("pullbox_http_time_to_first_byte_seconds_bucket") }.last?
          .hasPrefix("pullbox_http_time_to_first_byte_seconds_bucket{le=\"+Inf\"} ") == true)
      for total in [
        "pullbox_delivered_bytes_total 2000", "pullbox_stops_total 0", "pullbox_outbox_oldest_seconds 0",
      ] {
        #expect(lines.contains(total))
      }
    }
  }
}
