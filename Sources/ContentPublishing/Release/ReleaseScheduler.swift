import Commerce
package import ContentDelivery
package import CoreTypes
package import Database
import DeliveryModel
package import DeliveryRecords
import PullboxAPI
import ServiceAPI
package import ServiceRuntime

/// Releases versions when their dates have come. The dates are in the database: what came due while no server
/// ran is released at the next start. Each is released by itself: one that cannot be is logged and tried again, and holds up
/// later ones of its product, which it would else undo, and no other product's. Where the database fails, all wait.
package final class ReleaseScheduler: Sendable {
  /// The wall clock may be set, so it is looked at this often even when no date is near.
  package static let longestPause: Duration = .seconds(60)
  /// Dates that are read at a time.
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
  package init(
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
  package func wake() {
    worker.wake()
  }

  /// Works until the task is cancelled. What fails here (a full disk, say) is logged and tried again.
  package func run() async {
    await withTaskGroup(of: Void.self) { group in
      group.addTask { await self.release() }
      group.addTask {
        // Dates that were set at other nodes.
        let reader = self.database.reader(of: .schedules)
        while await reader.next() != nil { self.worker.wake() }
      }
    }
  }

  private func release() async {
    await worker.run {
      guard try await self.lease?.isHeld() ?? true else { return .pause(atMost: LeaseMachine.duration) }
      let now = self.clock.now()
      try await self.releaseDue(at: now)
      return .pause(atMost: try await self.pauseUntilNext(after: now))
    } onFailure: { [log] error in
      log.error("scheduled releases cannot be made", ["error": LogValue(error)])
    }
  }

  /// Answers how many were released whose dates had come. Throws what keeps all from being released.
  @discardableResult
  func releaseDue() async throws -> Int { try await releaseDue(at: clock.now()) }

  /// Releases what is due at `now`, page by page in the order of the dates. After a failure the product's later
  /// dates wait for the next pass.
  @discardableResult
  private func releaseDue(at now: Timestamp) async throws -> Int {
    var released = 0
    var held: Set<String> = []
    var last = VersionTable.Scheduled.start
    while true {
      let place = last
      let due = try await database.read(waiting: .unlimited) {
        try VersionTable.due(at: now, after: place, limit: Self.batch, in: $0)
      }
      for scheduled in due where !held.contains(scheduled.product) {
        switch try await release(scheduled, at: now) {
        case .released: released += 1
        case .failed: held.insert(scheduled.product)
        case .withdrawn: break
        }
      }
      guard due.count == Self.batch, let end = due.last else { return released }
      last = end
    }
  }

  private enum Attempt {
    case released
    /// It is logged, and tried again with the next pass.
    case failed
    /// Its date was taken away meanwhile.
    case withdrawn
  }

  /// Makes one release in a write of its own. Throws where the database fails, so that all others wait as well.
  private func release(_ scheduled: VersionTable.Scheduled, at now: Timestamp) async throws -> Attempt {
    let late = await lateRelease(scheduled, at: now)
    let outcome: VersionTransition.Outcome?
    do {
      let (transition, basis) = try await transition(of: scheduled, at: now, opening: late)
      outcome = try await database.write(locking: transition.locks(on: basis), waiting: .unlimited) {
        connection in
        try Self.take(transition, on: basis, in: connection)
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
      return .failed
    }
    guard let outcome else { return .withdrawn }
    didChangeCatalog()
    if outcome.hasSettledDebts { didSettleDebts() }
    let record = outcome.record
    log.info(
      "released as scheduled",
      [
        "product": LogValue(record.product), "version": LogValue(record.version),
        "percentage": LogValue(record.percentage ?? 0),
      ])
    return .released
  }

  /// The subscribers to whom the release opens an issue that is dated earlier. A number that cannot be counted holds up no release.
  private func lateRelease(_ scheduled: VersionTable.Scheduled, at now: Timestamp) async -> LateRelease? {
    guard let product = ProductIdentifier(scheduled.product) else { return nil }
    do {
      return try await LateReleaseCounter(database: database).lateRelease(of: product, at: now)
    } catch {
      log.warning(
        "the subscribers to whom a scheduled release opens cannot be counted",
        ["product": LogValue(scheduled.product), "error": LogValue(error)])
      return nil
    }
  }

  /// Reads what the release rests on. Throws ``ColumnTypeMismatch`` for a row that names no version, and the problem of a
  /// product or a version that is not there any more.
  private func transition(
    of scheduled: VersionTable.Scheduled, at now: Timestamp, opening late: LateRelease?
  ) async throws -> (VersionTransition, VersionTransition.Basis) {
    guard let product = ProductIdentifier(scheduled.product), let version = ContentVersion(scheduled.version)
    else { throw ColumnTypeMismatch(column: "version", expected: "a version of a product") }
    let transition = VersionTransition(
      product: product, version: version, actor: AuditTable.serverActor, now: now, lateRelease: late)
    let basis = try await database.read(waiting: .unlimited) {
      try VersionTransition.basis(of: .release(.all), with: product, version, in: $0)
    }
    return (transition, basis)
  }

  /// Takes the step within the write; nil where the date is not there any more. The actor is the key that set
  /// the date.
  private static func take(
    _ transition: VersionTransition, on basis: VersionTransition.Basis, in connection: borrowing Connection
  ) throws -> VersionTransition.Outcome? {
    // A release that came before may have taken this date away.
    let current = try VersionTable.find(transition.product, transition.version, in: connection)
    guard let schedule = current?.machine.schedule, schedule.at <= transition.now else { return nil }
    var transition = transition
    transition.actor = schedule.by
    transition.note = "scheduled for \(schedule.at)"
    return try transition.apply(.release(schedule.share), on: basis, in: connection)
  }

  /// Until the first date after `last`, up to which all were looked at: it may have come meanwhile. What could not be released is
  /// tried again after ``longestPause`` at the latest.
  private func pauseUntilNext(after last: Timestamp) async throws -> Duration {
    guard let next = try await database.read({ try VersionTable.nextDate(after: last, in: $0) }) else {
      return Self.longestPause
    }
    return min(max(next - clock.now(), .milliseconds(10)), Self.longestPause)
  }
}
