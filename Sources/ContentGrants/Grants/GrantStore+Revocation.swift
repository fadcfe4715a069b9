import Commerce
import ContentDelivery
package import CoreTypes
import Database
import DeliveryModel
import DeliveryRecords
import PaymentStores
import PullboxAPI
package import PullboxAPIServer
import RouteAccess
package import ServiceAPI

extension GrantStore {
  /// How a grant stands after a write.
  package struct Standing: Sendable {
    /// Names the grant on the revocation list.
    var handle: DeliveryHandle
    /// Whether no ticket of the grant opens anything.
    var isRevoked: Bool
  }

  /// The operators' last word on a grant: the state on which the conditions of a revocation are checked, whatever becomes of the download.
  package struct Decision: Encodable, Sendable {
    /// The grant.
    package var grant: GrantShortName
    /// Whether the last word of an operator revokes it.
    package var isRevoked: Bool
    /// When that was said; nil where none has said anything.
    package var decided: Timestamp?

    init(on grant: GrantRecord) {
      self.grant = grant.handle.shortName
      isRevoked = grant.operatorWord?.decision == .revoke
      decided = grant.operatorWord?.asOf
    }
  }

  /// The terms of a revocation.
  package struct RevocationTerms: Sendable {
    /// Checked against ``Decision``.
    package var conditions = WriteConditions.none
    /// Whether one key revokes without another's approval where many revocations want one.
    package var isAlone = false

    package init(conditions: WriteConditions = .none, isAlone: Bool = false) {
      self.conditions = conditions
      self.isAlone = isAlone
    }
  }

  /// Takes a grant back, or gives it back, on an operator's word; in the audit log. A device whose last grant of a customer's is
  /// taken back leaves its place with the customer. A word that is another than the operators' last one is kept, and noted, also
  /// where the grant stands so already by its store's word; `effect` gets how it stands all the same, in the
  /// order of the commits. Throws `grant-unknown`, `grant-ambiguous`, and by the terms `precondition-failed` and
  /// `second-operator-required`.
  func setRevoked(
    _ isRevoked: Bool, of name: GrantShortName, by actor: String, reason: String?,
    under terms: RevocationTerms = RevocationTerms(), then effect: @escaping @Sendable (Standing) -> Void
  ) async throws -> OperatorGrant {
    let now = clock.now()
    let transaction = try await database.read { try Self.find(name, in: $0).transactionKey }
    // Revocations by one key alone are counted one after the other.
    let counted = terms.isAlone ? [Approvals.revocations(by: actor)] : []
    let (grant, _) = try await database.write(locking: [DatabaseLock.transaction(transaction)] + counted) {
      connection in
      var grant = try Self.find(name, in: connection)
      try terms.conditions.check(Decision(on: grant))
      try CustomerTable.lockCustomers(of: [transaction], in: connection)
      var standing = TransactionStanding(
        storeWord: try TransactionTable.word(on: grant.transactionKey, in: connection),
        operatorWord: grant.operatorWord)
      let earlier = grant.operatorWord?.decision ?? .reinstate(excusing: nil)
      let isNews = standing.decide(isRevoked, at: now).decision != earlier
      let changed = try Self.setStanding(
        standing, of: &grant, detail: reason ?? "by \(actor)", at: now, in: connection)
      // Also where the store has revoked it before, or a transfer has ended it.
      if isRevoked {
        try CustomerTable.leavePlace(grant.device, grantedFor: grant.transactionKey, in: connection)
      }
      if changed, !isRevoked {
        try CustomerTable.takePlaceAgain(grant.device, grantedFor: grant.transactionKey, in: connection)
      }
      if changed || isNews {
        if terms.isAlone { try Approvals.checkRevocation(by: actor, at: now, in: connection) }
        try AuditTable.add(
          AuditEntry(
            at: now, actor: actor, action: isRevoked ? "grant.revoke" : "grant.reinstate",
            subject: name.description, detail: reason, environment: grant.environment.rawValue),
          in: connection)
      }
      return (
        try GrantTable.operatorStatus(of: grant, at: now, in: connection),
        Standing(handle: grant.handle, isRevoked: grant.machine.name == .revoked)
      )
    } then: { _, standing in
      effect(standing)
    }
    return grant
  }

  /// Takes a grant back, or gives it back in spite of the store's revocations up to `excused`, as part of another write; in the
  /// audit log as this server's doing. Answers the decision, and whether the grant stands differently by it.
  static func decide(
    _ isRevoked: Bool, excusing excused: Timestamp? = nil, on grant: inout GrantRecord, detail: String,
    at now: Timestamp, in connection: borrowing Connection
  ) throws -> (word: TransactionStanding.OperatorWord, isChange: Bool) {
    var standing = TransactionStanding(
      storeWord: try TransactionTable.word(on: grant.transactionKey, in: connection),
      operatorWord: grant.operatorWord)
    let word = standing.decide(isRevoked, excusing: excused, at: now)
    let isChange = try setStanding(standing, of: &grant, detail: detail, at: now, in: connection)
    try AuditTable.add(
      AuditEntry(
        at: now, actor: AuditTable.serverActor, action: isRevoked ? "grant.revoke" : "grant.reinstate",
        subject: grant.handle.shortName.description, detail: detail, environment: grant.environment.rawValue),
      in: connection)
    return (word, isChange)
  }

  /// Brings the grants of the transaction in line with its store's word; answers those that changed. A device whose grant stands again
  /// has its place again, which it may have left meanwhile. Runs in a write that has locked the transaction's customer.
  static func setWord(
    _ word: TransactionStanding.StoreWord, on transaction: TransactionKey, at now: Timestamp,
    in connection: borrowing Connection
  ) throws -> [Standing] {
    let grants = try GrantTable.all(paidBy: transaction, in: connection)
    return try grants.compactMap { grant in
      var grant = grant
      let standing = TransactionStanding(storeWord: word, operatorWord: grant.operatorWord)
      let changed = try setStanding(
        standing, of: &grant,
        detail: standing.revocation == nil
          ? "the store vouches for it again" : "the store cancelled the purchase",
        at: now, in: connection)
      if changed, standing.revocation == nil {
        try CustomerTable.takePlaceAgain(grant.device, grantedFor: transaction, in: connection)
      }
      return changed
        ? Standing(handle: grant.handle, isRevoked: grant.machine.name == .revoked) : nil
    }
  }

  /// Whether the grant opens its content no more, or again. What the transaction still owes the device may be
  /// less then. Settles the debt where the state changed, since a grant that is revoked is owed no more.
  private static func setStanding(
    _ standing: TransactionStanding, of grant: inout GrantRecord, detail: String, at now: Timestamp,
    in connection: borrowing Connection
  ) throws -> Bool {
    let before = grant.machine.state
    _ = grant.machine.handle(standing.revocation == nil ? .reinstated : .revoked)
    grant.operatorWord = standing.operatorWord
    try GrantTable.setStanding(standing, of: grant, in: connection)
    guard grant.machine.state != before else { return false }
    try GrantTable.update(grant, from: before, at: now, detail: detail, in: connection)
    _ = try ObligationTable.settle(ObligationTable.Debt(grant), at: now, in: connection)
    return true
  }
}
