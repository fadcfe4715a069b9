import ContentGrants
import CoreTypes
import Database
import DeliveryRecords
import Monitoring
import RouteAccess
import ServiceRuntime

/// The upkeep of the server's own records, and the routes by which they are looked at.
struct UpkeepComponents: Sendable {
  private static let optimizationInterval: Duration = .seconds(6 * 3600)

  private let infrastructure: DeliveryComponents.Infrastructure
  let retention: Retention

  init(on infrastructure: DeliveryComponents.Infrastructure, leases: ProcessLeases) {
    self.infrastructure = infrastructure
    let configuration = infrastructure.configuration
    retention = Retention(
      database: infrastructure.database, clock: infrastructure.clock,
      rules: Retention.Rules(
        history: configuration.historyRetention.duration, calls: configuration.callRetention.duration,
        proofs: configuration.storeGrace.duration),
      lease: leases.lease("retention"))
  }

  /// Forgets what is old, until the task is cancelled.
  func forget() async {
    await retention.run(timer: infrastructure.timer, log: infrastructure.log)
  }

  /// Lets the database gather statistics, until the task is cancelled.
  func optimize() async {
    await Worker(clock: infrastructure.timer).run(every: Self.optimizationInterval) {
      try await infrastructure.database.optimize()
    } onFailure: { error in
      infrastructure.log.warning("the database gathered no statistics", ["error": LogValue(error)])
    }
  }

  /// Adds the routes of health and metrics, and those of lists and reports for operators.
  func addRoutes(
    to routes: inout ScopedRoutes, metrics: ServiceMetrics, recorder: DeliveryRecorder,
    server: WeakServerReference
  ) {
    let (database, clock) = (infrastructure.database, infrastructure.clock)
    ServerStatusRoutes(
      state: infrastructure.configuration.state, node: infrastructure.node.name, started: clock.now(),
      server: server, log: infrastructure.log
    ).add(to: &routes)
    ConfigurationRoutes(listing: infrastructure.listing).add(to: &routes)
    OperationsRoutes(database: database, node: infrastructure.node, metrics: metrics).add(to: &routes)
    ListRoutes(
      database: database,
      deliveries: DeliveryLists(database: database, recorder: recorder, clock: clock)
    ).add(to: &routes)
    SalesReportRoutes(database: database, clock: clock).add(to: &routes)
  }
}
