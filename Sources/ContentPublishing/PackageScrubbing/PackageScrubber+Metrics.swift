import Database
import DeliveryRecords
package import Monitoring

extension PackageScrubber: MetricSource {
  /// Adds the damaged packages, which are the same whichever node tells them, and the checks of this process.
  package nonisolated func register(in metrics: inout MetricRegistry) {
    let database = database
    let damaged: Metric<Int64> = .gauge(
      "pullbox_packages_damaged", help: "Packages of versions that were found missing or damaged."
    ) { $0 }
    metrics.registerShared([damaged]) {
      try await database.read { try PackageCheckTable.countFaults(in: $0) }
    }
    let checks: [Metric<Progress>] = [
      .counter("pullbox_package_checks_total", help: "Packages read to see whether they are whole.") {
        $0.checks
      },
      .gauge("pullbox_packages_waiting_for_check", help: "Packages that are due to be read again.") {
        $0.waiting
      },
      .gauge(
        "pullbox_package_last_check_timestamp_seconds",
        help: "When a package was last read to see whether it is whole, in seconds since the epoch.",
        labels: []
      ) { $0.lastCheck.map { [.init($0)] } ?? [] },
    ]
    metrics.register(checks) { await self.progress }
  }
}
