import Commerce
import CoreTypes
import Database
import PullboxAPI
import ServiceRuntime

/// Releases versions when their dates have come. The dates are in the database: what came due while no server
/// ran is released at the next start. Each is released by itself: one that cannot be is logged and tried again, and holds up
/// no other.
final class ReleaseScheduler: Sendable {
  /// The wall clock may be set, so it is looked at this often even when no date is near.
  static let longestPause: Duration = .seconds(60)
  private static let batch = 32

  private let database: Database
  private let clock: any WallClock
  private let stops: (any ContentBlocking)?
  private let didSettleDebts: @Sendable () -> Void
  private let didChangeCatalog: @Sendable () -> Void
  private let lease: WorkerLease?
  private let log: Log
  private let worker: Worker

  /// `didSettleDebts` is called after a release that fewer devices get than the one before, `didChangeCatalog` after any. Without a lease, no other
  /// process uses the database.
  init(
    database: Database, clock: any WallClock, timer: any MonotonicClock, stops: (any ContentBlocking)?,
    didSettleDebts: @escaping @Sendable () -> Void = {},
    didChangeCatalog: @escaping @Sendable () -> Void = {}, lease: WorkerLease? = nil, log: Log
  ) {
    self.database = database
    self.clock = clock
    self.stops = stops
    self.didSettleDebts = didSettleDebts
    self.didChangeCatalog = didChangeCatalog
    self.lease = lease
    self.log = log
    worker = Worker(clock: timer)
  }

  /// A date was added, changed or taken away.
  func wake() {
    worker.wake()
  }

  /// Works until the task is cancelled. What fails here (a full disk, say) is logged and tried again.
  func run() async {
    await worker.run {
      guard try await self.lease?.isHeld() ?? true else { return .pause(atMost: LeaseMachine.duration) }
      try await self.releaseDue()
      return .pause(atMost: try await self.pauseUntilNext())
    } onFailure: { [log] error in
      log.error("scheduled releases cannot be made", ["error": LogValue(error)])
    }
  }

  /// Answers how many were released whose dates had come. Throws what keeps all from being released.
  @discardableResult
  func releaseDue() async throws -> Int {
    let now = clock.now()
    var released = 0
    var last = VersionTable.Scheduled.start
    while true {
      let place = last
      let due = try await database.read(waiting: .unlimited) {
        try VersionTable.due(at: now, after: place, limit: Self.batch, in: $0)
      }
      for scheduled in due where try await release(scheduled, at: now) { released += 1 }
      guard due.count == Self.batch, let end = due.last else { return released }
      last = end
    }
  }

  /// Whether it was released.
  private func release(_ scheduled: VersionTable.Scheduled, at now: Timestamp) async throws -> Bool {
    let outcome: VersionTransition.Outcome?
    do {
      outcome = try await database.write(locking: [.everything], waiting: .unlimited) { connection in
        try Self.release(scheduled, at: now, in: connection)
      } then: { [stops] outcome in
        if let outcome { stops?.follow(outcome) }
      }
    } catch let error as DatabaseError where error.code != .constraint {
      throw error
    } catch let error as CancellationError {
      throw error
    } catch {
      log.error(
        "a scheduled release cannot be made",
        [
          "product": LogValue(scheduled.product), "version": LogValue(scheduled.version),
          "error": LogValue(error),
        ])
      return false
    }
    guard let outcome else { return false }
    didChangeCatalog()
    if outcome.hasSettledDebts { didSettleDebts() }
    let record = outcome.record
    log.info(
      "released as scheduled",
      [
        "product": LogValue(record.product), "version": LogValue(record.version),
        "percentage": LogValue(record.percentage ?? 0),
      ])
    return true
  }

  private static func release(
    _ scheduled: VersionTable.Scheduled, at now: Timestamp, in connection: borrowing Connection
  ) throws -> VersionTransition.Outcome? {
    guard let product = ProductIdentifier(scheduled.product), let version = ContentVersion(scheduled.version)
    else { throw ColumnTypeMismatch(column: "version", expected: "a version of a product") }
    // A release that came before may have taken this date away.
    let current = try VersionTable.find(product, version, in: connection)
    guard let schedule = current?.machine.schedule, schedule.at <= now else { return nil }
    let transition = VersionTransition(
      product: product, version: version, actor: schedule.by, now: now, note: "scheduled for \(schedule.at)")
    return try transition.apply(.release(schedule.share), in: connection)
  }

  /// What could not be released is tried again after ``longestPause`` at the latest.
  private func pauseUntilNext() async throws -> Duration {
    let now = clock.now()
    guard let next = try await database.read({ try VersionTable.nextDate(after: now, in: $0) }) else {
      return Self.longestPause
    }
    return min(max(next - now, .milliseconds(10)), Self.longestPause)
  }
}
