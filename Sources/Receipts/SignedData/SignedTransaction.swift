public import Commerce
import CoreTypes

/// The environment that signed data names. One that this version does not know is kept as it was written.
public struct SignedEnvironment: RawRepresentable, Codable, Hashable, Sendable {
  /// The name of the environment on the wire.
  public var rawValue: String

  /// Any name.
  public init(rawValue: String) {
    self.rawValue = rawValue
  }

  /// Purchases that cost money.
  public static let production = SignedEnvironment(rawValue: "Production")
  /// Purchases for tests.
  public static let sandbox = SignedEnvironment(rawValue: "Sandbox")
  /// A developer's own machine: it never counts.
  public static let xcode = SignedEnvironment(rawValue: "Xcode")
  /// Tests of a library: it never counts.
  public static let localTesting = SignedEnvironment(rawValue: "LocalTesting")

  /// The store's world of that name; nil for those that count nowhere.
  public var counting: StoreEnvironment? {
    switch self {
    case .production: .production
    case .sandbox: .sandbox
    default: nil
    }
  }
}

/// A transaction as a store signs it (`JWSTransactionDecodedPayload`). Every member may be missing, words and numbers with
/// a fixed meaning are kept as they were written, and unknown members are passed over.
public struct SignedTransaction: Codable, Hashable, Sendable {
  /// The transaction.
  public var transactionId: String?
  /// The first transaction of the purchase.
  public var originalTransactionId: String?
  /// The period of a subscription, on every device the same.
  public var webOrderLineItemId: String?
  /// The application.
  public var bundleId: String?
  /// The product that was bought.
  public var productId: String?
  /// The group of the subscription.
  public var subscriptionGroupIdentifier: String?
  /// When it was paid for.
  public var purchaseDate: SignedDate?
  /// When the first transaction was paid for.
  public var originalPurchaseDate: SignedDate?
  /// The end of a subscription's period.
  public var expiresDate: SignedDate?
  /// How many were bought.
  public var quantity: Int?
  /// `Auto-Renewable Subscription`, `Non-Consumable`, `Consumable`, `Non-Renewing Subscription`.
  public var type: String?
  /// The customer, as the application named it: a UUID.
  public var appAccountToken: String?
  /// `PURCHASED`, `FAMILY_SHARED`.
  public var inAppOwnershipType: String?
  /// When this was signed.
  public var signedDate: SignedDate?
  /// 1 for something that was wrong with the application, 0 for anything else.
  public var revocationReason: Int?
  /// When the purchase was refunded or withdrawn.
  public var revocationDate: SignedDate?
  /// `REFUND_FULL`, `REFUND_PRORATED`, `FAMILY_REVOKE`.
  public var revocationType: String?
  /// How much was refunded, in thousandths of a percent.
  public var revocationPercentage: Int?
  /// Whether another product of the group took its place before its end.
  public var isUpgraded: Bool?
  /// 1 introductory, 2 promotional, 3 by a code, 4 to win a customer back.
  public var offerType: Int?
  /// The offer's name.
  public var offerIdentifier: String?
  /// `FREE_TRIAL`, `PAY_AS_YOU_GO`, `PAY_UP_FRONT`, `ONE_TIME`.
  public var offerDiscountType: String?
  /// The offer's length, as in ISO 8601.
  public var offerPeriod: String?
  /// Where it was bought.
  public var environment: SignedEnvironment?
  /// The country of the store, in three letters.
  public var storefront: String?
  /// The store's number of it.
  public var storefrontId: String?
  /// `PURCHASE`, `RENEWAL`.
  public var transactionReason: String?
  /// ISO 4217.
  public var currency: String?
  /// In thousandths of the currency's unit.
  public var price: Int64?
  /// The application's own transaction.
  public var appTransactionId: String?

  /// The token of applications that know no account.
  private static let noAccount = "00000000-0000-0000-0000-000000000000"

  /// A transaction of which nothing is known yet.
  public init() {}

  /// Returns the transaction that the store vouches for. It has the grace that `renewal` tells of where that
  /// is of the same purchase. Nil when a member that every transaction has is missing, and when it is of an
  /// environment that never counts.
  public func vouched(
    by store: StoreIdentifier, renewal: SignedRenewalInfo? = nil
  ) -> VerifiedTransaction? {
    guard let environment = environment?.counting, let purchaseDate = purchaseDate?.timestamp,
      let id = transactionId.flatMap({ TransactionIdentifier($0) }),
      let original = (originalTransactionId ?? transactionId).flatMap({ TransactionIdentifier($0) }),
      let product = productId.flatMap({ ProductIdentifier($0) })
    else { return nil }
    let (expires, revoked) = (expiresDate?.timestamp, revocationDate?.timestamp)
    // An upgraded period is refunded like any other; then its end has a reason.
    let isRefunded = revoked != nil && (revocationReason != nil || revocationType != nil)
    let wasUpgraded = isUpgraded == true && !isRefunded
    let ownRenewal = renewal.flatMap { $0.originalTransactionId == originalTransactionId ? $0 : nil }
    let isLatest = ownRenewal?.productId == nil || ownRenewal?.productId == productId
    // A refund that is told was known.
    let asOf = [signedDate?.timestamp, ownRenewal?.signedDate?.timestamp, revoked].compactMap { $0 }.max()
    return VerifiedTransaction(
      vouchedForBy: store, in: environment, id: id, originalID: original, product: product,
      purchaseDate: purchaseDate,
      // What took its place has the rest of the period; that is no refund of what was before.
      expiresDate: wasUpgraded ? [expires, revoked].compactMap { $0 }.min() : expires,
      graceExpiresDate: isLatest && expires != nil ? ownRenewal?.gracePeriodExpiresDate?.timestamp : nil,
      billingRetryEndDate: isLatest && !wasUpgraded
        ? BillingRetry.end(of: expires, isInBillingRetry: ownRenewal?.isInBillingRetryPeriod, asOf: asOf)
        : nil,
      revokedDate: wasUpgraded ? nil : revoked, quantity: max(1, quantity ?? 1),
      price: currency.flatMap { currency in price.flatMap { Price(thousandths: $0, currency: currency) } },
      account: appAccountToken.flatMap { $0 == Self.noAccount ? nil : ApplicationAccount($0) },
      application: bundleId.flatMap { ApplicationIdentifier($0) },
      territory: storefront.flatMap { Territory($0) }, asOf: asOf)
  }
}
