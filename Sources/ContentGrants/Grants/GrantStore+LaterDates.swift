package import CoreTypes
import Database
import DeliveryRecords
import Monitoring
package import ServiceRuntime

extension GrantStore {
  /// How often the dates of repeated answers are written: what a process that is killed had heard in that time is not known to
  /// the next one. Other nodes that share the database know them sooner.
  var datesInterval: Duration { database.isShared ? .seconds(1) : .seconds(60) }
  /// Dates in one write, so that others get their turn.
  private static let datesBatch = 500

  /// Writes down as of when stores have repeated what is known. ``datesBatch`` dates share a write, which locks
  /// their transactions. Throws ``DatabaseError``; the dates that were not written are kept for the next call.
  package func writeLaterDates() async throws {
    while true {
      let part = laterDates.unwritten(limit: Self.datesBatch)
      guard !part.isEmpty else { return laterDates.forgetOld() }
      try await database.write(locking: part.map { .transaction($0.key) }) { connection in
        for dates in part { try LedgerTable.setDates(dates, in: connection) }
      }
      laterDates.confirm(part)
    }
  }

  /// Does so until the task is cancelled. On a disk that cannot be written the dates are kept. The caller
  /// writes once more when the server stops.
  package func keepLaterDates(timer: any MonotonicClock, log: Log) async {
    await Worker(clock: timer).run(every: datesInterval) {
      try await writeLaterDates()
    } onFailure: { error in
      log.warning("the dates of what stores repeated cannot be written", ["error": LogValue(error)])
    }
  }
}
