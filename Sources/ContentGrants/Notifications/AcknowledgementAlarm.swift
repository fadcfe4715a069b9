package import Commerce
package import CoreTypes
package import Database
import DeliveryRecords
package import Monitoring
package import ServiceRuntime

/// Says when a store is about to take purchases back because nothing told it of their delivery: a day before, with the
/// device's download still to be completed, or the call to the store refused.
package struct AcknowledgementAlarm: Sendable {
  /// How often it looks, and how often it repeats an alarm that stands.
  package static let interval: Duration = .seconds(3600)

  /// The stores that take back what they are not told of.
  package let stores: [StoreIdentifier]
  /// The database with the purchases that await an acknowledgement.
  package let database: Database
  /// The clock that the stores' time limits are compared with.
  package let clock: any WallClock
  /// Gets the alarms.
  package let log: Log

  /// Creates the alarm; ``run(timer:)`` makes it look.
  package init(stores: [StoreIdentifier], database: Database, clock: any WallClock, log: Log) {
    self.stores = stores
    self.database = database
    self.clock = clock
    self.log = log
  }

  /// Returns how many purchases each store still waits for, in the order of ``stores``, by one read. Throws
  /// ``DatabaseError``.
  func standings() async throws -> [(store: StoreIdentifier, standing: AcknowledgementTable.Standing)] {
    let now = clock.now()
    return try await database.read { connection in
      try stores.map { ($0, try AcknowledgementTable.standing(of: $0, at: now, in: connection)) }
    }
  }

  /// One look; answers the stores that it warned of.
  @discardableResult
  func look() async throws -> [StoreIdentifier] {
    let urgent = try await standings().filter { $0.standing.urgent > 0 }
    for (store, standing) in urgent {
      log.error(
        "purchases are not acknowledged, and their store takes them back within a day",
        [
          "store": LogValue(store), "purchases": LogValue(standing.urgent),
          "first": standing.next.map { LogValue($0) } ?? LogValue(""),
        ])
    }
    return urgent.map(\.store)
  }

  /// Runs until the task is cancelled.
  package func run(timer: any MonotonicClock) async {
    await Worker(clock: timer).run(every: Self.interval) {
      try await look()
    } onFailure: { error in
      log.warning("what is to be acknowledged cannot be counted", ["error": LogValue(error)])
    }
  }
}

extension AcknowledgementAlarm: MetricSource {
  /// Adds the purchases that no call has acknowledged, and those among them whose time is nearly over, by store. Both are counted
  /// when metrics are asked for.
  package func register(in metrics: inout MetricRegistry) {
    typealias Standings = [(store: StoreIdentifier, standing: AcknowledgementTable.Standing)]
    let listed: [Metric<Standings>] = [
      .gauge(
        "pullbox_purchases_unacknowledged",
        help: "Purchases whose delivery the server has still to tell the store.",
        labels: ["store"]
      ) { $0.map { .init($0.standing.waiting, labels: [$0.store.description]) } },
      .gauge(
        "pullbox_purchases_unacknowledged_urgent",
        help: "Those of them that the store takes back within a day.",
        labels: ["store"]
      ) { $0.map { .init($0.standing.urgent, labels: [$0.store.description]) } },
    ]
    metrics.registerShared(listed) { try await standings() }
  }
}
