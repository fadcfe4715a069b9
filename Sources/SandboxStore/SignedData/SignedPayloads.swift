import Commerce
import CoreTypes
import PullboxAPI

/// The payload of a signed transaction: the JWSTransactionDecodedPayload of Apple's documentation. Dates are
/// milliseconds since the epoch, prices thousandths of the currency. Members that the store has no value for
/// are left out.
struct TransactionPayload: Codable, Hashable, Sendable {
  var transactionId: String
  var originalTransactionId: String
  var webOrderLineItemId: String?
  var bundleId: String?
  var productId: String
  var subscriptionGroupIdentifier: String?
  var purchaseDate: Int64
  var originalPurchaseDate: Int64
  var expiresDate: Int64?
  var quantity: Int
  var type: String
  /// A UUID in lower case.
  var appAccountToken: String?
  var inAppOwnershipType: String
  var signedDate: Int64?
  var revocationReason: Int?
  /// Without a reason and a type the moment at which another product of the group took the place of this one.
  var revocationDate: Int64?
  /// True, or left out.
  var isUpgraded: Bool?
  var environment: String
  var storefront: String?
  var storefrontId: String?
  var transactionReason: String
  var currency: String?
  var price: Int64?
  var appTransactionId: String
  var offerType: Int?
  /// The name that answers give to the offer of a code.
  var offerIdentifier: String?
  var offerDiscountType: String?
  /// How long one payment of the offer lasts.
  var offerPeriod: String?
  var revocationType: String?
  /// Thousandths of a percent.
  var revocationPercentage: Int64?

  /// Nil for what was not sold.
  init?(_ transaction: StoredTransaction, group: ProductIdentifier? = nil) {
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

/// The payload of signed renewal information: the JWSRenewalInfoDecodedPayload of Apple's documentation, in
/// the same units.
struct RenewalPayload: Codable, Hashable, Sendable {
  var originalTransactionId: String
  var autoRenewProductId: String
  var productId: String
  /// 1 where it renews by itself, else 0.
  var autoRenewStatus: Int
  var expirationIntent: Int?
  /// Also while the grace period lasts; left out where nothing is tried.
  var isInBillingRetryPeriod: Bool?
  /// 0 while an answer is awaited, 1 once the price is accepted or needs no answer.
  var priceIncreaseStatus: Int?
  var gracePeriodExpiresDate: Int64?
  var signedDate: Int64?
  var environment: String
  /// The beginning of the latest run of periods, in which lapses of less than sixty days do not count.
  var recentSubscriptionStartDate: Int64?
  var renewalDate: Int64?
  var currency: String?
  var renewalPrice: Int64?
  /// The kind of the offer that the next renewal is under.
  var offerType: Int?
  var offerIdentifier: String?
  var offerDiscountType: String?
  var offerPeriod: String?
  var appAccountToken: String?
  var appTransactionId: String

  init(_ subscription: StoredSubscription, last: StoredTransaction, recentStart: Timestamp?) {
    let life = subscription.life
    let next = life.nextPlan ?? life.plan
    originalTransactionId = String(subscription.originalID)
    autoRenewProductId = next.product.description
    productId = life.plan.product.description
    autoRenewStatus = life.autoRenews ? 1 : 0
    expirationIntent = life.intent?.rawValue
    isInBillingRetryPeriod = life.phase == .retrying ? true : nil
    priceIncreaseStatus = life.increase.map { $0.isAccepted || !$0.needsConsent ? 1 : 0 }
    gracePeriodExpiresDate = life.graceEnd?.millisecondsSinceEpoch
    environment = last.environment.rawValue
    recentSubscriptionStartDate = (recentStart ?? life.start).millisecondsSinceEpoch
    let price = life.nextPlan == nil ? life.increase?.price ?? next.price : next.price
    if life.phase != .expired {
      renewalDate = (life.pauseEnd ?? life.expires).millisecondsSinceEpoch
      currency = price?.currency
      renewalPrice = price.map { _ in price.thousandths }
      if let run = life.renewalOffer {
        offerType = run.offer.kind.rawValue
        offerIdentifier = run.offer.kind == .code ? run.offer.name : nil
        offerDiscountType = run.offer.payment.signedName
        offerPeriod = run.period.description
        currency = run.price?.currency ?? currency
        renewalPrice = run.price.thousandths
      }
    }
    appAccountToken = ApplicationAccountToken(last.applicationUsername)?.text
    appTransactionId = AppTransactionIdentifier(account: subscription.account).text
  }
}

/// The payload of a signed app transaction: that an account has the application. Unless a test says
/// otherwise, the values are those that Apple's sandbox has for every application.
struct AppTransactionPayload: Codable, Hashable, Sendable {
  var receiptType: String
  var appAppleId: Int64?
  var bundleId: String
  var applicationVersion = "1"
  var versionExternalIdentifier: Int64 = 0
  /// The date of the signature, in place of `signedDate`.
  var receiptCreationDate: Int64
  var originalPurchaseDate: Int64
  var originalApplicationVersion: String
  var appTransactionId: String
  var originalPlatform = "iOS"
}

/// Where a subscription stands for the App Store Server API.
enum SubscriptionStatus: Int, Codable, Hashable, Sendable {
  case active = 1
  case expired = 2
  case billingRetry = 3
  case billingGracePeriod = 4
  case revoked = 5

  init(_ life: SubscriptionLifecycle, last: StoredTransaction, at now: Timestamp) {
    switch life.phase {
    case _ where last.sale?.revocation != nil: self = .revoked
    case .active where now < life.expires: self = .active
    case .retrying: self = life.graceEnd.map { now < $0 } == true ? .billingGracePeriod : .billingRetry
    case .active, .paused, .expired: self = .expired
    }
  }
}

/// The name of an account's copy of the application: `70` and sixteen digits.
struct AppTransactionIdentifier: Hashable, Sendable {
  let account: Int64

  init(account: Int64) {
    self.account = account
  }

  /// Nil for any other text, such as a transaction's identifier.
  init?(_ text: String) {
    guard text.utf8.count == 18, text.hasPrefix(Self.prefix),
      text.utf8.allSatisfy({ (0x30...0x39).contains($0) }),
      let account = Int64(text.dropFirst(Self.prefix.count))
    else { return nil }
    self.account = account
  }

  var text: String {
    let digits = String(account)
    return Self.prefix + String(repeating: "0", count: max(0, 16 - digits.utf8.count)) + digits
  }

  private static let prefix = "70"
}

/// A UUID by which an application names its own account.
struct ApplicationAccountToken: Hashable, Sendable {
  /// In lower case.
  let text: String

  /// Nil for what is no UUID in its text of 36 characters.
  init?(_ text: String?) {
    guard let text, text.utf8.count == 36 else { return nil }
    for (index, byte) in text.utf8.enumerated() {
      let isDash = [8, 13, 18, 23].contains(index)
      guard isDash ? byte == 0x2D : Character(Unicode.Scalar(byte)).isHexDigit else { return nil }
    }
    self.text = text.lowercased()
  }
}

/// How an account comes by what it has.
enum Ownership: String, Hashable, Sendable {
  case purchased = "PURCHASED"
  case familyShared = "FAMILY_SHARED"
}

extension StoredTransaction {
  var ownership: Ownership {
    sharedFrom != nil || sale?.revocation?.kind == .family ? .familyShared : .purchased
  }
}

extension StoreOffer.Payment {
  /// The name in signed transactions and renewals.
  fileprivate var signedName: String {
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
