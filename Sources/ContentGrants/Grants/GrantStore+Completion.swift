import Commerce
import CoreTypes
import Crypto
import Database
import DeliveryModel
import DeliveryRecords
import PullboxAPI
import ServiceAPI

/// From a device's report to the end of its transaction.
extension GrantStore {
  /// The facts about a grant that its completion is decided on.
  package struct CompletionBasis: Sendable {
    /// The grant as it was read; the write reads it again.
    var grant: GrantRecord
    /// Every product that the transaction was to bring to the device.
    var owed: Set<ProductIdentifier>
    /// The length of the part of the package that the device has in versions that it completed, or that belongs to sections that are not
    /// required, with the manifests of these versions; nil where that was not looked at.
    fileprivate var kept: (manifests: [SHA256Digest], length: ByteCount)?

    /// The grants and debts of the transaction are this write's alone. What is offered of the products says whether one is still owed, and
    /// is left as it is.
    var locks: [DatabaseLock] {
      [.transaction(grant.transactionKey)] + owed.union([grant.product]).map { .product($0).shared }
    }

    /// Makes the reads that a completion rests on, for a connection that prefetches.
    fileprivate func look(in connection: borrowing Connection) throws {
      _ = try GrantTable.find(grant.id, in: connection)
      _ = try ObligationTable.products(owedBy: ObligationTable.Debt(grant), in: connection)
      _ = try DeliveredBytesTable.bytes(of: grant.number, in: connection)
      _ = try LedgerTable.ending(of: grant.transactionKey, in: connection)
    }
  }

  /// Looks at what the device has of earlier versions, and at what is not required, where it is told to: most completions need no such
  /// thing. Throws `grant-unknown`.
  func completionBasis(
    of id: GrantIdentifier, withKeptContent: Bool = false
  ) async throws -> CompletionBasis {
    var (basis, manifests) = try await database.read { connection in
      let grant = try Self.find(id, in: connection)
      let basis = CompletionBasis(
        grant: grant, owed: try ObligationTable.products(owedBy: ObligationTable.Debt(grant), in: connection))
      let manifests =
        withKeptContent ? try ReusableContent.manifests(completedBeside: grant, in: connection) : []
      return (basis, manifests)
    }
    guard withKeptContent else { return basis }
    let length = try await keptLengths.longest(of: basis.grant.manifestDigest, in: manifests, database)
    basis.kept = (manifests, length)
    return basis
  }

  /// The outcome of a completion.
  struct CompletionOutcome: Sendable {
    /// The grant as it stands after the report.
    var grant: GrantRecord
    /// Products the transaction still owes the device.
    var remaining: [ProductIdentifier]
    /// The store has still to hear that the transaction is finished.
    var isWaiting = false
    /// The call to the store, where the lease claimed it.
    var outbox: OutboxEntry?
  }

  /// Checks a report and, if nothing is missing, records it and puts the transaction's end in the outbox once
  /// nothing is owed any more. A signed report is its own proof; a plain one needs the grant's secret. `unrecorded` is
  /// written down with it, and `lease` claims the call to the store. Nil where it depends on what others are recording:
  /// whether the table has their bytes already cannot be told from within a write, and is to be asked again after their
  /// writes, with the basis as it is then; then only `unrecorded` was written down. The same where more is owed than `basis`
  /// knew, and where the right report of a device that has other versions rests on what `basis` does not know of them.
  /// Throws `completion-mismatch` with the missing step, or what ``GrantCredential/checkSecret(for:)`` throws; then nothing was written down.
  func complete(
    _ basis: CompletionBasis, with completion: ReceivedCompletion, for credential: GrantCredential,
    counting unrecorded: DeliveryRecorder.Unrecorded = DeliveryRecorder.Unrecorded(),
    lease: OutboxLease? = nil
  ) async throws -> CompletionOutcome? {
    let now = clock.now()
    return try await database.write(locking: basis.locks) { connection in
      // Undone where the report is refused.
      try unrecorded.write(in: connection)
      connection.prefetch { connection in try basis.look(in: connection) }
      var grant = try Self.find(basis.grant.id, in: connection)
      if case .plain = completion { try credential.checkSecret(for: grant) }
      let owed = try ObligationTable.products(owedBy: ObligationTable.Debt(grant), in: connection)
      guard owed.isSubset(of: basis.owed) else { return nil }
      // The sum over the device's grants has at least as many, and is spread over the whole table.
      var check = CompletionCheck(
        grant: grant, delivered: try DeliveredBytesTable.bytes(of: grant.number, in: connection))
      if check.lacksBytes {
        check.delivered = try DeliveredBytesTable.bytes(of: grant.digest, to: grant.device, in: connection)
      }
      if check.lacksBytes, try check.wrongStep(in: completion) == nil {
        check.mayHaveLostCounts = try ServerRunTable.mayHaveLostCounts(
          of: grant.number, made: grant.created, at: now, in: connection)
        if !check.mayHaveLostCounts {
          let manifests = try ReusableContent.manifests(completedBeside: grant, in: connection)
          guard let kept = basis.kept, kept.manifests == manifests else { return nil }
          check.delivered += kept.length
        }
      }
      let missing = try check.missingStep(in: completion)
      if missing == .delivery {
        check.delivered += unrecorded.beingRecorded
        if try check.missingStep(in: completion) == nil { return nil }
      }
      let before = grant.machine.state
      let actions = grant.machine.handle(.completionReported(missing: missing))
      if case .refuseCompletion(let step)? = actions.first {
        throw Problem(.completionMismatch, Self.sentence(for: step), missingStep: step)
      }
      // Also for a grant that was finished before: the content was fetched again, and the device holds it now.
      try GrantTable.updatePlaced(grant, from: before, at: now, in: connection)
      guard actions.contains(.finishTransactionIfDelivered) else {
        return CompletionOutcome(grant: grant, remaining: [])
      }
      return try Self.finishTransactionIfDelivered(grant, owing: owed, lease, at: now, in: connection)
    }
  }

