import Commerce
import ContentCatalog
import CoreTypes
import Crypto
import Database
import DeliveryModel
import DeliveryRecords
import PullboxAPI
import ServiceAPI

/// One step with one version, written down: the plan decides, and the new states, the audit log and the count
/// of catalog changes are one transaction.
struct VersionTransition: Sendable {
  /// The outcome of a step.
  package struct Outcome: Sendable {
    /// With ``VersionRecord/lateRelease`` where no version of the product was released before.
    package var record: VersionRecord
    /// Packages whose grants it concerns, and whether these open them still.
    package var stopped: [SHA256Digest: Bool] = [:]
    /// The next date of a release may be another now.
    var movedSchedule = false
    /// Fewer devices get the product: debts were settled, and the outbox has to look.
    var hasSettledDebts = false
  }

  /// The facts that the locks of a step's write are made of. They are read before the write, which finds the same or more.
  struct Basis: Sendable {
    /// The package of the version, which never changes. Versions of other products may have the same.
    var digest: SHA256Digest
    /// The transactions whose debts the step may settle. Those that come later are left to the outbox.
    var transactions: Set<TransactionKey> = []
  }

  let product: ProductIdentifier
  let version: ContentVersion
  /// The name of the operator key.
  var actor: String
  /// The date of the step, for the version, the audit log and the catalog's revision.
  let now: Timestamp
  /// Kept with a version that is rejected or withdrawn.
  var reason: String?
  /// More about the step for the audit log.
  var note: String?
  /// The subscribers to whom the issue opens, where this is its first release.
  var lateRelease: LateRelease?

  /// Reads what a step with the version rests on. Throws `product-unknown`, `version-unknown` and ``DatabaseError``.
  static func basis(
    of step: VersionMachine.Step, with product: ProductIdentifier, _ version: ContentVersion,
    in connection: borrowing Connection
  ) throws -> Basis {
    var basis = Basis(digest: try find(product, version, in: connection).digest)
    if step.changesCatalog {
      basis.transactions = try ObligationTable.transactions(owing: product, in: connection)
    }
    return basis
  }

  /// The locks of the write that takes a step: the product is this write's alone, and so are the package, since versions of other
  /// products that have it decide whether it is blocked, and the transactions whose debts are settled.
  func locks(on basis: Basis) -> [DatabaseLock] {
    [.product(product), .content(basis.digest)] + basis.transactions.map { .transaction($0) }
  }

  /// Throws `product-unknown` or `version-unknown` where there is no such version.
  private static func find(
    _ product: ProductIdentifier, _ version: ContentVersion, in connection: borrowing Connection
  ) throws -> VersionRecord {
    guard try ProductTable.exists(product, in: connection) else {
      throw try Problem.unknownProduct(product, in: connection)
    }
    guard let record = try VersionTable.find(product, version, in: connection) else {
      throw try VersionTable.unknown(version, of: product, in: connection)
    }
    return record
  }

  /// Throws `product-unknown`, `version-unknown`, `state-conflict`, `second-key-required`; nothing has
  /// changed then. A refusal is thrown, which undoes the caller's write. A step that changes nothing returns
  /// the version as it is, without an entry in the audit log. Runs in a write with ``locks(on:)``. Throws
  /// also ``DatabaseError``.
  func apply(
    _ step: VersionMachine.Step, on basis: Basis, in connection: borrowing Connection
  ) throws -> Outcome {
    let target = try Self.find(product, version, in: connection)
    var records = [target.version: target]
    for record in try VersionTable.released(of: product, in: connection) { records[record.version] = record }
    var plan = RolloutPlan(records.mapValues(\.machine))
    let reach = plan.reach
    let changed: [ContentVersion]
    do throws(VersionMachine.Refusal) {
      changed = try plan.handle(step, of: target.version, by: actor)
    } catch {
      throw Problem(error, to: step, of: product, version: target.version)
    }
    var outcome = Outcome(record: target)
    guard !changed.isEmpty else { return outcome }
    for version in changed {
      guard let before = records[version], let machine = plan.versions[version] else { continue }
      let after = moved(before, to: machine, isTarget: version == target.version, by: step)
      try VersionTable.update(after, in: connection)
      if version == target.version {
        outcome.record = after
      } else {
        try note("version.supersede", of: version, detail: "by \(target.version)", in: connection)
      }
      if before.scheduled != after.scheduled { outcome.movedSchedule = true }
    }
    if outcome.movedSchedule { try connection.noteChange(of: .schedules) }
    if step.changesCatalog, outcome.record.state == .released,
      try ProductTable.noteReleased(product, at: now, in: connection)
    {
      outcome.record.lateRelease = lateRelease
    }
    let detail = detail(of: step, before: target, opening: outcome.record.lateRelease)
    try note(action(of: step), of: target.version, detail: detail, in: connection)
    guard step.changesCatalog else { return outcome }
    if case .release = step, target.state != .released {
      try VerificationFailureTable.forget(product, target.version, in: connection)
    }
    try CatalogRevision.increment(at: now, by: product, in: connection)
    try checkStop(step, of: target.digest, in: connection)
    let isStopped = try VersionTable.isStopped(target.digest, in: connection)
    if isStopped {
      try BlockedContentTable.add(target.digest, at: now, in: connection)
    } else {
      try BlockedContentTable.remove(target.digest, at: now, in: connection)
    }
    outcome.stopped[target.digest] = isStopped
    if plan.reach < reach {
      try ObligationTable.settleDebts(owing: product, of: basis.transactions, at: now, in: connection)
      outcome.hasSettledDebts = true
    }
    return outcome
  }

