import BlobStore
import CoreTypes
import Crypto
import Database
import PullboxAPI
import ServiceRuntime
import SystemCalls

/// Removes what nothing needs: uploads that expired, files that belong to none, blobs that no version and no
/// live grant refers to. A kill at any point leaves things that the next run finds again.
struct GarbageCollector: Sendable {
  /// What the operator decided.
  struct Rules: Sendable {
    /// How long a blob must have been unneeded.
    var grace: Duration = .seconds(86_400)
    /// Whether the bytes of withdrawn versions stay. Otherwise they go once no grant is live; the version's
    /// record stays in any case.
    var keepsWithdrawn = true
  }

  let database: Database
  let blobs: BlobStore
  let uploads: UploadService
  let clock: LifetimeClock
  let rules: Rules
  /// Told of every blob that was removed, for what keeps it open.
  var didRemove: @Sendable (SHA256Digest) -> Void = { _ in }

  /// `grace` in place of the operator's. Answers what was removed; with `isDryRun`, what would be.
  func run(grace: Duration? = nil, isDryRun: Bool, by actor: String) async throws -> GarbageCollectionReport {
    let plan = GarbageCollectionPlan(
      try await facts(), lifetime: uploads.limits.lifetime, grace: grace ?? rules.grace)
    if isDryRun {
      return GarbageCollectionReport(
        dryRun: true, uploads: plan.expired + plan.strays, blobs: plan.due, waiting: plan.waiting)
    }
    // On a full disk there is no room otherwise to write down what makes room.
    await BlockingPool.shared.run { [database] in database.releaseReserve() }
    var removed: (uploads: [GarbageCollectionReport.UploadItem], blobs: [GarbageCollectionReport.BlobItem]) =
      ([], [])
    for item in plan.expired where try await uploads.removeExpired(item.upload, by: actor) {
      removed.uploads.append(item)
    }
    for item in plan.strays where try await uploads.removeStray(item.upload) { removed.uploads.append(item) }
    try await mark(plan)
    for item in plan.due where try await remove(item, by: actor) { removed.blobs.append(item) }
    await BlockingPool.shared.run { [database] in database.renewReserve() }
    return GarbageCollectionReport(
      dryRun: false, uploads: removed.uploads, blobs: removed.blobs, waiting: plan.waiting)
  }

  /// Removes a blob unless something needs it; whether it did. For what is known to be of no use at once.
  func removeIfUnneeded(_ digest: SHA256Digest) async throws -> Bool {
    let (blobs, keepsWithdrawn) = (blobs, rules.keepsWithdrawn)
    let isRemoved = try await database.write(locking: [.content(digest)]) { connection in
      guard try !GarbageCollectionTable.isNeeded(digest, keepsWithdrawn: keepsWithdrawn, in: connection)
      else {
        return false
      }
      return try blobs.removeBlocking(digest)
    }
    if isRemoved { didRemove(digest) }
    return isRemoved
  }

  private func facts() async throws -> GarbageCollectionFacts {
    // Files first: what is begun after they were listed is not taken for a stray.
    let (incoming, stored) = (try await blobs.listIncoming(), try await blobs.list())
    let ((now, steps), keepsWithdrawn) = (clock.look(), rules.keepsWithdrawn)
    return try await database.read { connection in
      GarbageCollectionFacts(
        now: now, uploads: try UploadTable.all(in: connection), incoming: incoming, blobs: stored,
        needed: try GarbageCollectionTable.needed(keepsWithdrawn: keepsWithdrawn, in: connection),
        unneededSince: try GarbageCollectionTable.unneeded(in: connection), steps: steps)
    }
  }

  private func mark(_ plan: GarbageCollectionPlan) async throws {
    guard !plan.newlyUnneeded.isEmpty || !plan.noLongerUnneeded.isEmpty else { return }
    let now = clock.now()
    try await database.write(locking: [.everything]) { connection in
      for digest in plan.newlyUnneeded { try GarbageCollectionTable.mark(digest, since: now, in: connection) }
      for digest in plan.noLongerUnneeded { try GarbageCollectionTable.unmark(digest, in: connection) }
    }
  }

  /// The question and the removal are one transaction, and everything that begins to need a blob is one as
  /// well: an upload of the same bytes either finds the blob and keeps it, or finds it gone and puts its own
  /// there.
  private func remove(_ item: GarbageCollectionReport.BlobItem, by actor: String) async throws -> Bool {
    let (blobs, now, keepsWithdrawn) = (blobs, clock.now(), rules.keepsWithdrawn)
    let isRemoved = try await database.write(locking: [.content(item.digest)]) { connection in
      let digest = item.digest
      try GarbageCollectionTable.unmark(digest, in: connection)
      if try GarbageCollectionTable.isNeeded(digest, keepsWithdrawn: keepsWithdrawn, in: connection) {
        return false
      }
      try AuditTable.add(
        AuditEntry(
          at: now, actor: actor, action: "content.collect", subject: digest.hexadecimal,
          detail: "\(item.bytes.rawValue) bytes"), in: connection)
      return try blobs.removeBlocking(digest)
    }
    if isRemoved { didRemove(item.digest) }
    return isRemoved
  }
}

extension GarbageCollector {
  /// Collects again and again until the task is cancelled, for the first time after `interval`, and then that
  /// long after the end of each run; zero never runs. A run that fails is repeated within a
  /// minute, and then less and less often.
  func run(every interval: Duration, clock: any MonotonicClock, log: Log) async {
    guard interval > .zero else { return }
    let backoff = Backoff(initial: min(.seconds(60), interval), cap: interval)
    await Worker(clock: clock, backoff: backoff).run(every: interval) {
      let report = try await run(isDryRun: false, by: AuditTable.serverActor)
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
