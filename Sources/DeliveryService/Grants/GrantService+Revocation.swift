import Commerce
import Database
import PullboxAPI

extension GrantService {
  /// Takes a grant back: from now on there are no tickets for it and none opens anything, and bodies that are
  /// running for it end. Throws `grant-unknown` or `grant-ambiguous`.
  func revoke(
    _ name: GrantShortName, by actor: String, reason: String?
  ) async throws -> OperatorGrant {
    let (grant, handle) = try await grantStore.setRevoked(true, of: name, by: actor, reason: reason)
    try await enforce([handle])
    return grant
  }

  /// Gives a grant back; tickets that are still out are good again.
  func reinstate(
    _ name: GrantShortName, by actor: String, reason: String?
  ) async throws -> OperatorGrant {
    let (grant, handle) = try await grantStore.setRevoked(false, of: name, by: actor, reason: reason)
    try await enforce([handle])
    return grant
  }

  /// Lets what a store said of transactions take effect on all their grants.
  func applyRevocations(of transactions: [VerifiedTransaction]) async throws {
    let changed = try await grantStore.applyRevocations(of: transactions)
    guard !changed.isEmpty else { return }
    // What the store said of the same transactions before, in other proofs, no longer holds.
    verifier.forget(transactions)
    try await enforce(changed)
  }

  /// Brings the revocation list in line with the database, in the order of the writes: when a grant is taken back and
  /// given back at the same moment, the stop that stays is that of the state that stays.
  private func enforce(_ handles: [DeliveryHandle]) async throws {
    try await grantStore.database.write(locking: [.everything]) { connection in
      try handles.map {
        (handle: $0, isRevoked: try GrantTable.revocationSource(of: $0, in: connection) != nil)
      }
    } then: { [stops] grants in
      for grant in grants {
        if grant.isRevoked {
          stops.revoke(grant: grant.handle)
        } else {
          stops.reinstate(grant: grant.handle)
        }
      }
    }
    // The change may have settled a debt.
    outbox.wake()
  }
}
