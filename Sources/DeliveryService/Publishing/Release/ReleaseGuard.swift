import CoreTypes
import Database
import Monitoring
import PullboxAPI
import ServiceRuntime
import Synchronization

/// Pauses a release that too many devices could not verify (``ReleaseStopRule``): the version is superseded by nothing, so that no
/// further device is offered it, and the audit log says why. An operator releases it again, or another one.
///
///     try await guard.note(grant)
final class ReleaseGuard: Sendable {
  private let database: Database
  private let rule: ReleaseStopRule
  private let clock: any WallClock
  private let stops: (any ContentBlocking)?
  private let didSettleDebts: @Sendable () -> Void
  private let didChangeCatalog: @Sendable () -> Void
  private let log: Log
  private let failures = Atomic<Int>(0)
  private let pauses = Atomic<Int>(0)

  init(
    database: Database, rule: ReleaseStopRule, clock: any WallClock, stops: (any ContentBlocking)?,
    didSettleDebts: @escaping @Sendable () -> Void = {},
    didChangeCatalog: @escaping @Sendable () -> Void = {}, log: Log
  ) {
    self.database = database
    self.rule = rule
    self.clock = clock
    self.stops = stops
    self.didSettleDebts = didSettleDebts
    self.didChangeCatalog = didChangeCatalog
    self.log = log
  }

  /// The grant's device could not verify its content.
  func note(_ grant: GrantRecord) async throws {
    failures.add(1, ordering: .relaxed)
    let (now, rule) = (clock.now(), rule)
    let outcome = try await database.write(
      locking: [.product(grant.product)]
    ) { connection -> VersionTransition.Outcome? in
      let record = try VersionTable.find(grant.product, grant.version, in: connection)
      guard record?.state == .released,
        try VerificationFailureTable.note(grant, at: now, in: connection)
      else { return nil }
      let failed = try VerificationFailureTable.count(of: grant.product, grant.version, in: connection)
      let verified = try VerificationFailureTable.verified(
        of: grant.product, grant.version, limit: rule.sufficientCount(besides: failed), in: connection)
      guard rule.isExceeded(failed: failed, verified: verified) else { return nil }
      let transition = VersionTransition(
        product: grant.product, version: grant.version, actor: AuditTable.serverActor, now: now,
        reason: "\(failed) of \(failed + verified) devices could not verify it")
      return try transition.apply(.pause, in: connection)
    } then: { [stops] outcome in
      if let outcome { stops?.follow(outcome) }
    }
    guard let outcome else { return }
    pauses.add(1, ordering: .relaxed)
    log.error(
      "a release paused itself",
      [
        "product": LogValue(grant.product), "version": LogValue(grant.version),
        "reason": LogValue(outcome.record.reason ?? "-"),
      ])
    if outcome.hasSettledDebts { didSettleDebts() }
    didChangeCatalog()
  }
}

extension ReleaseGuard: MetricSource {
  func register(in metrics: inout MetricRegistry) {
    metrics.register([
      .counter(
        "pullbox_verification_failures_total", help: "Reports of devices that could not verify content."
      ) { self.failures.load(ordering: .relaxed) },
      .counter("pullbox_releases_paused_total", help: "Releases that paused themselves.") {
        self.pauses.load(ordering: .relaxed)
      },
    ])
  }
}
