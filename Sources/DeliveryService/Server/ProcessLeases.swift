import CoreTypes
import Database
import DeliveryRecords

/// The leases that this process takes, and the name that it takes them under.
struct ProcessLeases: Sendable {
  /// Names this process in leases, and no other one.
  let process: String
  /// The clock that leases go by.
  let clock: any WallClock
  private let database: Database

  init(on infrastructure: DeliveryComponents.Infrastructure) {
    process = infrastructure.node.process
    clock = infrastructure.node.clock
    database = infrastructure.database
  }

  func lease(_ name: String) -> WorkerLease {
    WorkerLease(name, holder: process, database: database, clock: clock)
  }
}