  /// The store has accepted the call. One that ends a transaction finishes all its completed grants. False where there is
  /// something else to be said by now. It is written down with what others write: lost, the call would be made again.
  @discardableResult
  func accepted(_ call: OutboxEntry) async throws -> Bool {
    let now = clock.now()
    return try await database.write(locking: [.transaction(call.subject)], committing: .withOthers) {
      connection in
      connection.prefetch { connection in
        guard OutboxEntry.Kind.ends.contains(call.kind) else { return }
        _ = try GrantTable.all(paidBy: call.subject, in: connection)
      }
      guard try OutboxTable.markDone(call, at: now, in: connection) else { return false }
      if call.kind == .acknowledge || call.kind == .consume {
        try AcknowledgementTable.noteTold(of: call.subject, in: connection)
      }
      guard OutboxEntry.Kind.ends.contains(call.kind) else { return true }
      try ObligationTable.finishGrants(of: call.subject, at: now, in: connection)
      return true
    }
  }

  /// Settles what a batch of completed grants is a part of, from `position` on: the debts that a step has
  /// left behind, or an earlier version of this server. Answers where to go on, nil at the end, and whether
  /// anything was settled.
  func settleLeftovers(
    after position: ObligationTable.SweepPosition?, limit: Int
  ) async throws -> (next: ObligationTable.SweepPosition?, hasSettled: Bool) {
    let (settled, next) = try await database.read { connection in
      let (debts, next) = try ObligationTable.completed(after: position, limit: limit, in: connection)
      return (try Set(debts).filter { try ObligationTable.remaining(of: $0, in: connection).isEmpty }, next)
    }
    guard !settled.isEmpty else { return (next, false) }
    let now = clock.now()
    let locks = settled.map { DatabaseLock.transaction($0.transaction) }
    try await database.write(locking: locks) { connection in
      for debt in settled {
        _ = try ObligationTable.settle(debt, at: now, in: connection)
      }
    }
    return (next, true)
  }

  private static func finishTransactionIfDelivered(
    _ grant: GrantRecord, owing products: Set<ProductIdentifier>, _ lease: OutboxLease?, at now: Timestamp,
    in connection: borrowing Connection
  ) throws -> CompletionOutcome {
    let settlement = try ObligationTable.settle(
      ObligationTable.Debt(grant), owing: products, lease: lease, at: now, in: connection)
    return switch settlement {
    case .open(let remaining): CompletionOutcome(grant: grant, remaining: remaining)
    case .waiting(let taken): CompletionOutcome(grant: grant, remaining: [], isWaiting: true, outbox: taken)
    case .finished: CompletionOutcome(grant: try find(grant.id, in: connection), remaining: [])
    }
  }

  /// Returns the detail of a `completion-mismatch`.
  private static func sentence(for step: CompletionStep) -> String {
    switch step {
    case .deviceSignature: "the report is not signed by the device's key"
    case .device: "the report names another device than the grant"
    case .version: "the report names another version than was granted"
    case .digest: "the report names another digest than was granted"
    case .length: "the report names another length than was granted"
    case .delivery: "the package's bytes have not been sent to this device"
    case .grant: "the grant is revoked, or the report is for another grant"
    }
  }
}
