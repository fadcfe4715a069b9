import CoreTypes
import Database
import ServiceRuntime

/// Forgets what is old and of no use any more: histories of finished grants, calls that stores have taken, runs of the
/// server, notifications that no store tells of again. The audit log is kept for ever.
struct Retention: Sendable {
  /// What the operator decided; zero keeps for ever.
  struct Rules: Sendable {
    /// How long histories and runs are kept.
    var history: Duration
    /// How long calls are kept that a store has taken.
    var calls: Duration
    /// How long proofs are remembered that a store has vouched for.
    var proofs: Duration
  }

  /// How often there is a look at what has become old.
  static let interval: Duration = .seconds(3600)

  /// How long an irregularity is listed that is not seen again.
  static let irregularities: Duration = .seconds(365 * 86_400)

  let database: Database
  let clock: any WallClock
  let rules: Rules
  /// Without one, no other process uses the database.
  var lease: WorkerLease?

  /// Forgets all that is old now, a few rows in each transaction.
  func run() async throws {
    let now = clock.now()
    if rules.history > .zero {
      let cutoff = now - rules.history
      try await forget { try RetentionTable.forgetEvents(before: cutoff, after: $0, in: $1) }
      // The exemption from counts rests on runs.
      let oldest = min(cutoff, now - ServerRunTable.grace)
      try await forget { try RetentionTable.forgetRuns(before: oldest, after: $0, in: $1) }
    }
    try await sweep {
      try RememberedProofTable.sweep(before: now - rules.proofs, limit: RetentionTable.batch, in: $0)
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
    if rules.calls > .zero {
      let cutoff = now - rules.calls
      try await forget { try RetentionTable.forgetCalls(doneBefore: cutoff, after: $0, in: $1) }
    }
  }

  private func sweep(
    _ batch: @escaping @Sendable (borrowing Connection) throws -> Bool
  ) async throws {
    while try await database.write(locking: [.everything], batch) { try Task.checkCancellation() }
  }

  private func forget(
    _ batch:
      @escaping @Sendable (RetentionTable.Position, borrowing Connection) throws -> RetentionTable.Position?
  ) async throws {
    var position: RetentionTable.Position? = RetentionTable.Position()
    while let place = position {
      try Task.checkCancellation()
      position = try await database.write(locking: [.everything]) { try batch(place, $0) }
    }
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
