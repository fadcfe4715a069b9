package import Commerce
import CoreTypes
import Database
import DeliveryModel
import DeliveryRecords
package import PaymentStores
import PullboxAPI
package import ServiceAPI

/// The grace while a store is away: its last good verdict on the same proof serves the same device, as long as
/// ``GrantService/storeGrace`` says. A purchase that was revoked meanwhile stays so, since each transaction is taken by the
/// latest word that the ledger has. See decision 34 (docs/decisions).
extension GrantService {
  /// The verdict on a proof.
  package struct Verdict: Sendable {
    /// The origin of a verdict. It decides whether the verdict is remembered, and whether a grant is to be
    /// confirmed.
    package enum Source: Sendable {
      /// Said a few minutes ago.
      case cache
      /// Said by the store for this request.
      case store
      /// The store is away. What it said last is read from the database.
      case memory
    }

    /// The proof's transactions, with the latest word that the ledger has on each.
    var transactions: [VerifiedTransaction]
    /// The origin of the verdict.
    var source: Source
  }

  /// Asks the store, or what is remembered where it is away. Throws what the store refuses with, and
  /// `verification-undetermined` where it is away and nothing is remembered.
  ///
  /// `apply` takes the store's answer into the ledger before anything rests on it. A proof that the store
  /// refuses is forgotten, so that it serves no further absence. Throws also `entitlement-expired` for a proof
  /// whose license has ended, and `receipt-not-authentic` for one that was made for another device.
  package func ask(
    about proof: Proof, as key: VerdictCache.Key, for device: DeviceIdentifier, asked id: String,
    apply: @escaping @Sendable ([VerifiedTransaction]) async throws -> [VerifiedTransaction]
  ) async throws -> Verdict {
    let verified: VerifiedProof
    do {
      verified = try await verifier.question(about: proof, as: key, for: id, apply: apply)
    } catch let refusal as StoreRefusal {
      if refusal.problem.code == .verificationUndetermined,
        let transactions = try await remembered(key, shownBy: device)
      {
        try requireLicense(for: transactions)
        return Verdict(transactions: transactions, source: .memory)
      }
      // What this server refuses by itself was good: grants that were made on it serve until the grace is over.
      if refusal.isAboutProof { try await forget(key, shownBy: device) }
      throw refusal.problem
    } catch let problem as Problem where problem.code == .entitlementExpired {
      try await forget(key, shownBy: device)
      throw problem
    }
    try Self.requireBinding(of: verified, to: device)
    return Verdict(transactions: verified.transactions, source: .store)
  }

  /// Until when a grant that was made in its store's absence serves. Throws `verification-undetermined` after that: the store's
  /// last word is too old, and there is no later one.
  func graceEnd(of basis: UnconfirmedTable.Basis) throws(Problem) -> Timestamp {
    guard let end = basis.lastWord.map({ $0 + storeGrace }), grantStore.clock.now() < end else {
      throw Problem(
        .verificationUndetermined, "the payment store has not confirmed the purchase yet",
        retryAfterSeconds: 60)
    }
    return end
  }

  /// Returns the transactions of the store's last good verdict on the proof for this device, if it is younger
  /// than the grace; nil where there is none or no grace is configured.
  private func remembered(
    _ key: VerdictCache.Key, shownBy device: DeviceIdentifier
  ) async throws -> [VerifiedTransaction]? {
    guard storeGrace > .zero else { return nil }
    let now = grantStore.clock.now()
    return try await grantStore.database.read { connection in
      try RememberedProofTable.transactions(
        of: key.digest, at: key.store, shownBy: device, goodWithin: storeGrace, of: now,
        in: connection)
    }
  }

  /// Throws `entitlement-expired` where the license that the proof was made for has ended.
  private func requireLicense(for transactions: [VerifiedTransaction]) throws {
    if let end = transactions.licenseEnd, end <= grantStore.clock.now() {
      throw Problem(.entitlementExpired, "the license that the receipt was made for has ended")
    }
  }

  /// Forgets the remembered verdict. A write that fails is no reason to refuse otherwise.
  private func forget(_ key: VerdictCache.Key, shownBy device: DeviceIdentifier) async throws {
    // Most of what is refused was never good.
    guard try await remembered(key, shownBy: device) != nil else { return }
    do {
      try await grantStore.database.write(locking: [.proof(key.digest)]) { connection in
        try RememberedProofTable.forget(key.digest, at: key.store, in: connection)
      }
    } catch is DatabaseError {
      // The refusal is told all the same; while the store is there, it is told again.
    }
  }

  /// Writes down what the verdict is good for: what its store said serves while it is away, and what rests on that is to be
  /// confirmed. `proof` is there where the store is away. Throws `verification-undetermined` where there is no
  /// room for that. Runs in the write that makes the grants. With a `proof` the grants are marked as
  /// unconfirmed, without one the marks that they have are taken away.
  static func note(
    _ verdict: Verdict, resting proof: UnconfirmedTable.EncodedProof?, as key: VerdictCache.Key,
    for device: DeviceIdentifier,
    grants: [GrantStore.Issued], at now: Timestamp, in connection: borrowing Connection
  ) throws {
    guard !grants.isEmpty else { return }
    switch proof {
    case nil:
      try RememberedProofTable.note(
        key.digest, of: verdict.transactions, shownBy: device, at: now, in: connection)
      // Nothing waits for a grant that this write has made.
      try UnconfirmedTable.confirm(
        grants.filter { !$0.isNew }.map(\.grant.number), in: connection)
    case let proof?:
      let isMarked = try UnconfirmedTable.mark(
        grants.map(\.grant.number), restingOn: proof, key.digest, at: key.store, now: now, in: connection)
      guard isMarked else {
        throw Problem(
          .verificationUndetermined, "the payment store cannot be asked at the moment", retryAfterSeconds: 60)
      }
    }
  }
}
