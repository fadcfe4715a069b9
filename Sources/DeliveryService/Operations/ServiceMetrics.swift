import HTTPServer
import Synchronization

/// The page behind `/metrics`: what the HTTP engine counted, the requests of all routes, and what each part of
/// the service counts.
///
/// A part that counts something is a ``MetricSource``: it names its metrics itself, in the file where it counts
/// them, and the page renders whatever is registered. The sources stand in the order of the page.
///
///     let metrics = ServiceMetrics(
///       routes: RouteMetrics(), accessLog: accessLog, statistics: { server.statistics() },
///       sources: [recorder, tickets, revocations])
///     let text = try await metrics.page()  // "# HELP pullbox_http_responses_total …"
///
/// A new metric needs no change here: its owner registers it, and `docs/delivery.md` lists it.
struct ServiceMetrics: Sendable {
  let routes: RouteMetrics
  private let registry: MetricRegistry

  init(
    routes: RouteMetrics, accessLog: AccessLog?,
    statistics: @escaping @Sendable () -> HTTPServerStatistics, sources: [any MetricSource]
  ) {
    self.routes = routes
    var registry = MetricRegistry()
    let engine = EngineMetrics(accessLog: accessLog, statistics: statistics)
    let all: [any MetricSource] = [engine, routes] + sources
    for source in all { source.register(in: &registry) }
    self.registry = registry
  }

  /// The page, in version 0.0.4 of the text format. Throws what a source throws that reads the database.
  func page() async throws -> String { try await registry.page() }
}

/// What the HTTP engine counts, and the access log beside it.
private struct EngineMetrics: MetricSource {
  let accessLog: AccessLog?
  let statistics: @Sendable () -> HTTPServerStatistics

  func register(in metrics: inout MetricRegistry) {
    metrics.register(exchanges + connections + [timeToFirstByte, droppedRecords], snapshot: statistics)
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
        bounds: LatencyHistogram.bounds.map { Double($0) / 1e9 }, buckets: $0.timeToFirstByte.counts,
        sum: Double($0.timeToFirstByte.sum) / 1e9)
    }
  }

  private var droppedRecords: Metric<HTTPServerStatistics> {
    .counter("pullbox_access_records_dropped_total", help: "Requests that the access log has no line of.") {
      $0.droppedRecords + (accessLog?.lostLines ?? 0)
    }
  }

  /// One sample a key, in the order of the keys.
  private static func samples<Key: Comparable & LosslessStringConvertible>(
    _ counts: [(Key, some BinaryInteger)]
  ) -> [Metric<HTTPServerStatistics>.Sample] {
    counts.sorted { $0.0 < $1.0 }.map { .init($0.1, labels: [String($0.0)]) }
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

  /// The server's statistics; empty ones before there is a server.
  var statistics: HTTPServerStatistics {
    reference.withLock { $0.server }?.statistics() ?? HTTPServerStatistics()
  }
}