  /// Returns the record in the machine's new state. The date of its release is set where it is released anew or
  /// to another share.
  private func moved(
    _ record: VersionRecord, to machine: VersionMachine, isTarget: Bool, by step: VersionMachine.Step
  ) -> VersionRecord {
    var record = record
    let isReleasedAnew =
      machine.state == .released
      && (record.state != .released || record.percentage != machine.share?.percentage)
    if isReleasedAnew { record.released = now }
    if isTarget, record.state != machine.state { record.reason = step.keepsReason ? reason : nil }
    record.machine = machine
    return record
  }

  /// Stopping a package that readers of another version need would stop these as well.
  private func checkStop(
    _ step: VersionMachine.Step, of digest: SHA256Digest, in connection: borrowing Connection
  ) throws {
    guard case .withdraw(stopsDownloads: true) = step,
      let other = try VersionTable.available(with: digest, in: connection)
    else { return }
    throw Problem(
      .stateConflict,
      "downloads cannot be stopped: \(other.product) \(other.version), which readers may have, is the same package; "
        + "withdraw that first")
  }

  /// Adds a line about a version to the audit log.
  private func note(
    _ action: String, of version: ContentVersion, detail: String?, in connection: borrowing Connection
  ) throws {
    try AuditTable.add(
      AuditEntry(at: now, actor: actor, action: action, subject: "\(product) \(version)", detail: detail),
      in: connection)
  }

  private func action(of step: VersionMachine.Step) -> String {
    switch step {
    case .submit: "version.submit"
    case .approve: "version.approve"
    case .reject: "version.reject"
    case .release: "version.release"
    case .schedule: "version.schedule"
    case .cancelSchedule: "version.cancel-release"
    case .withdraw: "version.withdraw"
    case .supersede: "version.supersede"
    case .pause: "version.pause"
    }
  }

  /// Returns what the audit log says beside the action; nil for nothing.
  private func detail(
    of step: VersionMachine.Step, before: VersionRecord, opening late: LateRelease?
  ) -> String? {
    var parts: [String] = []
    switch step {
    case .release(let share):
      parts.append("to \(share)")
      if let old = before.percentage, old != share.percentage { parts.append("\(old) % before") }
    case .schedule(let date, let share): parts.append("to \(share) at \(date)")
    case .withdraw(let stopsDownloads):
      if let reason { parts.append(reason) }
      if stopsDownloads { parts.append("downloads stopped") }
    case .reject, .pause: if let reason { parts.append(reason) }
    case .submit, .approve, .cancelSchedule, .supersede: break
    }
    if let note { parts.append(note) }
    if let late, late.laterSubscribers > 0 {
      let subscribers = "\(late.laterSubscribers) subscriber\(late.laterSubscribers == 1 ? "" : "s")"
      parts.append("opens to \(subscribers) more than at its date, \(late.publicationDate)")
    }
    return parts.isEmpty ? nil : parts.joined(separator: "; ")
  }
}

extension VersionMachine.Step {
  /// Whether the operator's reason stays with the version.
  fileprivate var keepsReason: Bool {
    switch self {
    case .reject, .withdraw, .pause: true
    default: false
    }
  }

  /// Whether what is offered to devices may be another after the step.
  fileprivate var changesCatalog: Bool {
    switch self {
    case .release, .withdraw, .supersede, .pause: true
    case .submit, .approve, .reject, .schedule, .cancelSchedule: false
    }
  }
}
