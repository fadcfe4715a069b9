package import Commerce
import ContentDelivery
import Database
import DeliveryModel
import DeliveryRecords
import PaymentStores
import PullboxAPI
package import PullboxAPIServer
package import ServiceAPI

extension GrantService {
  /// Takes a grant back: from now on there are no tickets for it and none opens anything, and bodies that are
  /// running for it end. Throws `grant-unknown` or `grant-ambiguous`. Nothing changes where an operator revoked
  /// it before. The audit log has the decision with its actor and reason. Throws also `precondition-failed` and
  /// `second-operator-required` by the terms, which are looked at in the same write.
  package func revoke(
    _ name: GrantShortName, by actor: String, reason: String?,
    under terms: GrantStore.RevocationTerms = .init()
  ) async throws -> OperatorGrant {
    try await grantStore.setRevoked(true, of: name, by: actor, reason: reason, under: terms) { enforce([$0]) }
  }

  /// The operators' last word on a grant. Throws `grant-unknown` or `grant-ambiguous`.
  package func decision(on name: GrantShortName) async throws -> GrantStore.Decision {
    try await grantStore.database.read { GrantStore.Decision(on: try GrantStore.find(name, in: $0)) }
  }

  /// Gives a grant back; tickets that are still out are good again. A grant that its store has revoked stands
  /// again in spite of that. Throws `grant-unknown` or `grant-ambiguous`, and `precondition-failed` by the conditions, which are
  /// looked at in the same write.
  package func reinstate(
    _ name: GrantShortName, by actor: String, reason: String?, under conditions: WriteConditions = .none
  ) async throws -> OperatorGrant {
    let terms = GrantStore.RevocationTerms(conditions: conditions)
    return try await grantStore.setRevoked(false, of: name, by: actor, reason: reason, under: terms) {
      enforce([$0])
    }
  }

  /// Keeps what a store said of transactions, and lets it take effect on all their grants. Answers the transactions as they
  /// stand by all that the store ever said of them. Notifications and histories come this way. Throws
  /// ``DatabaseError`` where it cannot be written, so that the store is not told that it was heard.
  package func applyRevocations(of transactions: [VerifiedTransaction]) async throws -> [VerifiedTransaction]
  {
    let kept = try await record(transactions, by: GrantStore.LedgerRule(), shownBy: nil)
    try await noteUnlocked(by: kept)
    await feeds.noteNews(of: kept)
    return kept
  }

  /// The same for an answer of a store. Without a device, what was never heard of is left to the write that
  /// makes the grant. With a device, the device counts as one of the customer's.
  package func keep(
    shownBy device: DeviceIdentifier?
  ) -> @Sendable ([VerifiedTransaction]) async throws -> [VerifiedTransaction] {
    { try await record($0, by: .answer(takesNew: device != nil), shownBy: device) }
  }

  /// Takes statements into the ledger by a rule, and lets what changes take effect: the revocation list, the
  /// verdicts that are kept in memory, the feeds, the outbox, and sales that leave nothing to deliver. Returns
  /// the transactions as they stand then, in the order given. Throws ``DatabaseError``, unless the rule says
  /// that the statement may be lost.
  package func record(
    _ transactions: [VerifiedTransaction], by rule: GrantStore.LedgerRule, shownBy device: DeviceIdentifier?
  ) async throws -> [VerifiedTransaction] {
    var rule = rule
    rule.joinsAccounts = Set(transactions.map(\.store)).allSatisfy {
      storeRules[$0]?.claims.joinsAccounts == true
    }
    let recorded = try await grantStore.record(transactions, by: rule, shownBy: device) { changed in
      // What the store said of the same transactions before, in other proofs, no longer holds.
      verifier.forget(transactions)
      // The store may be told of others of the order now, also where nothing was granted for this one.
      if changed.isEmpty { outbox.wake() } else { enforce(changed) }
      // A refund is news to every device of its customer.
      feeds.wake()
    }
    sales.note(recorded.transactions.map(\.key))
    if recorded.isRevocationNews { try await closeIssues(openedBy: recorded.transactions) }
    return recorded.transactions
  }

  /// Brings the revocation list in line with what was written. It is the effect of that write: no refusal or
  /// cancellation comes between the two, and when a grant is taken back and given back at the same moment, the stop that
  /// stays is that of the state that stays. Runs on the database's writer thread and never waits.
  func enforce(_ grants: [GrantStore.Standing]) {
    stops.enforce(grants.map { ($0.handle, $0.isRevoked) })
    noteStops()
  }

  /// Grants were revoked or reinstated, which may have settled a debt.
  func noteStops() { outbox.wake() }
}
