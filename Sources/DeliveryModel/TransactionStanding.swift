package import CoreTypes

/// The state of a purchase, as far as it can be taken back: the latest word of its store, and the latest word of an operator
/// about a grant of it. A pure value: statements arrive in any order and any number of times, and the same ones lead to the
/// same state.
///
///     var standing = TransactionStanding()
///     standing.merge(.store(StoreWord(asOf: refundNoticed, revoked: refunded)))
///     standing.merge(.store(StoreWord(asOf: receiptCreated, revoked: nil)))  // an older receipt: nothing changes
///     standing.revocation  // .store
///
/// A store's word yields to its own later word alone. An operator's yields to an operator's later word, and to a
/// revocation that the store dates after the one that the operator decided about.
package struct TransactionStanding: Hashable, Sendable {
  /// A store's statement on a transaction.
  package struct StoreWord: Hashable, Sendable {
    /// The moment up to which the store knew what it said, by its own clock: when it signed, or was asked.
    package var asOf: Timestamp
    /// When the purchase was refunded or withdrawn; nil for one that holds.
    package var revoked: Timestamp?

    /// Without `revoked`, the store says that the purchase holds.
    package init(asOf: Timestamp, revoked: Timestamp? = nil) {
      self.asOf = asOf
      self.revoked = revoked
    }
  }

  /// An operator's decision about a grant.
  package struct OperatorWord: Hashable, Sendable {
    /// The decision itself.
    package enum Decision: Hashable, Sendable {
      /// The grant opens nothing, whatever the store says.
      case revoke
      /// The store's revocation of that date, the one that was known, counts no more; nil where none was known.
      case reinstate(excusing: Timestamp?)
    }

    /// When it was decided, by this server's clock.
    package var asOf: Timestamp
    /// The decision itself, until a later one replaces it.
    package var decision: Decision

    /// `asOf` is by this server's clock, unlike the dates of a store.
    package init(asOf: Timestamp, decision: Decision) {
      self.asOf = asOf
      self.decision = decision
    }

    /// The store's revocation that counts no more; nil where there is none.
    package var excused: Timestamp? {
      switch decision {
      case .revoke: nil
      case .reinstate(let excused): excused
      }
    }
  }

  /// A word of either party.
  package enum Statement: Hashable, Sendable {
    /// The store says how the purchase stands.
    case store(StoreWord)
    /// An operator has decided about a grant.
    case `operator`(OperatorWord)
  }

  /// The latest word of the store; nil before it has said anything.
  package private(set) var storeWord: StoreWord?
  /// The latest decision of an operator; nil without one.
  package private(set) var operatorWord: OperatorWord?

  /// Without arguments, a transaction of which nothing was ever said: it holds.
  package init(storeWord: StoreWord? = nil, operatorWord: OperatorWord? = nil) {
    self.storeWord = storeWord
    self.operatorWord = operatorWord
  }

  /// Takes the statement in. Of two words of one moment the one that revokes counts.
  package mutating func merge(_ statement: Statement) {
    switch statement {
    case .store(let word): storeWord = storeWord.map { max($0, word) } ?? word
    case .operator(let word): operatorWord = operatorWord.map { max($0, word) } ?? word
    }
  }

  /// Takes in all that the other one knows.
  package mutating func merge(_ other: TransactionStanding) {
    if let word = other.storeWord { merge(.store(word)) }
    if let word = other.operatorWord { merge(.operator(word)) }
  }

  /// Takes in what an operator decides at `now`, which is later than what operators decided before, also where the clock
  /// was set back since. A reinstatement excuses the store's revocation that is known, and those up to `excused`. Answers the
  /// decision.
  @discardableResult
  package mutating func decide(_ isRevoked: Bool, excusing excused: Timestamp? = nil, at now: Timestamp)
    -> OperatorWord
  {
    let asOf = operatorWord.map { max(now, $0.asOf + .milliseconds(1)) } ?? now
    let latest = [storeWord?.revoked, excused].compactMap { $0 }.max()
    let word = OperatorWord(asOf: asOf, decision: isRevoked ? .revoke : .reinstate(excusing: latest))
    merge(.operator(word))
    return word
  }

  /// The party whose word revokes the purchase; nil while the purchase opens its content.
  package var revocation: RevocationSource? {
    switch operatorWord?.decision {
    case .revoke: return .operator
    case .reinstate(excusing: let excused?):
      guard let revoked = storeWord?.revoked, revoked > excused else { return nil }
      return .store
    case .reinstate(excusing: nil), nil: return storeWord?.revoked == nil ? nil : .store
    }
  }
}

extension TransactionStanding.StoreWord: Comparable {
  /// The later word is the greater one; of one moment the one that revokes, and of two revocations the later.
  package static func < (left: Self, right: Self) -> Bool {
    if left.asOf != right.asOf { return left.asOf < right.asOf }
    return isEarlier(left.revoked, right.revoked)
  }
}

extension TransactionStanding.OperatorWord: Comparable {
  /// The later decision is the greater one; of one moment the one that revokes.
  package static func < (left: Self, right: Self) -> Bool {
    if left.asOf != right.asOf { return left.asOf < right.asOf }
    switch (left.decision, right.decision) {
    case (.revoke, _): return false
    case (.reinstate, .revoke): return true
    // The one that excuses more is the lesser one.
    case (.reinstate(let left), .reinstate(let right)): return isEarlier(right, left)
    }
  }
}

/// No date at all is earlier than any.
private func isEarlier(_ left: Timestamp?, _ right: Timestamp?) -> Bool {
  switch (left, right) {
  case (let left?, let right?): left < right
  case (nil, .some): true
  case (_, nil): false
  }
}
