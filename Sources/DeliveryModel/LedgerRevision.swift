package import Commerce
package import CoreTypes

/// The ledger's entry about a transaction once a store's statement is taken in. Pure: statements arrive in any order, and
/// the later one counts.
///
/// Of two statements the one of the later date counts, and it is completed by what only the earlier one tells. Of two of one
/// moment the one counts by which the service ends earlier, whichever came first: what ended by then does not begin again.
/// A refund counts by its own rule (``TransactionStanding``): a statement that tells of no refunds leaves the
/// one that is known.
package struct LedgerRevision: Sendable {
  /// By all that was ever said.
  package let transaction: VerifiedTransaction
  /// Whether there is anything to write down.
  package let isNews: Bool
  /// Whether it tells another date of a refund than was known, or none any more.
  package let isRevocationNews: Bool
  /// Whether something ends earlier than was known: a period, its grace, a license.
  package let endsEarlier: Bool

  /// `word` is what the store last said of it, `recorded` is nil where no more is known than that. A statement that says the
  /// same is news where it is later by more than `freshness`.
  package init(
    of said: VerifiedTransaction, word known: TransactionStanding.StoreWord?, recorded: VerifiedTransaction?,
    freshness: Duration
  ) {
    let isSilent = !said.tellsRefunds && said.revokedDate == nil
    let statement = TransactionStanding.StoreWord(
      asOf: said.asOf, revoked: isSilent ? known?.revoked : said.revokedDate)
    let word = known.map { max($0, statement) } ?? statement
    isRevocationNews = word.revoked != known?.revoked
    guard let recorded else {
      transaction = said.revised(revokedDate: word.revoked, asOf: word.asOf)
      isNews = true
      endsEarlier = false
      return
    }
    let (later, earlier) = said.counts(over: recorded) ? (said, recorded) : (recorded, said)
    transaction = later.completed(by: earlier).revised(revokedDate: word.revoked, asOf: word.asOf)
    isNews =
      transaction.asOf - recorded.asOf > freshness
      || transaction.licenseAsOf.map { $0 - (recorded.licenseAsOf ?? recorded.asOf) > freshness } ?? false
      || (recorded.licenseAsOf == nil) != (transaction.licenseAsOf == nil)
      || !transaction.saysAll(of: recorded)
    endsEarlier = transaction.ends(before: recorded)
  }
}

extension VerifiedTransaction {
  /// The same, which its store has repeated since.
  package func heard(asOf moment: Timestamp, licenseAsOf license: Timestamp?) -> VerifiedTransaction {
    with(
      license: (licenseEndDate, [licenseAsOf, license].compactMap { $0 }.max()), asOf: max(asOf, moment))
  }

  /// Whether the transaction's period, its grace or its license ends before the other's; no end counts as the
  /// latest.
  fileprivate func ends(before other: VerifiedTransaction) -> Bool {
    Self.isEarlier(serviceEnd, than: other.serviceEnd)
      || Self.isEarlier(licenseEndDate, than: other.licenseEndDate)
  }

  /// Whether this statement counts where the other one says something else: it is of a later date, or of the same one and the
  /// service ends earlier by it.
  fileprivate func counts(over other: VerifiedTransaction) -> Bool {
    asOf == other.asOf ? Self.isEarlier(serviceEnd, than: other.serviceEnd) : asOf > other.asOf
  }

  private static func isEarlier(_ end: Timestamp?, than other: Timestamp?) -> Bool {
    end.map { end in other.map { end < $0 } ?? true } ?? false
  }

  /// The last moment that the store may serve the period, nil where it has no end.
  private var serviceEnd: Timestamp? {
    expiresDate.map { max($0, graceExpiresDate ?? $0, billingRetryEndDate ?? $0) }
  }

  /// Whether both are the same but for the moments as of which they are told.
  fileprivate func saysAll(of other: VerifiedTransaction) -> Bool {
    with(license: (licenseEndDate, other.licenseAsOf), asOf: other.asOf) == other
  }

  /// Returns the same transaction with another license's end and another date.
  private func with(license: (end: Timestamp?, asOf: Timestamp?), asOf: Timestamp) -> VerifiedTransaction {
    VerifiedTransaction(
      vouchedForBy: store, in: environment, id: id, originalID: originalID, product: product,
      purchaseDate: purchaseDate, expiresDate: expiresDate, graceExpiresDate: graceExpiresDate,
      billingRetryEndDate: billingRetryEndDate, revokedDate: revokedDate, licenseEndDate: license.end,
      licenseAsOf: license.asOf, quantity: quantity, price: price, account: account, application: application,
      territory: territory, acknowledgement: acknowledgement, origin: origin, asOf: asOf)
  }

  /// Returns the license's end by the later of the two statements that tell of licenses. Where both are of one moment, the
  /// earlier end counts, and any end before none.
  private func license(or other: VerifiedTransaction) -> (end: Timestamp?, asOf: Timestamp?) {
    let (own, others) = (
      (end: licenseEndDate, asOf: licenseAsOf), (end: other.licenseEndDate, asOf: other.licenseAsOf)
    )
    guard let moment = own.asOf, let another = others.asOf else { return own.asOf == nil ? others : own }
    if moment == another { return ([own.end, others.end].compactMap { $0 }.min(), moment) }
    return moment > another ? own : others
  }

  /// With what only the earlier statement tells: of what never changes, and of a grace or a license's end, which most statements
  /// cannot know of.
  fileprivate func completed(by other: VerifiedTransaction) -> VerifiedTransaction {
    let latest = license(or: other)
    return VerifiedTransaction(
      vouchedForBy: store, in: environment, id: id, originalID: originalID, product: product,
      purchaseDate: purchaseDate, expiresDate: expiresDate,
      graceExpiresDate: graceExpiresDate
        ?? (expiresDate == other.expiresDate ? other.graceExpiresDate : nil),
      billingRetryEndDate: billingRetryEndDate
        ?? (expiresDate == other.expiresDate ? other.billingRetryEndDate : nil),
      revokedDate: revokedDate, licenseEndDate: latest.end, licenseAsOf: latest.asOf, quantity: quantity,
      price: price ?? other.price,
      account: account ?? other.account, application: application ?? other.application,
      territory: territory ?? other.territory, acknowledgement: acknowledgement ?? other.acknowledgement,
      origin: origin ?? other.origin, asOf: asOf)
  }
}
