package import ContentDelivery
package import CoreTypes
package import Database
import DeliveryRecords
import ServiceRuntime
import Synchronization

/// Ends the bodies under way of keys that are removed: at once where this process hears of it, and within ``interval`` where another node
/// did.
package final class ReaderBodies: Sendable {
  /// The time between two looks at the keys whose bodies run.
  package static let interval: Duration = .seconds(20)
  /// Looks without a body after which a key is forgotten: a request that was admitted before may begin its body after the first.
  static let patience = 3

  private struct Entry {
    /// The key's device, as meters know it.
    var device: UInt64
    var quietLooks = 0
  }

  private let database: Database
  private let revocations: RevocationList
  private let entries = Mutex<[String: Entry]>([:])

  package init(database: Database, revocations: RevocationList) {
    self.database = database
    self.revocations = revocations
  }

  /// A body is about to be sent for the key.
  func note(_ key: ReaderKey) {
    let device = Ticket.tag(of: key.device)
    entries.locked { $0[key.name] = Entry(device: device) }
  }

  /// Ends the bodies of keys that are there no more. Throws what the database throws.
  package func look() async throws {
    let busy = revocations.devicesWithBodies()
    let running = entries.locked { entries in
      for (name, entry) in entries {
        let quietLooks = busy.contains(entry.device) ? 0 : entry.quietLooks + 1
        entries[name] = quietLooks > Self.patience ? nil : Entry(device: entry.device, quietLooks: quietLooks)
      }
      return entries.filter { busy.contains($0.value.device) }
    }
    guard !running.isEmpty else { return }
    let removed = try await database.read { connection in
      try running.filter { try ReaderKeyTable.find($0.key, in: connection) == nil }
    }
    for entry in removed.values { revocations.endBodies(ofDevice: entry.device) }
  }

  /// Looks until the task is cancelled.
  package func run(timer: any MonotonicClock, onFailure: @Sendable (any Error) -> Void) async {
    await Worker(clock: timer).run(
      {
        try await self.look()
        return .pause(atMost: Self.interval)
      }, onFailure: onFailure)
  }
}
