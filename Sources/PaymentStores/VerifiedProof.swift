package import Commerce
package import CoreTypes
package import PullboxAPI
package import Receipts

/// A proof that a store vouches for: its transactions, and the device that it was issued to.
package struct VerifiedProof: Sendable {
  /// The transactions as they stand by the latest word that is known of each.
  package var transactions: [VerifiedTransaction]
  /// Each request must come from that device: what is known of a proof is known of one device. Nil for a proof that
  /// names none: a signed transaction is its customer's, on every device.
  package var binding: DeviceBinding?
  /// When the proof counts no more: the end of a license that was withdrawn. Nil for one that does not end.
  package var expires: Timestamp?

  /// When all that the proof shows has ended with licenses, by what is known of its transactions; nil where one of them goes on.
  package var licenseEnd: Timestamp? { transactions.licenseEnd }

  /// When what the store said may be another for the first time: the next end of a subscription's period or of its
  /// grace, or of the proof itself.
  func nextExpiry(after now: Timestamp) -> Timestamp? {
    let ends =
      transactions.flatMap {
        [$0.expiresDate, $0.graceExpiresDate, $0.billingRetryEndDate, $0.licenseEndDate]
      }
      + [expires]
    return ends.lazy.compactMap { $0 }.filter { $0 > now }.min()
  }
}

extension [VerifiedTransaction] {
  /// When the last license among them ends; nil where one that was not refunded goes on.
  package var licenseEnd: Timestamp? {
    let ends = filter { $0.revokedDate == nil }.map(\.licenseEndDate)
    return ends.contains(nil) ? nil : ends.compactMap { $0 }.max()
  }
}

/// Why a store vouches for nothing.
package struct StoreRefusal: Error, Sendable {
  /// The kinds of refusal, by whether another question may end otherwise.
  package enum Kind: Sendable {
    /// The same proof will be refused again, on the store's word or, where it was not asked, by what the proof
    /// itself says.
    case final(onStoresWord: Bool)
    /// Nothing was decided: the store was not reached, or could not say. The outcome is what that says of the store:
    /// a proof can be such that a store in good health decides nothing.
    case undetermined(CircuitBreaker.Outcome)
    /// The question was given up before the store answered: that says nothing of the store.
    case abandoned
  }

  package var kind: Kind
  /// The problem that the client is sent. It repeats no words of the store, of a proxy before the store, or of the network.
  package var problem: Problem
  /// The words of the store, the proxy or the network, for the log alone.
  package var cause: String?

  /// Whether the store says that a proof that was good is worth nothing any more. It named the same application and environment
  /// then: where that is refused now, this server's configuration has changed.
  package var isAboutProof: Bool {
    guard case .final(onStoresWord: true) = kind else { return false }
    return problem.code != .receiptWrongApplication && problem.code != .receiptWrongEnvironment
  }

  /// The same proof will be refused again.
  package static func final(
    _ code: ProblemCode, _ detail: String? = nil, onStoresWord: Bool
  ) -> StoreRefusal {
    StoreRefusal(kind: .final(onStoresWord: onStoresWord), problem: Problem(code, detail))
  }

  /// Nothing was decided; `retryAfter` is brought into the range of ``RetryAfter``.
  package static func undetermined(
    retryAfter: Duration, cause: String, outcome: CircuitBreaker.Outcome
  ) -> StoreRefusal {
    StoreRefusal(
      kind: .undetermined(outcome),
      problem: Problem(
        .verificationUndetermined, "the payment store cannot be asked at the moment",
        retryAfterSeconds: RetryAfter.seconds(clamping: retryAfter)),
      cause: cause)
  }

  /// The refusal of a question that was given up; nothing is logged of it.
  package static let abandoned = StoreRefusal(
    kind: .abandoned,
    problem: Problem(
      .verificationUndetermined, "the payment store cannot be asked at the moment",
      retryAfterSeconds: RetryAfter.range.lowerBound))
}
