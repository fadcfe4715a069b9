import CoreTypes
import Database
import DeliveryModel
import DeliveryRecords
import RouteAccess
import ServiceRuntime
import Synchronization

/// Forgets what is old and of no use any more: histories of finished grants, calls that stores have taken, runs of the
/// server, notifications that no store tells of again, answers by idempotency keys. The audit log is kept for
/// ever. docs/configuration.md has the times, and decision 31 (docs/decisions) says what goes and what stays.
struct Retention: Sendable {
  /// The retention times that the operator decided; zero keeps for ever.
  struct Rules: Sendable {
    /// How long histories and runs are kept.
    var history: Duration
    /// How long calls are kept that a store has taken.
    var calls: Duration
    /// How long proofs are remembered that a store has vouched for.
    var proofs: Duration
  }

  /// How often all that is old is looked at again, and not only what has become old.
  static let walkInterval: Duration = .seconds(86_400)

  /// How often there is a look at what has become old.
  static let interval: Duration = .seconds(3600)

  /// How long an irregularity is listed that is not seen again.
  static let irregularities: Duration = .seconds(365 * 86_400)

  let database: Database
  let clock: any WallClock
  /// The times that count; the same for as long as the process runs.
  let rules: Rules
  /// Without one, no other process uses the database.
  var lease: WorkerLease?
  /// Shared by all copies of this value; a process that starts begins every walk anew.
  private let walks = RetentionWalks()

  /// Forgets all that is old now, a few rows in each transaction. Throws ``DatabaseError`` and
  /// `CancellationError`; what was forgotten by then stays so.
  func run() async throws {
    let now = clock.now()
    if rules.history > .zero {
      let cutoff = now - rules.history
      try await forget(.events, at: now) {
        try RetentionTable.forgetEvents(before: cutoff, after: $0, now: now, in: $1)
      }
      // The exemption from counts rests on runs.
      let oldest = min(cutoff, now - ServerRunTable.grace)
      try await forget(.runs, at: now) { try RetentionTable.forgetRuns(before: oldest, after: $0, in: $1) }
    }
    let excess = try await database.read { try RememberedProofTable.excess(in: $0) }
    let oldest = excess.map { max($0, now - rules.proofs) } ?? now - rules.proofs
    try await sweep {
      try RememberedProofTable.sweep(before: oldest, limit: RetentionTable.batch, in: $0)
    }
    try await sweep {
      try CustomerTable.forgetDevices(
        silentSince: now - StoreRules.silence, limit: RetentionTable.batch, in: $0)
    }
    try await sweep {
      try IrregularityTable.forget(
        before: now - Self.irregularities, limit: RetentionTable.batch, in: $0)
    }
    try await sweep {
      try FeedingTable.forget(before: now - StoreRules.feedingWindow, limit: RetentionTable.batch, in: $0)
    }
    try await sweep {
      try NotificationTable.forget(
        before: now - NotificationTable.memory, limit: RetentionTable.batch, in: $0)
    }
    try await sweep {
      try IdempotentAnswerTable.remove(
        before: now - IdempotentAnswers.lifetime, limit: RetentionTable.batch, in: $0)
    }
    try await sweep {
      try ConsoleSessionTable.forget(
        createdBefore: now - ConsoleSessionTable.lifetime, usedBefore: now - ConsoleSessionTable.patience,
        limit: RetentionTable.batch, in: $0)
    }
    try await sweep {
      try ApprovalTable.expire(at: now, in: $0)
      return try ApprovalTable.forget(
        before: now - ApprovalTable.memory, limit: RetentionTable.batch, in: $0)
    }
    try await sweep {
      try DeliveredHoursTable.forget(
        before: now - DeliveredHoursTable.memory, limit: RetentionTable.batch, in: $0)
    }
    try await sweep {
      try StopLog.forget(before: now - StopLog.memory, limit: RetentionTable.batch, in: $0)
    }
    if rules.calls > .zero {
      let cutoff = now - rules.calls
      try await forget(.calls, at: now) {
        try RetentionTable.forgetCalls(doneBefore: cutoff, after: $0, in: $1)
      }
    }
  }

  /// Calls `batch` in writes of its own until it says that nothing is left. Its statements say of each row why it goes.
  private func sweep(
    _ batch: @escaping @Sendable (borrowing Connection) throws -> Bool
  ) async throws {
    while try await database.write(locking: [], batch) { try Task.checkCancellation() }
  }

  /// Goes on where the last walk came to what was young; once in ``walkInterval`` from the beginning, for what was kept then
  /// because something needed it.
  private func forget(
    _ rows: RetentionWalks.Rows, at now: Timestamp,
    _ batch:
      @escaping @Sendable (RetentionTable.Position, borrowing Connection) throws -> RetentionTable.Position?
  ) async throws {
    let begin = walks.begin(rows, at: now)
    var (last, position): (RetentionTable.Position, RetentionTable.Position?) = (begin, begin)
    while let place = position {
      try Task.checkCancellation()
      position = try await database.write(locking: []) { try batch(place, $0) }
      // The last batch may have held young rows: the next walk looks at it again.
      if position != nil { last = place }
    }
    walks.end(rows, at: last)
  }

  /// Runs until the task is cancelled. What fails is logged, and tried again.
  func run(timer: any MonotonicClock, log: Log) async {
    await Worker(clock: timer).run(every: Self.interval) {
      guard try await lease?.isHeld() ?? true else { return }
      try await run()
    } onFailure: { error in
      log.warning("what is old could not be forgotten", ["error": LogValue(error)])
    }
  }
}

/// Where the last walks over rows that are kept in part came to what is young.
private final class RetentionWalks: Sendable {
  /// The kinds of rows of which some stay although they are old: a walk that began at the oldest each time
  /// would look at those again and again.
  enum Rows: Hashable, Sendable {
    case events
    case runs
    case calls
  }

  /// Where one kind's walk stands.
  private struct Walk {
    /// The time at which the last walk from the beginning began.
    var begun: Timestamp
    /// The place before the last batch that returned a position: it may have held young rows, and is looked at
    /// again.
    var position: RetentionTable.Position
  }

  private let walks = Mutex<[Rows: Walk]>([:])

  /// Returns where the walk begins: where the last one ended, or at the beginning once in
  /// ``Retention/walkInterval`` and after a clock was set back.
  func begin(_ rows: Rows, at now: Timestamp) -> RetentionTable.Position {
    walks.locked { walks in
      if let walk = walks[rows], now >= walk.begun, now - walk.begun < Retention.walkInterval {
        return walk.position
      }
      walks[rows] = Walk(begun: now, position: RetentionTable.Position())
      return RetentionTable.Position()
    }
  }

  /// Keeps where the walk ended, for the next one.
  func end(_ rows: Rows, at position: RetentionTable.Position) {
    walks.locked { $0[rows]?.position = position }
  }
}
