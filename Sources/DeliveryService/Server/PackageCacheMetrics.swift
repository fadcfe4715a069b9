import CoreTypes
import Monitoring
import PackageStorage

/// The figures of the cache of packages; zeros where packages lie in the state directory and there is none.
struct PackageCacheMetrics: MetricSource {
  let cache: PackageCache?

  func register(in metrics: inout MetricRegistry) {
    let figures: [Metric<PackageCacheFigures>] = [
      .gauge("pullbox_package_cache_bytes", help: "Room that the cache of packages takes.") {
        $0.allocated.rawValue
      },
      .gauge("pullbox_package_cache_packages", help: "Packages of which the cache has something.") {
        Int64($0.packages)
      },
      .gauge("pullbox_package_cache_fetches", help: "Parts of packages that are being fetched.") {
        Int64($0.fetches)
      },
      .gauge("pullbox_package_cache_waiting", help: "Responses that wait for parts of packages.") {
        Int64($0.waits)
      },
      .counter("pullbox_package_cache_fetched_bytes_total", help: "Bytes that were fetched and were right.") {
        $0.fetchedBytes.rawValue
      },
      .counter("pullbox_package_cache_mismatches_total", help: "Fetched pieces that had other bytes.") {
        Int64($0.mismatchedPieces)
      },
      .counter("pullbox_package_cache_evictions_total", help: "Blocks that were given up for others.") {
        Int64($0.evictedBlocks)
      },
    ]
    metrics.register(figures) { [cache] in cache?.figures ?? PackageCacheFigures() }
  }
}
