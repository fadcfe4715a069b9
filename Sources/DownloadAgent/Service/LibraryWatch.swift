import AgentRecords
import ContentLibrary
import CoreTypes
import ServiceRuntime
import SystemCalls

/// Looks now and then whether the library is there and has room, and lets go on what waited for that: no service is asked, and
/// no delay is waited for. What freed memory holds goes back to the system on the same occasion.
struct LibraryWatch: Sendable {
  /// Between two looks while something waits, and otherwise.
  static let intervals: (waiting: Duration, quiet: Duration) = (.seconds(2), .seconds(10))

  /// The library that is looked at.
  let library: Library
  /// The manager that is told of changes.
  let downloads: DownloadManager
  /// The keeper of the time that licenses are measured by, which is saved on the same occasion.
  let licenses: LicenseKeeper
  /// The clock of the intervals.
  let clock: any MonotonicClock
  /// The log of looks that fail.
  let log: Log

  /// Until the task is cancelled. A look that fails is logged, and the next one comes after the usual time.
  func run() async {
    // As it was at the start is not known here: it may have come back since.
    var wasOnline: Bool?
    while !Task.isCancelled {
      do {
        // One call, since each wakes a thread up.
        let (isOnline, jobs) = try await BlockingPool.shared.run {
          [library] () -> (Bool, [ContentJobIdentifier]) in
          // The records need not lie where the library does.
          library.database.renewReserve()
          library.dropIdleManifest()
          guard try library.look() == .online else { return (false, []) }
          library.emptyTrashLeft()
          return (true, try library.space.jobsWithRoom())
        }
        if isOnline != wasOnline { await downloads.libraryChanged(isOnline: isOnline) }
        wasOnline = isOnline
        if !jobs.isEmpty { await downloads.roomAppeared(for: jobs) }
      } catch {
        log.warning("the library cannot be looked at", ["error": LogValue(error)])
      }
      await downloads.lookAtClock()
      await licenses.noteTime()
      // Between two downloads; within one the same memory is needed again at once.
      if await !downloads.isTransferring { await BlockingPool.shared.run { Heap.trim() } }
      let isWaited = await downloads.waitsForLibrary
      do {
        try await clock.sleep(
          for: isWaited || wasOnline != true ? Self.intervals.waiting : Self.intervals.quiet)
      } catch {
        return
      }
    }
  }
}
