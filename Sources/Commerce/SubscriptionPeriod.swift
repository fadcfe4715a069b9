import CoreTypes

/// The time one payment for a subscription bought: from `start` up to but not including `end`.
struct SubscriptionPeriod {
  let transaction: VerifiedTransaction
  let start: Timestamp
  let end: Timestamp

  /// Nil when the transaction says no end and the product's type does not let us compute one, or the end is not after
  /// the start.
  init?(_ transaction: VerifiedTransaction, of product: Product) {
    let computed: Timestamp? =
      product.type == .nonRenewingSubscription
      ? product.period.flatMap { transaction.purchaseDate.adding($0) } : nil
    guard let end = transaction.expiresDate ?? computed, end > transaction.purchaseDate else { return nil }
    self.transaction = transaction
    start = transaction.purchaseDate
    self.end = end
  }

  func contains(_ moment: Timestamp) -> Bool { start <= moment && moment < end }
}
