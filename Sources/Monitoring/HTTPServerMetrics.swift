internal import HTTPServer

/// The metrics of the HTTP engine, and of its certificate.
struct HTTPServerMetrics: MetricSource {
  let server: WeakServerReference
  /// Access records that were drained and not written down.
  let lostRecords: @Sendable () -> UInt64

  func register(in metrics: inout MetricRegistry) {
    let server = server
    metrics.register(exchanges + connections + [timeToFirstByte, droppedRecords]) {
      server.server?.statistics() ?? HTTPServerStatistics()
    }
    metrics.register([
      .gauge(
        "pullbox_tls_certificate_expiry_timestamp_seconds",
        help: "When the first certificate of the chain in use ends, in seconds since the epoch.", labels: []
      ) { (server.server?.certificateExpiry).map { [.init($0)] } ?? [] }
    ])
  }

  private var exchanges: [Metric<HTTPServerStatistics>] {
    [
      .counter("pullbox_http_responses_total", help: "Responses begun, by status.", labels: ["code"]) {
        Self.samples($0.responses.map { ($0, $1) })
      },
      .counter("pullbox_http_sent_bytes_total", help: "Bytes of responses behind their heads.") {
        $0.bytesSent
      },
      .counter("pullbox_http_received_bytes_total", help: "Bytes of requests' content.") { $0.bytesReceived },
      .gauge("pullbox_http_active_responses", help: "Responses on their way.") { $0.activeResponses },
    ]
  }

  private var connections: [Metric<HTTPServerStatistics>] {
    [
      .gauge("pullbox_http_connections", help: "Connections that are open.") { $0.openConnections },
      .counter("pullbox_http_connections_accepted_total", help: "Connections ever accepted.") {
        $0.acceptedConnections
      },
      .counter(
        "pullbox_http_connections_rejected_total", help: "Connections turned away, by reason.",
        labels: ["reason"]
      ) {
        Self.samples($0.refusedConnections.map { ("\($0)", $1) })
      },
      .counter(
        "pullbox_http_deadlines_total", help: "Connections ended by a deadline, by which.",
        labels: ["deadline"]
      ) {
        Self.samples($0.deadlinesPassed.map { ("\($0)", $1) })
      },
      .counter("pullbox_http_bodies_aborted_total", help: "Bodies ended by a revocation or withdrawal.") {
        $0.abortedBodies
      },
    ]
  }

  private var timeToFirstByte: Metric<HTTPServerStatistics> {
    .histogram(
      "pullbox_http_time_to_first_byte_seconds",
      help: "From a request's complete head to the first bytes of its response."
    ) {
      .init(
        bounds: LatencyHistogram.bounds, buckets: $0.timeToFirstByte.counts, sum: $0.timeToFirstByte.sum)
    }
  }

  private var droppedRecords: Metric<HTTPServerStatistics> {
    .counter("pullbox_access_records_dropped_total", help: "Requests that the access log has no line of.") {
      $0.droppedRecords + lostRecords()
    }
  }

  /// One sample a key, in the order of the keys.
  private static func samples<Key: Comparable & LosslessStringConvertible>(
    _ counts: [(Key, some BinaryInteger)]
  ) -> [Metric<HTTPServerStatistics>.Sample] {
    counts.sorted { $0.0 < $1.0 }.map { .init($0.1, labels: [String($0.0)]) }
  }
}
