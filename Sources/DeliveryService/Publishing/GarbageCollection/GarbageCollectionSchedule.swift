import CoreTypes
import PullboxAPI
import ServiceRuntime

/// Collects again and again while the server runs.
struct GarbageCollectionSchedule: Sendable {
  let collector: GarbageCollector
  /// From the end of one run to the start of the next; zero never runs.
  let interval: Duration
  let timer: any MonotonicClock
  let log: Log

  /// Returns when the task is cancelled.
  func run() async {
    guard interval > .zero else { return }
    while !Task.isCancelled {
      do {
        try await timer.sleep(for: interval)
      } catch {
        return
      }
      do {
        let report = try await collector.run(isDryRun: false, by: GarbageCollector.actor)
        guard !report.uploads.isEmpty || !report.blobs.isEmpty else { continue }
        log.info(
          "collected",
          [
            "uploads": LogValue(report.uploads.count), "blobs": LogValue(report.blobs.count),
            "bytes": LogValue(report.bytes.rawValue),
          ])
      } catch {
        log.error("the collection was broken off", ["error": LogValue(error)])
      }
    }
  }
}
