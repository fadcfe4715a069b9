import BlobStore
package import CoreTypes
package import Crypto
package import Database
import DeliveryModel
package import DeliveryRecords
package import PackageStorage
import PullboxAPI
package import ServiceAPI
package import ServiceRuntime
import SystemCalls

/// Removes what nothing needs: uploads that expired, files that belong to none, blobs that no version and no
/// live grant refers to. A blob goes in three steps, each whole by itself: its row is condemned, its file removed, its row
/// forgotten. A kill at any point leaves what the next run finds and brings to its end.
///
/// A blob is needed, unneeded since a moment, condemned, or gone. Only a blob that was unneeded for the whole
/// grace is condemned, and only a condemned one is removed. A version or upload that needs it before it is
/// condemned makes it needed again. Decision 17 (docs/decisions) has the reasons.
package struct GarbageCollector: Sendable {
  /// The rules of garbage collection that the operator decided.
  package struct Rules: Sendable {
    /// How long a blob must have been unneeded.
    package var grace: Duration = .seconds(86_400)
    /// Whether the bytes of withdrawn versions stay. Otherwise they go once no grant is live; the version's
    /// record stays in any case.
    package var keepsWithdrawn = true

    /// Creates rules; the defaults are those of the configuration.
    package init(grace: Duration = .seconds(86_400), keepsWithdrawn: Bool = true) {
      self.grace = grace
      self.keepsWithdrawn = keepsWithdrawn
    }
  }

  package let database: Database
  /// The packages that are collected.
  package let shelf: any PackageShelf
  /// Held over the three steps of a blob, so that an upload of the same bytes comes before them or after.
  package let locks: PackageLocks
  /// Removes the uploads that expired, and files that belong to none.
  package let uploads: UploadService
  /// Measures the grace, also where the wall clock is set forward.
  package let clock: LifetimeClock
  package let rules: Rules
  /// The lease of the scheduled work; without one, no other process uses the database.
  package var lease: WorkerLease?
  /// Told of every blob that was removed, for what keeps it open.
  package var didRemove: @Sendable (SHA256Digest) -> Void = { _ in }

  /// Creates a collector, which does nothing before it is run. `didRemove` is called on the task of the run,
  /// after the file is gone and while the package's lock is held.
  package init(
    database: Database, shelf: any PackageShelf, locks: PackageLocks, uploads: UploadService,
    clock: LifetimeClock, rules: Rules, lease: WorkerLease? = nil,
    didRemove: @escaping @Sendable (SHA256Digest) -> Void = { _ in }
  ) {
    self.database = database
    self.shelf = shelf
    self.locks = locks
    self.uploads = uploads
    self.clock = clock
    self.rules = rules
    self.lease = lease
    self.didRemove = didRemove
  }

  /// `grace` in place of the operator's. Answers what was removed; with `isDryRun`, what would be. `mayGoOn` is asked before
  /// each removal: the first no ends the run.
  ///
  /// One run does its work in this order: blobs that an earlier run condemned, uploads that expired, files
  /// without an upload, and then what this run finds unneeded. Throws ``DatabaseError``, ``BlobStoreError`` and
  /// what `mayGoOn` throws.
  ///
  /// - Parameters:
  ///   - grace: how long a blob must have been unneeded; nil for the operator's rule.
  ///   - isDryRun: whether the run only reports, and writes nothing at all.
  ///   - actor: the name in the audit log.
  ///   - mayGoOn: asked before each removal.
  package func run(
    grace: Duration? = nil, isDryRun: Bool, by actor: String,
    while mayGoOn: @Sendable () async throws -> Bool = { true }
  ) async throws -> GarbageCollectionReport {
    func newPlan() async throws -> GarbageCollectionPlan {
      GarbageCollectionPlan(
        try await facts(), lifetime: uploads.limits.lifetime, grace: grace ?? rules.grace)
    }
    if isDryRun {
      let plan = try await newPlan()
      return GarbageCollectionReport(
        dryRun: true, uploads: plan.expired + plan.strays, blobs: plan.due, waiting: plan.waiting)
    }
    var removed: (uploads: [GarbageCollectionReport.UploadItem], blobs: [GarbageCollectionReport.BlobItem]) =
      ([], [])
    func removeAll(_ items: [GarbageCollectionReport.BlobItem]) async throws {
      for item in items {
        guard try await mayGoOn() else { return }
        if try await remove(item.digest, length: item.bytes, by: actor) { removed.blobs.append(item) }
      }
    }
    // On a full disk there is no room otherwise to write down what makes room. What was removed by then stays removed.
    let plan = try await database.usingReserve {
      // First: of what is gone already, the plan knows nothing.
      try await removeAll(try await condemned())
      let plan = try await newPlan()
      for item in plan.expired {
        guard try await mayGoOn() else { return plan }
        if try await uploads.removeExpired(item.upload, by: actor) { removed.uploads.append(item) }
      }
      for item in plan.strays {
        guard try await mayGoOn() else { return plan }
        if try await uploads.removeStray(item.upload) { removed.uploads.append(item) }
      }
      guard try await mayGoOn() else { return plan }
      try await mark(plan)
      try await removeAll(plan.due)
      return plan
    }
    await BlockingPool.shared.run { [database] in database.renewReserve() }
    return GarbageCollectionReport(
      dryRun: false, uploads: removed.uploads, blobs: removed.blobs, waiting: plan.waiting)
  }

  /// Removes a blob unless something needs it; whether it did. For what is known to be of no use at once. No
  /// grace counts here, and the audit log has nothing of it. Throws ``DatabaseError`` and ``BlobStoreError``.
  func removeIfUnneeded(_ digest: SHA256Digest) async throws -> Bool {
    try await remove(digest, length: .zero, by: nil)
  }

  /// Reads the files, then the tables in one transaction, which may be some moments apart.
  private func facts() async throws -> GarbageCollectionFacts {
    // Files first: what is begun after they were listed is not taken for a stray.
    let (incoming, stored) = (try await uploads.blobs.listIncoming(), try await shelf.list())
    let ((now, steps), keepsWithdrawn) = (clock.look(), rules.keepsWithdrawn)
    return try await database.read { connection in
      GarbageCollectionFacts(
        now: now, uploads: try UploadTable.all(in: connection), incoming: incoming, blobs: stored,
        needed: try GarbageCollectionTable.needed(keepsWithdrawn: keepsWithdrawn, in: connection),
        unneededSince: try GarbageCollectionTable.unneeded(in: connection), steps: steps)
    }
  }

  /// Writes down since when blobs are unneeded, which begins their grace, and that others are needed again.
  private func mark(_ plan: GarbageCollectionPlan) async throws {
    guard !plan.newlyUnneeded.isEmpty || !plan.noLongerUnneeded.isEmpty else { return }
    let now = clock.now()
    // Whether a blob is needed is decided again before it goes, by what holds then.
    try await database.write(locking: []) { connection in
      for digest in plan.newlyUnneeded { try GarbageCollectionTable.mark(digest, since: now, in: connection) }
      for digest in plan.noLongerUnneeded {
        try GarbageCollectionTable.unmark(digest, keepingCondemned: true, in: connection)
      }
    }
  }

  /// Returns the blobs that an earlier run began to remove.
  private func condemned() async throws -> [GarbageCollectionReport.BlobItem] {
    try await database.read { try GarbageCollectionTable.condemned(in: $0) }.map {
      GarbageCollectionReport.BlobItem(digest: $0.digest, bytes: $0.length, since: $0.since)
    }
  }

  /// Removes the blob unless something needs it, or another process removes it; whether it did. In the audit log where there is an
  /// actor. An upload of the same bytes waits meanwhile, and then puts its own there; one at another node is refused until
  /// then (``PackageRemoval``).
  private func remove(
    _ digest: SHA256Digest, length: ByteCount, by actor: String?
  ) async throws -> Bool {
    try await locks.withLock(digest) {
      let (now, keepsWithdrawn) = (clock.now(), rules.keepsWithdrawn)
      let removal = PackageRemoval(of: digest)
      let isCondemned = try await database.write(locking: [.content(digest)]) { connection in
        if try GarbageCollectionTable.isNeeded(digest, keepsWithdrawn: keepsWithdrawn, in: connection) {
          try GarbageCollectionTable.unmark(digest, in: connection)
          return false
        }
        guard try !RemovalHold.isHeld(at: now, in: connection), try removal.begin(at: now, in: connection)
        else { return false }
        try GarbageCollectionTable.condemn(digest, length: length, at: now, in: connection)
        return true
      }
      guard isCondemned else { return false }
      do throws(BlobStoreError) {
        try await shelf.remove(digest)
      } catch {
        // A store that did not answer may remove it yet: the lease keeps others from putting it there until it ends by itself.
        if error.code != .unreachable {
          // Where that fails as well, the same.
          _ = try? await database.write(locking: [.content(digest)]) { try removal.end(in: $0) }
        }
        // A backup is being taken: the next run finds what is condemned.
        guard error.code == .inUse else { throw error }
        return false
      }
      didRemove(digest)
      return try await database.write(locking: [.content(digest)]) { connection in
        try removal.end(in: connection)
        guard try GarbageCollectionTable.forget(digest, in: connection) else { return false }
        if let actor {
          try AuditTable.add(
            AuditEntry(
              at: now, actor: actor, action: "content.collect", subject: digest.hexadecimal,
              detail: "\(length.rawValue) bytes"), in: connection)
        }
        return true
      }
    }
  }
}

