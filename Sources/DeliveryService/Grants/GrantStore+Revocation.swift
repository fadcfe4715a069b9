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

  /// Takes a grant back, or gives it back, on an operator's word; in the audit log. The word is kept also where the
  /// grant stands so already, but nothing changes then, and nothing is noted; `effect` gets how it stands all the same, in the
  /// order of the commits. Throws `grant-unknown` or `grant-ambiguous`.
  func setRevoked(
    _ isRevoked: Bool, of name: GrantShortName, by actor: String, reason: String?,
    then effect: @escaping @Sendable (Standing) -> Void
  ) async throws -> OperatorGrant {
    let now = clock.now()
    let (grant, _) = try await database.write(locking: [.everything]) { connection in
      var grant = try Self.find(name, in: connection)
      var standing = TransactionStanding(
        storeWord: try TransactionTable.word(on: grant.transaction, of: grant.store, in: connection),
        operatorWord: grant.operatorWord)
      standing.decide(isRevoked, at: now)
      let changed = try Self.setStanding(
        standing, of: &grant, detail: reason ?? "by \(actor)", at: now, in: connection)
      if changed {
        try AuditTable.add(
          AuditEntry(
            at: now, actor: actor, action: isRevoked ? "grant.revoke" : "grant.reinstate",
            subject: name.description,
            detail: reason), in: connection)
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

  /// Keeps what the store says of these transactions where it is the latest that the store said, and something rests on it: a
  /// transaction that holds, and that was never heard of, is kept with its first grant. Brings all grants in line with it: a cancelled transaction revokes its grants, on every device; one that holds again gives back what
  /// the store revoked, and leaves an operator's revocations alone. Answers the transactions as they stand then: a refund that
  /// is known shows also on a receipt from before it. `effect` gets the grants that changed, where the date of a refund changed,
  /// in the order of the commits.
  func applyRevocations(
    of transactions: [VerifiedTransaction], then effect: @escaping @Sendable ([Standing]) -> Void
  ) async throws -> [VerifiedTransaction] {
    let known = try await database.read { connection in
      try transactions.map { try Revision(of: $0, in: connection) }
    }
    guard known.contains(where: \.isNews) else { return known.map(\.transaction) }
    let now = clock.now()
    let locks = transactions.map { DatabaseLock.transaction($0.id, $0.store) }
    do {
      return try await database.write(locking: locks) { connection in
        var revised: [VerifiedTransaction] = []
        var changed: [Standing] = []
        var isRevocationNews = false
        for transaction in transactions {
          let revision = try Revision(of: transaction, in: connection)
          revised.append(revision.transaction)
          guard revision.isNews else { continue }
          try TransactionTable.setWord(
            revision.word, on: transaction.id, of: transaction.store, in: connection)
          guard revision.isRevocationNews else { continue }
          isRevocationNews = true
          changed += try Self.setWord(revision.word, on: transaction, at: now, in: connection)
        }
        return (revised, changed, isRevocationNews)
      } then: { _, changed, isRevocationNews in
        if isRevocationNews { effect(changed) }
      }.0
    } catch let failure as DatabaseError {
      // A later date of what holds anyway need not be written on a disk that cannot be: the next check brings it again.
      guard !known.contains(where: \.isRevocationNews) else { throw failure }
      return known.map(\.transaction)
    }
  }

  /// What a statement of a store makes of the word that the database has.
  private struct Revision: Sendable {
    /// By the latest word.
    var transaction: VerifiedTransaction
    var word: TransactionStanding.StoreWord
    /// Whether the statement is to be kept.
    var isNews: Bool
    /// Whether it tells another date of a refund than was known, or none any more.
    var isRevocationNews: Bool

    init(of transaction: VerifiedTransaction, in connection: borrowing Connection) throws {
      let known = try TransactionTable.word(on: transaction.id, of: transaction.store, in: connection)
      let said = TransactionStanding.StoreWord(asOf: transaction.asOf, revoked: transaction.revokedDate)
      word = known.map { max($0, said) } ?? said
      isNews = word != known && (known != nil || said.revoked != nil)
      isRevocationNews = word.revoked != known?.revoked
      self.transaction = transaction.revised(revokedDate: word.revoked, asOf: word.asOf)
    }
  }

  /// The grants of the transaction that changed.
  private static func setWord(
    _ word: TransactionStanding.StoreWord, on transaction: VerifiedTransaction, at now: Timestamp,
    in connection: borrowing Connection
  ) throws -> [Standing] {
    let grants = try GrantTable.all(
      store: transaction.store, transaction: transaction.id, in: connection)
    return try grants.compactMap { grant in
      var grant = grant
      let standing = TransactionStanding(storeWord: word, operatorWord: grant.operatorWord)
      let changed = try setStanding(
        standing, of: &grant,
        detail: standing.revocation == nil
          ? "the store vouches for it again" : "the store cancelled the purchase",
        at: now, in: connection)
      return changed
        ? Standing(handle: grant.handle, isRevoked: grant.machine.name == .revoked) : nil
    }
  }

  /// Whether the grant opens its content no more, or again. What the transaction still owes the device may be less then.
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
