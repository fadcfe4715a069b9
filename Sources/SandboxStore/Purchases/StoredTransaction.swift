import Commerce
import CoreTypes
import PullboxAPI
import Receipts

/// A transaction as the store keeps it.
struct StoredTransaction: Hashable, Sendable {
  let id: Int64
  /// The row of its account.
  let account: Int64
  let product: ProductIdentifier
  let quantity: Int
  let device: DeviceIdentifier?
  let applicationUsername: String?
  /// When the purchase was asked for.
  let requested: Timestamp
  var life: PurchaseLifecycle

  /// What clients see.
  var published: StoreTransaction {
    get throws {
      let sale = sale
      var transaction = StoreTransaction(
        id: try Self.identifier(id), originalId: try Self.identifier(sale?.originalID ?? id),
        product: product,
        quantity: quantity, state: .purchasing, purchaseDate: sale?.date ?? requested,
        expiresDate: sale?.expires, device: device, applicationUsername: applicationUsername)
      switch life.state {
      case .purchasing: break
      case .purchased(_, let finished):
        transaction.state = .purchased
        transaction.finishedDate = finished
      case .failed(let failure):
        transaction.state = .failed
        transaction.error = failure.rawValue
      }
      return transaction
    }
  }

  /// What a receipt says of it. Nil for what was not sold, and for a finished consumable: those leave
  /// receipts.
  var receiptEntry: InAppPurchase? {
    guard case .purchased(let sale, let finished) = life.state,
      sale.type != .consumable || finished == nil
    else { return nil }
    var entry = InAppPurchase(
      quantity: Int64(quantity), productIdentifier: product.description, transactionIdentifier: String(id),
      originalTransactionIdentifier: String(sale.originalID), purchaseDate: sale.date,
      originalPurchaseDate: sale.date)
    entry.productType = sale.type.receiptNumber
    entry.expiresDate = sale.expires
    if sale.type == .autoRenewableSubscription {
      entry.webOrderLineItemIdentifier = id
      entry.isTrialPeriod = false
      entry.isInIntroductoryOfferPeriod = false
    }
    return entry
  }

  var sale: PurchaseLifecycle.Sale? {
    guard case .purchased(let sale, _) = life.state else { return nil }
    return sale
  }

  private static func identifier(_ number: Int64) throws -> TransactionIdentifier {
    guard let identifier = TransactionIdentifier(String(number)) else {
      throw SandboxStoreError("transaction \(number) has no name")
    }
    return identifier
  }
}

extension ProductType {
  /// Attribute 1707 of a receipt.
  fileprivate var receiptNumber: Int64 {
    switch self {
    case .nonConsumable: 0
    case .consumable: 1
    case .nonRenewingSubscription: 2
    case .autoRenewableSubscription: 3
    }
  }
}

/// Why the store cannot do what it was about to do with a transaction.
struct SandboxStoreError: Error, Hashable, Sendable, CustomStringConvertible {
  let description: String

  init(_ description: String) {
    self.description = description
  }
}
