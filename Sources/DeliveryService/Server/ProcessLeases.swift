import CoreTypes
import Crypto
import Database
import DeliveryRecords

/// The leases that this process takes, and the name that it takes them under.
struct ProcessLeases: Sendable {
  /// Names this process in leases. No other process has this name, whatever it calls its node.
  let process: String
  private let database: Database
  private let clock: any WallClock

  /// Throws ``ConfigurationError`` for a node without a name that can be used.
  init(on infrastructure: DeliveryComponents.Infrastructure) throws {
    process = "\(try infrastructure.configuration.nodeName()) \(RandomBytes.token(bits: 64))"
    database = infrastructure.database
    clock = infrastructure.clock
  }

  func lease(_ name: String) -> WorkerLease {
    WorkerLease(name, holder: process, database: database, clock: clock)
  }
}
