public import Commerce
import CoreTypes

/// A receipt that a signature or the store itself vouches for. Only this module makes one.
public struct VerifiedAppReceipt: Hashable, Sendable {
  public let receipt: AppReceipt
  /// Every purchase that somebody vouches for, the latest last: at least those in the receipt; with the store's word
  /// also what it knows beyond the receipt.
  public let purchases: [InAppPurchase]

  /// After the signature and the chain were checked.
  init(signed receipt: AppReceipt) {
    self.init(receipt: receipt, purchases: receipt.purchases)
  }

  /// - Parameter purchases: from the receipt or from the store's answer about it.
  init(receipt: AppReceipt, purchases: [InAppPurchase]) {
    self.receipt = receipt
    self.purchases = purchases.sorted {
      ($0.purchaseDate, $0.transactionIdentifier) < ($1.purchaseDate, $1.transactionIdentifier)
    }
  }

  /// The purchases as the entitlement rules take them. Those whose names cannot be a product's or a transaction's here
  /// are left out: no product of ours is sold under them. Empty for a receipt of an unknown environment.
  public func transactions(store: StoreIdentifier) -> [VerifiedTransaction] {
    guard let environment = receipt.environment else { return [] }
    return purchases.compactMap { $0.transaction(store: store, environment: environment) }
  }
}

extension VerifiedAppReceipt: CustomStringConvertible {
  public var description: String {
    "receipt for \(receipt.bundleIdentifier) with \(purchases.count) purchases"
  }
}
