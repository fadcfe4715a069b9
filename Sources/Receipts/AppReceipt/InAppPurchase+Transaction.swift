import Commerce
import CoreTypes

extension InAppPurchase {
  /// Nil when a name in it cannot be one of ours. Only for purchases that somebody vouches for.
  func transaction(store: StoreIdentifier, environment: StoreEnvironment) -> VerifiedTransaction? {
    guard let id = TransactionIdentifier(transactionIdentifier),
      let originalID = TransactionIdentifier(originalTransactionIdentifier),
      let product = ProductIdentifier(productIdentifier)
    else { return nil }
    // The period of an upgraded subscription was paid for up to the upgrade; any other cancellation undoes the purchase.
    let end = isUpgraded == true ? [expiresDate, cancellationDate].compactMap { $0 }.min() : expiresDate
    return VerifiedTransaction(
      vouchedForBy: store, in: environment, id: id, originalID: originalID, product: product,
      purchaseDate: purchaseDate, expiresDate: end,
      revokedDate: isUpgraded == true ? nil : cancellationDate,
      quantity: Int(clamping: quantity))
  }
}
