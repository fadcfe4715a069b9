import Commerce
import Database
import PullboxAPI

extension GrantService {
  /// Takes a grant back: from now on there are no tickets for it and none opens anything, and bodies that are
  /// running for it end. Throws `grant-unknown`.
  func revoke(_ id: GrantIdentifier, by actor: String, reason: String?) async throws -> GrantStatus {
    let status = try await grantStore.setRevoked(true, of: id, by: actor, reason: reason)
    try await enforce([id])
    return status
  }

  /// Gives a grant back; tickets that are still out are good again.
  func reinstate(_ id: GrantIdentifier, by actor: String, reason: String?) async throws -> GrantStatus {
    let status = try await grantStore.setRevoked(false, of: id, by: actor, reason: reason)
    try await enforce([id])
    return status
  }

  /// Lets what a store said of transactions take effect on all their grants.
  func applyRevocations(of transactions: [VerifiedTransaction]) async throws {
    let changed = try await grantStore.applyRevocations(of: transactions)
    guard !changed.isEmpty else { return }
    // What the store said of the same transactions before, in other proofs, no longer holds.
    verifier.forget(transactions)
    try await enforce(changed)
  }

  /// Brings the revocation list in line with the database. On its thread, one after the other: when a grant is taken
  /// back and given back at the same moment, the stop that stays is that of the state that stays.
  private func enforce(_ ids: [GrantIdentifier]) async throws {
    let stops = stops
    try await grantStore.database.read { connection in
      for id in ids {
        if try GrantTable.revocationSource(of: id, in: connection) == nil {
          stops.reinstate(grant: id)
        } else {
          stops.revoke(grant: id)
        }
      }
    }
    // The change may have settled a debt.
    outbox.wake()
  }
}
