import AgentRecords
import ContentLibrary
import CoreTypes
import Files
import ServiceRuntime
import SystemCalls

/// Looks whether the library is there and has room, when the kernel tells that it may have gone, and now and then: no service is asked, and
/// no delay is waited for. What waited for the library or for room goes on, and what freed memory holds goes back to the system on the
/// same occasion.
struct LibraryWatch: Sendable {
  /// Between two looks while something waits, while nothing does, and while nothing does and the kernel tells.
  static let intervals: (waiting: Duration, quiet: Duration, told: Duration) = (
    .seconds(2), .seconds(10), .seconds(20)
  )
  /// The pause behind a word of the kernel, which tells in bursts; it doubles while looks find nothing.
  private static let pauseOfBurst: (first: Duration, last: Duration) = (.milliseconds(200), .seconds(10))

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

  /// The library at a look.
  private struct Look {
    var isOnline = false
    /// The jobs for which there is room.
    var jobs: [ContentJobIdentifier] = []
    /// The kernel's word from here on; nil where the library is away or the kernel gives none.
    var watch: DisappearanceWatch?
  }

  /// Until the task is cancelled. A look that fails is logged, and the next one comes after the usual time.
  func run() async {
    // As it was at the start is not known here: it may have come back since.
    var wasOnline: Bool?
    var watch: DisappearanceWatch?
    var needs = DownloadManager.LibraryNeeds()
    let mayHaveGone = AsyncSignal()
    var pauseOfBurst = Self.pauseOfBurst.first
    while !Task.isCancelled {
      var change: Bool?
      var jobs: [ContentJobIdentifier] = []
      do {
        // One call, since each wakes a thread up.
        let seen = try await BlockingPool.shared.run { [watch, needs] () throws -> Look in
          // Between two downloads; within one the same memory is needed again at once.
          if !needs.isTransferring { Heap.trim() }
          return try look(watch, mayHaveGone)
        }
        if seen.isOnline != wasOnline { change = seen.isOnline }
        (wasOnline, watch, jobs) = (seen.isOnline, seen.watch, seen.jobs)
        if seen.isOnline { await library.emptyTrashLeft() }
      } catch {
        log.warning("the library cannot be looked at", ["error": LogValue(error)])
      }
      pauseOfBurst = change == nil ? min(pauseOfBurst * 2, Self.pauseOfBurst.last) : Self.pauseOfBurst.first
      needs = await downloads.noteLook(change: change, room: jobs)
      await licenses.noteTime()
      let pause =
        needs.isWaited || wasOnline != true
        ? Self.intervals.waiting : watch == nil ? Self.intervals.quiet : Self.intervals.told
      guard await mayHaveGone.wait(atMost: pause, clock: clock) else {
        pauseOfBurst = Self.pauseOfBurst.first
        continue
      }
      // Another directory may have its place.
      watch = nil
      // Cancelled at the end of the agent alone.
      guard (try? await clock.sleep(for: pauseOfBurst)) != nil else { return }
    }
  }

  /// Blocks.
  private func look(_ watch: DisappearanceWatch?, _ mayHaveGone: AsyncSignal) throws -> Look {
    // The records need not lie where the library does.
    library.database.renewReserve()
    library.dropIdleManifest()
    // Begun before the look, so that nothing is missed between the two.
    let watch = watch ?? library.watchDisappearance { mayHaveGone.signal() }
    guard try library.look() == .online else { return Look() }
    return Look(isOnline: true, jobs: try library.space.jobsWithRoom(), watch: watch)
  }
}
