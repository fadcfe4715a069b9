package import CoreTypes
package import Database
import DeliveryRecords
import HTTPServer
import PullboxAPI
import ServiceAPI
package import ServiceRuntime

/// Writes down where wrong operator keys came from: in the audit log, and in the server's log for the operator who
/// watches. One line an address and minute, with the count; under an
/// attack from many addresses one line a minute for all of them (``WrongKeys/reportBurst``).
package struct WrongKeyReporter: Sendable {
  /// The action of the audit log's entries.
  package static let action = "key.refused"
  /// The actor of an entry: who offers a wrong key has no name.
  package static let actor = "unknown"
  private static let interval: Duration = .seconds(1)

  /// The counts that the reports are made of.
  package let wrongKeys: WrongKeys
  /// The database with the audit log.
  package let database: Database
  /// The clock that dates the entries.
  package let clock: any WallClock
  /// The log of the server, which gets the same as a warning.
  package let log: Log

  package init(wrongKeys: WrongKeys, database: Database, clock: any WallClock, log: Log) {
    self.wrongKeys = wrongKeys
    self.database = database
    self.clock = clock
    self.log = log
  }

  /// Works until the task is cancelled.
  package func run(timer: any MonotonicClock) async {
    await Worker(clock: timer).run(every: Self.interval, report) { error in
      log.error("refused operator keys cannot be written down", ["error": LogValue(error)])
    }
  }

  /// Writes down what is due, in one write. Throws ``DatabaseError``; the reports are then due again.
  package func report() async throws {
    let reports = wrongKeys.takeReports()
    guard !reports.isEmpty else { return }
    let now = clock.now()
    let entries = reports.map { report in
      AuditEntry(
        at: now, actor: Self.actor, action: Self.action, subject: Self.text(report),
        detail: Self.detail(report))
    }
    do {
      try await database.write(locking: []) { connection in
        for entry in entries { try AuditTable.add(entry, in: connection) }
      }
    } catch {
      wrongKeys.restore(reports)
      throw error
    }
    for report in reports {
      log.warning(
        "wrong operator keys were offered",
        ["address": LogValue(Self.text(report)), "count": LogValue(report.count)])
    }
  }

  private static func detail(_ report: WrongKeys.Report) -> String {
    let keys = report.count == 1 ? "1 wrong operator key" : "\(report.count) wrong operator keys"
    return report.addresses == 1 ? keys : "\(keys) from \(report.addresses) addresses"
  }

  private static func text(_ report: WrongKeys.Report) -> String {
    report.network?.description ?? "other addresses"
  }
}
