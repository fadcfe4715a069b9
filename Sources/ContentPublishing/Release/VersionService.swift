package import Commerce
import ContentCatalog
package import ContentDelivery
package import CoreTypes
package import Database
package import DeliveryModel
import DeliveryRecords
package import PullboxAPI
package import PullboxAPIServer
package import RouteAccess
package import ServiceAPI

/// Review, release and withdrawal of versions. Every step can be repeated, and is in the audit log.
///
/// The steps and states are ``VersionMachine``'s; docs/publishing.md ("States") draws them. A step is one
/// write. The revocation list follows in the order of the commits, and the rest of the server is told after the
/// write. A step that was taken before changes nothing and is answered like the first time.
package struct VersionService: Sendable {
  /// Entries of a version's history that are shown with it.
  static let maximumHistory = 100

  package let database: Database
  package let clock: any WallClock
  /// Says whether an approval needs another key than the submission.
  package let operators: OperatorKeys
  /// The revocation list; nil in tests that have none.
  package let stops: (any ContentBlocking)?
  /// Woken when a date was set or taken away.
  package let scheduler: ReleaseScheduler
  /// Called after debts were settled.
  package var didSettleDebts: @Sendable () -> Void = {}
  /// Called after what is offered may have changed.
  package var didChangeCatalog: @Sendable () -> Void = {}
  /// The conditions that each step puts on the version, as ``version(_:_:)`` shows it.
  private var conditions = WriteConditions.none

  /// Creates the service, without conditions on its steps.
  package init(
    database: Database, clock: any WallClock, operators: OperatorKeys, stops: (any ContentBlocking)?,
    scheduler: ReleaseScheduler, didSettleDebts: @escaping @Sendable () -> Void = {},
    didChangeCatalog: @escaping @Sendable () -> Void = {}
  ) {
    self.database = database
    self.clock = clock
    self.operators = operators
    self.stops = stops
    self.scheduler = scheduler
    self.didSettleDebts = didSettleDebts
    self.didChangeCatalog = didChangeCatalog
  }

  /// The service whose steps throw `precondition-failed` where `conditions` do not hold.
  package func under(_ conditions: WriteConditions) -> VersionService {
    var service = self
    service.conditions = conditions
    return service
  }

  /// Puts a draft, or a version that was rejected, up for review. Throws as ``VersionTransition/apply(_:in:)``
  /// does, and `precondition-failed`; so do the other steps.
  func submit(
    _ product: ProductIdentifier, _ version: ContentVersion, by actor: String
  ) async throws -> VersionRecord {
    try await apply(.submit, to: product, version, by: actor)
  }

  /// Approves what was submitted. Throws also `second-key-required` for the key that submitted it, where two
  /// are needed.
  func approve(
    _ product: ProductIdentifier, _ version: ContentVersion, by actor: String
  ) async throws -> VersionRecord {
    try await apply(
      .approve(needsSecondKey: operators.needsSecondKey), to: product, version, by: actor)
  }

  /// Takes a version out of review, also one that was approved, with its scheduled release.
  ///
  /// - Parameters:
  ///   - reason: shown with the version; nil for none.
  package func reject(
    _ product: ProductIdentifier, _ version: ContentVersion, because reason: String?, by actor: String
  ) async throws -> VersionRecord {
    try await apply(.reject, to: product, version, reason: reason, by: actor)
  }

  /// At once, unless the request names a date to come. The release is to all devices unless the request names a
  /// percentage. Releasing a superseded version is a roll-back. Throws also `request-malformed` for a number
  /// that is no percentage.
  package func release(
    _ product: ProductIdentifier, _ version: ContentVersion, as request: ReleaseRequest, by actor: String
  ) async throws -> VersionRecord {
    let share = try Self.share(request.percentage)
    if let date = request.at, date > clock.now() {
      return try await apply(.schedule(at: date, share), to: product, version, by: actor)
    }
    return try await apply(.release(share), to: product, version, by: actor)
  }

  /// A release that waits for its date waits no longer. Nothing changes where none waits.
  func cancelRelease(
    _ product: ProductIdentifier, _ version: ContentVersion, by actor: String
  ) async throws -> VersionRecord {
    try await apply(.cancelSchedule, to: product, version, by: actor)
  }

  /// Takes a version back for good. With `stopDownloads` in the request, its package opens for no grant any
  /// more.
  func withdraw(
    _ product: ProductIdentifier, _ version: ContentVersion, as request: WithdrawalRequest, by actor: String
  ) async throws -> VersionRecord {
    try await apply(
      .withdraw(stopsDownloads: request.stopDownloads ?? false), to: product, version, reason: request.reason,
      by: actor)
  }

  /// The version with its history. Throws `version-unknown`. The history has ``maximumHistory`` entries at
  /// most.
  package func version(_ product: ProductIdentifier, _ version: ContentVersion) async throws -> VersionRecord
  {
    try await database.read { connection in
      guard let record = try Self.recordWithHistory(product, version, in: connection) else {
        throw try VersionTable.unknown(version, of: product, in: connection)
      }
      return record
    }
  }

  /// Returns the version as clients see it, on which conditions are checked; nil without it.
  private static func recordWithHistory(
    _ product: ProductIdentifier, _ version: ContentVersion, in connection: borrowing Connection
  ) throws -> VersionRecord? {
    guard var record = try VersionTable.find(product, version, in: connection) else { return nil }
    record.history = try AuditTable.history(
      of: "\(product) \(record.version)", limit: maximumHistory, in: connection)
    return record
  }

  /// The manifest's exact bytes. Throws `version-unknown`.
  package func manifest(of product: ProductIdentifier, _ version: ContentVersion) async throws -> [UInt8] {
    try await database.read { connection in
      guard let record = try VersionTable.find(product, version, in: connection),
        let bytes = try VersionTable.manifestDocument(record.manifestDigest, in: connection)
      else { throw try VersionTable.unknown(version, of: product, in: connection) }
      return bytes
    }
  }

  /// The newest first; `after` is the `next` of the page before. Throws `product-unknown`. Throws also
  /// `request-malformed` for an `after` that is no version of the product.
  package func versions(
    of product: ProductIdentifier, after: ContentVersion?, limit: Int
  ) async throws -> Page<VersionRecord> {
    try await database.read { connection in
      guard try ProductTable.exists(product, in: connection) else {
        throw try Problem.unknownProduct(product, in: connection)
      }
      if let after, try VersionTable.find(product, after, in: connection) == nil {
        throw Problem.unknownCursor
      }
      let records = try VersionTable.page(of: product, after: after, limit: limit + 1, in: connection)
      let items = Array(records.prefix(limit))
      return Page(items: items, next: records.count > limit ? items.last?.version.description : nil)
    }
  }

  /// Throws `request-malformed` for a number that is no percentage. Nil stands for all devices.
  package static func share(_ percentage: Int?) throws(Problem) -> RolloutPercentage {
    guard let percentage else { return .all }
    guard let share = RolloutPercentage(percentage: percentage) else {
      throw Problem(.requestMalformed, "percentage is a whole number from 1 to 100")
    }
    return share
  }

  /// Takes a step: the conditions and the step are checked in the same write.
  private func apply(
    _ step: VersionMachine.Step, to product: ProductIdentifier, _ version: ContentVersion,
    reason: String? = nil, by actor: String
  ) async throws -> VersionRecord {
    let now = clock.now()
    let transition = VersionTransition(
      product: product, version: version, actor: actor, now: now, reason: reason,
      lateRelease: try await lateRelease(step, of: product, at: now))
    let conditions = conditions
    let basis = try await database.read {
      try VersionTransition.basis(of: step, with: product, version, in: $0)
    }
    let outcome = try await database.write(locking: transition.locks(on: basis)) { connection in
      // A version that does not exist is refused as such.
      if let present = try Self.recordWithHistory(product, version, in: connection) {
        try conditions.check(present)
      }
      return try transition.apply(step, on: basis, in: connection)
    } then: { [stops] outcome in
      stops?.follow(outcome)
    }
    if outcome.movedSchedule { scheduler.wake() }
    if outcome.hasSettledDebts { didSettleDebts() }
    didChangeCatalog()
    return outcome.record
  }

  /// Nil for any other step than a release, and where a row of the ledger is damaged: that holds up no release. Throws ``DatabaseError``
  /// and `CancellationError`.
  private func lateRelease(
    _ step: VersionMachine.Step, of product: ProductIdentifier, at now: Timestamp
  ) async throws -> LateRelease? {
    guard case .release = step else { return nil }
    do {
      return try await LateReleaseCounter(database: database).lateRelease(of: product, at: now)
    } catch is ColumnTypeMismatch {
      return nil
    }
  }
}

extension ContentBlocking {
  /// Does what the step means for grants made before; the database says it again at the next start. To be called
  /// in the order of the commits.
  func follow(_ outcome: VersionTransition.Outcome) {
    for (digest, isStopped) in outcome.stopped {
      if isStopped { block(content: digest) } else { unblock(content: digest) }
    }
  }
}
