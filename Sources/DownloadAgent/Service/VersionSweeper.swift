import ContentLibrary
import CoreTypes
import PullboxAPI
import ServiceRuntime

/// Removes versions that later ones have replaced for long enough: when the agent starts, once an hour, when something was placed, and when a
/// program has closed one.
struct VersionSweeper: Sendable {
  /// Between two looks while nothing happens.
  static let interval: Duration = .seconds(3600)
  /// How long a version stays unless the configuration says otherwise.
  static let standard: Duration = .seconds(7 * 86_400)

  /// The library with the versions.
  let library: Library
  /// Knows the products that something is under way for: of these nothing is removed.
  let downloads: DownloadManager
  /// The hub that hears of what was removed.
  let hub: EventHub
  /// How long a version stays that a later one has replaced.
  let keeps: Duration
  /// The clock of the intervals.
  let clock: any MonotonicClock
  /// The log of looks that fail.
  let log: Log

  /// Until the task is cancelled. A look that fails is logged, and the next one comes after the usual time.
  func run() async {
    while !Task.isCancelled {
      do {
        let busy = await downloads.unfinishedProducts()
        for item in try await library.removeReplaced(after: keeps, except: busy) {
          hub.publish(.library(LibraryEvent(change: .removed, item: item)))
        }
      } catch {
        log.warning("versions that were replaced cannot be removed", ["error": LogValue(error)])
      }
      await library.leases.wakeUp.wait(atMost: Self.interval, clock: clock)
    }
  }
}