extension GarbageCollector {
  /// Collects again and again until the task is cancelled, for the first time after `interval`, and then that
  /// long after the end of each run; zero never runs. A run that fails is repeated within a
  /// minute, and then less and less often.
  package func run(every interval: Duration, clock: any MonotonicClock, log: Log) async {
    guard interval > .zero else { return }
    let backoff = Backoff(initial: min(.seconds(60), interval), cap: interval)
    await Worker(clock: clock, backoff: backoff).run(every: interval) {
      @Sendable func isHeld() async throws -> Bool { try await lease?.isHeld() ?? true }
      let isHolder = try await isHeld()
      do {
        try await uploads.removeLeftovers(isForAll: isHolder)
      } catch {
        log.warning("what uploads have left behind stays for now", ["error": LogValue(error)])
      }
      guard isHolder else { return }
      // Longer than a lease lasts, perhaps: it is renewed on the way.
      let report = try await run(isDryRun: false, by: AuditTable.serverActor, while: isHeld)
      guard !report.uploads.isEmpty || !report.blobs.isEmpty else { return }
      log.info(
        "collected",
        [
          "uploads": LogValue(report.uploads.count), "blobs": LogValue(report.blobs.count),
          "bytes": LogValue(report.bytes.rawValue),
        ])
    } onFailure: { error in
      log.error("the collection was broken off", ["error": LogValue(error)])
    }
  }
}
