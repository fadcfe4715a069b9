import Commerce
import CoreTypes
import Database
import PullboxAPI

extension GrantStore {
  /// Takes a grant back, or gives it back, on an operator's word; in the audit log. Nothing changes, and
  /// nothing is noted, where it stands so already. Throws `grant-unknown` or `grant-ambiguous`.
  func setRevoked(
    _ isRevoked: Bool, of name: GrantShortName, by actor: String, reason: String?
  ) async throws -> (grant: OperatorGrant, handle: DeliveryHandle) {
    let now = clock.now()
    return try await database.write(locking: [.everything]) { connection in
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
      return (try GrantTable.operatorStatus(of: grant, in: connection), grant.handle)
    }
  }

  /// Brings all grants of these transactions in line with what the store says of them now: a cancelled one
  /// revokes its grants, on every device; a good one gives back what an earlier check revoked, and leaves an
  /// operator's revocations alone. Answers the grants that changed.
  func applyRevocations(of transactions: [VerifiedTransaction]) async throws -> [DeliveryHandle] {
    let isCurrent = try await database.read { connection in
      try transactions.allSatisfy { try Self.outdated($0, in: connection).isEmpty }
    }
    guard !isCurrent else { return [] }
    let now = clock.now()
    let locks = transactions.map { DatabaseLock.transaction($0.id, $0.store) }
    return try await database.write(locking: locks) { connection in
      var changed: [DeliveryHandle] = []
      for transaction in transactions {
        let isCancelled = transaction.revokedDate != nil
        for var grant in try Self.outdated(transaction, in: connection)
        where try Self.setRevoked(
          isCancelled, of: &grant, source: .store,
          detail: isCancelled ? "the store cancelled the purchase" : "the store vouches for it again",
          at: now, in: connection)
        {
          changed.append(grant.handle)
        }
      }
      return changed
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
