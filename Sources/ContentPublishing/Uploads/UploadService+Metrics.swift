import CoreTypes
import Database
import DeliveryRecords
package import Monitoring
import PackageStorage

extension UploadService: MetricSource {
  package nonisolated func register(in metrics: inout MetricRegistry) {
    let database = database
    let uploads: Metric<Int64> = .gauge("pullbox_uploads", help: "Uploads that are no version yet.") { $0 }
    metrics.registerShared([uploads]) {
      try await database.read { try UploadTable.countWithoutVersion(in: $0) }
    }
    let storage: [Metric<(quota: ByteCount?, used: ByteCount?)>] = [
      .gauge("pullbox_storage_quota_bytes", help: "What packages and open uploads may take.", labels: []) {
        $0.quota.map { [.init($0.rawValue)] } ?? []
      },
      .gauge(
        "pullbox_storage_used_bytes", help: "What packages and open uploads take of the quota.", labels: []
      ) { $0.used.map { [.init($0.rawValue)] } ?? [] },
    ]
    metrics.registerShared(storage) {
      let quota = await self.quota
      if let parts = self.parts, quota.quota != nil {
        try await self.measure(parts, ifOlderThan: UploadParts.longestMeasureAge)
      }
      guard let stored = self.shelf.storedLength else { return (quota.quota, nil) }
      guard self.parts == nil else {
        let now = self.clock.now()
        let reserved = try await database.read { try UploadTable.reserved(besides: "", at: now, in: $0) }
        return (quota.quota, stored + reserved)
      }
      return (quota.quota, quota.reservations.values.map(\.share).reduce(stored, +))
    }
  }
}
