package import Commerce
import CoreTypes
import PullboxAPI

/// The payload of a signed transaction: the JWSTransactionDecodedPayload of Apple's documentation. Dates are
/// milliseconds since the epoch, prices thousandths of the currency. Members that the store has no value for
/// are left out.
package struct TransactionPayload: Codable, Hashable, Sendable {
  package var transactionId: String
  package var originalTransactionId: String
  /// The transaction's own identifier; of auto-renewable subscriptions alone.
  package var webOrderLineItemId: String?
  /// The signer fills it in.
  package var bundleId: String?
  package var productId: String
  /// The publication, or the product if that has none.
  package var subscriptionGroupIdentifier: String?
  package var purchaseDate: Int64
  package var originalPurchaseDate: Int64
  package var expiresDate: Int64?
  package var quantity: Int
  package var type: String
  /// A UUID in lower case.
  package var appAccountToken: String?
  /// An ``Ownership``.
  package var inAppOwnershipType: String
  /// The signer fills it in.
  package var signedDate: Int64?
  /// 1 an issue with the app, 0 another.
  package var revocationReason: Int?
  /// Without a reason and a type the moment at which another product of the group took the place of this one.
  package var revocationDate: Int64?
  /// True, or left out.
  package var isUpgraded: Bool?
  package var environment: String
  /// ISO 3166 alpha-3.
  package var storefront: String?
  /// Apple's number of the storefront. The documentation gives that of the USA alone.
  package var storefrontId: String?
  /// `PURCHASE`, also for what was restored, or `RENEWAL`.
  package var transactionReason: String
  package var currency: String?
  /// The price of one unit. A free trial costs 0 in the currency of the storefront; what is free otherwise
  /// has no price.
  package var price: Int64?
  package var appTransactionId: String
  package var offerType: Int?
  /// The name that answers give to the offer of a code.
  package var offerIdentifier: String?
  package var offerDiscountType: String?
  /// How long one payment of the offer lasts.
  package var offerPeriod: String?
  /// `REFUND_FULL`, `REFUND_PRORATED` or `FAMILY_REVOKE`.
  package var revocationType: String?
  /// Thousandths of a percent.
  package var revocationPercentage: Int64?

  /// Nil for what was not sold.
  ///
  /// - Parameter group: the subscription's; nil where it is not known yet, or there is none.
  package init?(_ transaction: StoredTransaction, group: ProductIdentifier? = nil) {
    guard let sale = transaction.sale else { return nil }
    transactionId = String(transaction.id)
    originalTransactionId = String(sale.originalID)
    productId = transaction.product.description
    subscriptionGroupIdentifier = group?.description
    purchaseDate = sale.date.millisecondsSinceEpoch
    originalPurchaseDate = sale.originalDate.millisecondsSinceEpoch
    expiresDate = sale.expires?.millisecondsSinceEpoch
    quantity = transaction.quantity
    type = sale.type.signedName
    appAccountToken = ApplicationAccountToken(transaction.applicationUsername)?.text
    inAppOwnershipType = transaction.ownership.rawValue
    environment = transaction.environment.rawValue
    storefront = transaction.storefront
    storefrontId = transaction.storefront.flatMap { Self.storefrontIdentifiers[$0] }
    transactionReason = sale.reason == .renewal ? "RENEWAL" : "PURCHASE"
    currency = sale.price?.currency
    price = sale.price.map { _ in sale.price.thousandths }
    if let offer = sale.offer {
      offerType = offer.kind.rawValue
      offerIdentifier = offer.kind == .code ? offer.name : nil
      offerDiscountType = offer.payment.signedName
      offerPeriod = offer.period?.description
      if offer.payment == .freeTrial {
        currency = transaction.storefront.flatMap(TerritoryCurrency.code(of:))
        price = currency.map { _ in 0 }
      }
    }
    appTransactionId = AppTransactionIdentifier(account: transaction.account).text
    isUpgraded = sale.upgraded == nil ? nil : true
    if sale.type == .autoRenewableSubscription { webOrderLineItemId = transactionId }
    guard let revocation = sale.revocation else {
      revocationDate = sale.upgraded?.millisecondsSinceEpoch
      return
    }
    revocationDate = revocation.date.millisecondsSinceEpoch
    revocationReason = revocation.reason
    switch revocation.kind {
    case .family: revocationType = "FAMILY_REVOKE"
    case .refund:
      let percentage = revocation.percentage ?? 100
      revocationType = percentage == 100 ? "REFUND_FULL" : "REFUND_PRORATED"
      revocationPercentage = Int64(percentage) * 1000
    }
  }

  /// The numbers of storefronts that the documentation gives.
  private static let storefrontIdentifiers = ["USA": "143441"]
}

extension StoreOffer.Payment {
  /// The name in signed transactions and renewals.
  var signedName: String {
    switch self {
    case .freeTrial: "FREE_TRIAL"
    case .payAsYouGo: "PAY_AS_YOU_GO"
    case .payUpFront: "PAY_UP_FRONT"
    }
  }
}

extension ProductType {
  /// The name in a signed transaction.
  var signedName: String {
    switch self {
    case .autoRenewableSubscription: "Auto-Renewable Subscription"
    case .nonConsumable: "Non-Consumable"
    case .consumable: "Consumable"
    case .nonRenewingSubscription: "Non-Renewing Subscription"
    case .freeSubscription: "Free Subscription"
    }
  }
}
