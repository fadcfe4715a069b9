import CoreTypes
import Database
import PullboxAPI
import ServiceRuntime

/// Releases versions when their dates have come. The dates are in the database: what came due while no server
/// ran is released at the next start.
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
      if try await self.releaseDue() == Self.batch { return .again }
      return .pause(atMost: try await self.pauseUntilNext())
    } onFailure: { [log] error in
      log.error("scheduled releases cannot be made", ["error": LogValue(error)])
    }
  }

  /// Answers how many dates had come.
  func releaseDue() async throws -> Int {
    let now = clock.now()
    let outcomes = try await database.write(locking: [.everything], waiting: .unlimited) { connection in
      try VersionTable.due(at: now, limit: Self.batch, in: connection).compactMap { record in
        try Self.release(record, at: now, in: connection)
      }
    } then: { [stops] outcomes in
      for outcome in outcomes { stops?.follow(outcome) }
    }
    if !outcomes.isEmpty { didChangeCatalog() }
    for outcome in outcomes {
      if outcome.hasSettledDebts { didSettleDebts() }
      let record = outcome.record
      log.info(
        "released as scheduled",
        [
          "product": LogValue(record.product), "version": LogValue(record.version),
          "percentage": LogValue(record.percentage ?? 0),
        ])
    }
    return outcomes.count
  }

  private static func release(
    _ record: VersionRecord, at now: Timestamp, in connection: borrowing Connection
  ) throws -> VersionTransition.Outcome? {
    // A release that came before may have taken this date away.
    let current = try VersionTable.find(record.product, record.version, in: connection)
    guard let schedule = current?.machine.schedule, schedule.at <= now else { return nil }
    let transition = VersionTransition(
      product: record.product, version: record.version, actor: schedule.by, now: now,
      note: "scheduled for \(schedule.at)")
    return try transition.apply(.release(schedule.share), in: connection)
  }

  private func pauseUntilNext() async throws -> Duration {
    guard let next = try await database.read({ try VersionTable.nextDate(in: $0) }) else {
      return Self.longestPause
    }
    return min(max(next - clock.now(), .milliseconds(10)), Self.longestPause)
  }
}
