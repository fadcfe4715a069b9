package import Commerce
package import CoreTypes
package import PullboxAPI
package import Receipts
package import ServiceAPI

/// A transaction as the store keeps it.
package struct StoredTransaction: Hashable, Sendable {
  /// The identifier on the wire in digits. It counts up from 2000000000000001, so that a later transaction
  /// has a larger one.
  package let id: Int64
  /// The row of its account.
  package let account: Int64
  package let product: ProductIdentifier
  /// 1 to 10. Only of a consumable more than one is sold.
  package let quantity: Int
  /// Nil for what belongs to no device, as renewals do.
  package let device: DeviceIdentifier?
  /// The application's name for its user: at most 255 bytes, never read by the store. A copy that a family
  /// shares has none.
  package let applicationUsername: String?
  /// The account's territory; nil in transactions of before it was kept.
  package let storefront: String?
  package let environment: StoreEnvironment
  /// When the purchase was asked for.
  package let requested: Timestamp
  /// Whether its customer gives contact data for a bonus.
  package var optsIn = false
  /// The price that its customer saw; nil where any is taken.
  package var shown: ShownPrice?
  /// The transaction of another account that this one shares.
  package var sharedFrom: Int64?
  /// The volume license that it is a seat of.
  package var license: Int64?
  package var life: PurchaseLifecycle

  /// The transaction as clients see it. It expires where another product took its place, if that was earlier.
  /// Throws ``SandboxStoreError`` for an identifier that has no text.
  package var published: StoreTransaction {
    get throws {
      let sale = sale
      var transaction = StoreTransaction(
        id: try Self.identifier(id), originalId: try Self.identifier(sale?.originalID ?? id),
        product: product,
        quantity: quantity, state: .purchasing, purchaseDate: sale?.date ?? requested,
        expiresDate: [sale?.expires, sale?.upgraded].compactMap { $0 }.min(), device: device,
        applicationUsername: applicationUsername, price: sale?.price?.amount, currency: sale?.price?.currency,
        storefront: storefront, environment: environment.rawValue, revocationDate: sale?.revocation?.date)
      switch life.state {
      case .purchasing, .waiting(.customer): break
      case .waiting(.approval): transaction.state = .deferred
      case .purchased(let sale, let finished):
        transaction.state = sale.reason == .restore ? .restored : .purchased
        transaction.finishedDate = finished
      case .failed(let failure):
        transaction.state = .failed
        transaction.error = failure.rawValue
      }
      return transaction
    }
  }

  /// Returns the entry of the transaction in a receipt of that time. Nil for a transaction that was not sold,
  /// and for a consumable or a non-renewing subscription that is finished: receipts have those only until
  /// their transaction is finished.
  package func receiptEntry(at now: Timestamp) -> InAppPurchase? {
    guard case .purchased(let sale, let finished) = life.state, finished == nil || sale.type.staysInReceipts
    else { return nil }
    var entry = InAppPurchase(
      quantity: Int64(quantity), productIdentifier: product.description, transactionIdentifier: String(id),
      originalTransactionIdentifier: String(sale.originalID), purchaseDate: sale.date,
      originalPurchaseDate: sale.originalDate)
    entry.productType = sale.type.receiptNumber
    entry.expiresDate = sale.expires
    entry.cancellationDate = sale.revocation?.date ?? sale.upgraded
    if let end = sale.licenseEnds, end <= now { entry.cancellationDate = entry.cancellationDate ?? end }
    if sale.type == .autoRenewableSubscription {
      entry.webOrderLineItemIdentifier = id
      let introduction = sale.offer?.kind == .introductory ? sale.offer?.payment : nil
      entry.isTrialPeriod = introduction == .freeTrial
      entry.isInIntroductoryOfferPeriod = introduction != nil && introduction != .freeTrial
    }
    return entry
  }

  /// The same with what only the store's answers say.
  package func latestReceiptEntry(at now: Timestamp) -> InAppPurchase? {
    guard var entry = receiptEntry(at: now), let sale else { return nil }
    entry.ownershipType = ownership.rawValue
    entry.appAccountToken = applicationUsername
    if sale.offer?.kind == .code { entry.offerCodeReferenceName = sale.offer?.name }
    entry.isUpgraded = sale.upgraded == nil || sale.revocation != nil ? nil : true
    if entry.cancellationDate != nil {
      entry.cancellationReason = sale.revocation.map { String($0.reason) } ?? "0"
    }
    return entry
  }

  /// Nil for what was not sold; there is one for what was refunded.
  package var sale: PurchaseLifecycle.Sale? {
    guard case .purchased(let sale, _) = life.state else { return nil }
    return sale
  }

  /// Throws ``SandboxStoreError`` for a number that is no identifier on the wire.
  static func identifier(_ number: Int64) throws -> TransactionIdentifier {
    guard let identifier = TransactionIdentifier(String(number)) else {
      throw SandboxStoreError("transaction \(number) has no name")
    }
    return identifier
  }
}

/// How an account comes by what it has.
package enum Ownership: String, Hashable, Sendable {
  case purchased = "PURCHASED"
  case familyShared = "FAMILY_SHARED"
}

extension StoredTransaction {
  /// A copy whose sharing ended is still a shared one.
  package var ownership: Ownership {
    sharedFrom != nil || sale?.revocation?.kind == .family ? .familyShared : .purchased
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
    case .freeSubscription: 4
    }
  }

  /// Whether it is restored for good, also once its transaction is finished.
  fileprivate var staysInReceipts: Bool {
    switch self {
    case .nonConsumable, .autoRenewableSubscription, .freeSubscription: true
    case .consumable, .nonRenewingSubscription: false
    }
  }

  /// Whether it is bought once: bought again, it is restored.
  var isBoughtOnce: Bool { self == .nonConsumable || self == .freeSubscription }
}

/// Why the store cannot do what it was about to do with a transaction. It is a defect of the store or its
/// database, and is answered 500.
package struct SandboxStoreError: Error, Hashable, Sendable, CustomStringConvertible {
  package let description: String

  package init(_ description: String) {
    self.description = description
  }
}
