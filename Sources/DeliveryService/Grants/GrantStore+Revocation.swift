import Commerce
import CoreTypes
import Database
import PullboxAPI

extension GrantStore {
  /// How a grant stands after a write.
  struct Standing: Sendable {
    var handle: DeliveryHandle
    var isRevoked: Bool
  }

  /// Takes a grant back, or gives it back, on an operator's word; in the audit log. Nothing changes, and
  /// nothing is noted, where it stands so already; `effect` gets how it stands all the same, in the order of the commits.
  /// Throws `grant-unknown` or `grant-ambiguous`.
  func setRevoked(
    _ isRevoked: Bool, of name: GrantShortName, by actor: String, reason: String?,
    then effect: @escaping @Sendable (Standing) -> Void
  ) async throws -> OperatorGrant {
    let now = clock.now()
    let (grant, _) = try await database.write(locking: [.everything]) { connection in
      var grant = try Self.find(name, in: connection)
      let changed = try Self.setRevoked(
        isRevoked, of: &grant, source: .operator, detail: reason ?? "by \(actor)", at: now, in: connection)
      if changed {
        try AuditTable.add(
          AuditEntry(
            at: now, actor: actor, action: isRevoked ? "grant.revoke" : "grant.reinstate",
            subject: name.description,
            detail: reason), in: connection)
      } else if isRevoked {
        // The operator's word now stands behind a revocation that a store began.
        try GrantTable.setRevocationSource(.operator, of: grant.id, in: connection)
      }
      return (
        try GrantTable.operatorStatus(of: grant, in: connection),
        Standing(handle: grant.handle, isRevoked: grant.machine.name == .revoked)
      )
    } then: { _, standing in
      effect(standing)
    }
    return grant
  }

  /// Brings all grants of these transactions in line with what the store says of them now: a cancelled one
  /// revokes its grants, on every device; a good one gives back what an earlier check revoked, and leaves an
  /// operator's revocations alone. `effect` gets the grants that changed, in the order of the commits.
  func applyRevocations(
    of transactions: [VerifiedTransaction], then effect: @escaping @Sendable ([Standing]) -> Void
  ) async throws {
    let isCurrent = try await database.read { connection in
      try transactions.allSatisfy { try Self.outdated($0, in: connection).isEmpty }
    }
    guard !isCurrent else { return }
    let now = clock.now()
    let locks = transactions.map { DatabaseLock.transaction($0.id, $0.store) }
    try await database.write(locking: locks) { connection in
      var changed: [Standing] = []
      for transaction in transactions {
        let isCancelled = transaction.revokedDate != nil
        for var grant in try Self.outdated(transaction, in: connection)
        where try Self.setRevoked(
          isCancelled, of: &grant, source: .store,
          detail: isCancelled ? "the store cancelled the purchase" : "the store vouches for it again",
          at: now, in: connection)
        {
          changed.append(Standing(handle: grant.handle, isRevoked: isCancelled))
        }
      }
      return changed
    } then: {
      effect($0)
    }
  }

  private static func outdated(
    _ transaction: VerifiedTransaction, in connection: borrowing Connection
  ) throws -> [GrantRecord] {
    try GrantTable.outdated(
      store: transaction.store, transaction: transaction.id, isCancelled: transaction.revokedDate != nil,
      in: connection)
  }

  /// Whether anything changed. What the transaction still owes the device may be less then.
  private static func setRevoked(
    _ isRevoked: Bool, of grant: inout GrantRecord, source: RevocationSource, detail: String,
    at now: Timestamp,
    in connection: borrowing Connection
  ) throws -> Bool {
    let before = grant.machine.state
    _ = grant.machine.handle(isRevoked ? .revoked : .reinstated)
    guard grant.machine.state != before else { return false }
    try GrantTable.update(grant, from: before, at: now, detail: detail, in: connection)
    try GrantTable.setRevocationSource(isRevoked ? source : nil, of: grant.id, in: connection)
    _ = try ObligationTable.settle(ObligationTable.Debt(grant), at: now, in: connection)
    return true
  }
}
