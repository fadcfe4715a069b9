import Commerce
package import ContentDelivery
package import CoreTypes
package import Database
package import DeliveryModel
import DeliveryRecords
package import Monitoring
import PullboxAPI
import ServiceAPI
package import ServiceRuntime
import Synchronization

/// Pauses a release that the devices of too many purchases could not verify (``ReleaseStopRule``): the version is superseded by nothing, so that no
/// further device is offered it, and the audit log says why. An operator releases it again, or another one.
///
///     try await guard.note(grant)
///
/// See docs/publishing.md ("A release that pauses itself").
package final class ReleaseGuard: Sendable {
  private let database: Database
  private let rule: ReleaseStopRule
  private let clock: any WallClock
  private let stops: (any ContentBlocking)?
  private let didSettleDebts: @Sendable () -> Void
  private let didChangeCatalog: @Sendable () -> Void
  private let log: Log
  private let failures = Atomic<Int>(0)
  private let pauses = Atomic<Int>(0)
  private let schedule = Mutex(FailureCountSchedule())

  /// Creates the guard.
  ///
  /// - Parameters:
  ///   - rule: how many purchases make it pause.
  ///   - stops: the revocation list, told of content that a step stops or gives back.
  ///   - didSettleDebts: called after a pause that settled debts, so that the outbox looks.
  ///   - didChangeCatalog: called after any pause.
  package init(
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

  /// The grant's device could not verify its content. What is reported while the version was counted a moment ago is written down,
  /// and counts with the next report, be it one that came before. A device counts once for a version. Reports
  /// for a version that is not released are counted in the metric alone. Throws ``DatabaseError``.
  package func note(_ grant: GrantRecord) async throws {
    failures.add(1, ordering: .relaxed)
    guard !rule.neverPauses else { return }
    let (now, rule, product, version) = (clock.now(), rule, grant.product, grant.version)
    let known = try await database.read { connection -> Bool? in
      guard try VersionTable.find(product, version, in: connection)?.state == .released else { return nil }
      return try VerificationFailureTable.contains(grant, in: connection)
    }
    guard let known else { return }
    if !known {
      // A device counts by one statement; what a release forgets it forgets alone.
      try await database.write(locking: [.product(product).shared]) { connection in
        guard try VersionTable.find(product, version, in: connection)?.state == .released else { return }
        try VerificationFailureTable.note(grant, at: now, in: connection)
      }
    }
    guard schedule.locked({ $0.isDue(product, version, at: now) }) else { return }
    let counts = try await database.read { try Counts(of: product, version, by: rule, in: $0) }
    guard counts.isExceeded(by: rule) else { return }
    try await pause(grant)
  }

  /// Counts again, and pauses the release where the rule is exceeded still.
  private func pause(_ grant: GrantRecord) async throws {
    let (now, rule) = (clock.now(), rule)
    let basis = VersionTransition.Basis(
      digest: grant.digest,
      transactions: try await database.read {
        try ObligationTable.transactions(owing: grant.product, in: $0)
      })
    let pausing = VersionTransition(
      product: grant.product, version: grant.version, actor: AuditTable.serverActor, now: now)
    let outcome = try await database.write(
      locking: pausing.locks(on: basis)
    ) { connection -> VersionTransition.Outcome? in
      let record = try VersionTable.find(grant.product, grant.version, in: connection)
      guard record?.state == .released else { return nil }
      let counts = try Counts(of: grant.product, grant.version, by: rule, in: connection)
      guard counts.isExceeded(by: rule) else { return nil }
      var transition = pausing
      transition.reason =
        "devices of \(counts.failed) of \(counts.failed + counts.verified) purchases could not verify it"
      return try transition.apply(.pause, on: basis, in: connection)
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

  /// The counts of purchases that the rule needs, counted as far as they decide.
  private struct Counts: Sendable {
    /// Purchases whose devices could not verify the version.
    var failed: Int
    /// Purchases whose devices could, counted no further than the rule needs.
    var verified: Int

    /// Counts in the caller's transaction. Throws ``DatabaseError``.
    init(
      of product: ProductIdentifier, _ version: ContentVersion, by rule: ReleaseStopRule,
      in connection: borrowing Connection
    ) throws {
      failed = try VerificationFailureTable.failed(of: product, version, in: connection)
      verified = try VerificationFailureTable.verified(
        of: product, version, limit: rule.sufficientCount(besides: failed), in: connection)
    }

    func isExceeded(by rule: ReleaseStopRule) -> Bool { rule.isExceeded(failed: failed, verified: verified) }
  }
}

extension ReleaseGuard: MetricSource {
  /// Adds the reports of content that no device could verify, and the releases that paused themselves, since the start.
  package func register(in metrics: inout MetricRegistry) {
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
