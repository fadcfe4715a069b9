public import Commerce
import CoreTypes

/// The next renewal of a subscription (`JWSRenewalInfoDecodedPayload`). It names no application: only a
/// transaction with the same ``originalTransactionId`` says whose it is. Every member may be missing.
public struct SignedRenewalInfo: Codable, Hashable, Sendable {
  /// The first transaction of the subscription.
  public var originalTransactionId: String?
  /// The product that the subscription renews as.
  public var autoRenewProductId: String?
  /// The product that is subscribed to now.
  public var productId: String?
  /// 1 when it renews, 0 when not.
  public var autoRenewStatus: Int?
  /// 1 canceled by the customer, 2 not paid, 3 price refused, 4 no longer sold, 5 unknown.
  public var expirationIntent: Int?
  /// Whether the store tries again to be paid.
  public var isInBillingRetryPeriod: Bool?
  /// 0 a rise of the price is not agreed to yet, 1 it is.
  public var priceIncreaseStatus: Int?
  /// The end of the grace while the store tries again.
  public var gracePeriodExpiresDate: SignedDate?
  /// The kind of the offer at the renewal, by the numbers of ``SignedTransaction/offerType``.
  public var offerType: Int?
  /// The name of that offer.
  public var offerIdentifier: String?
  /// When this was signed.
  public var signedDate: SignedDate?
  /// Where it was bought.
  public var environment: SignedEnvironment?
  /// The start of the run of periods that goes on now.
  public var recentSubscriptionStartDate: SignedDate?
  /// When it renews.
  public var renewalDate: SignedDate?
  /// ISO 4217.
  public var currency: String?
  /// In thousandths of the currency's unit.
  public var renewalPrice: Int64?
  /// The customer, as the application named it.
  public var appAccountToken: String?

  /// A subscription of which nothing is known yet.
  public init() {}
}

/// The download of an application itself (`AppTransaction`). Every member may be missing.
public struct SignedAppTransaction: Codable, Hashable, Sendable {
  /// Where it was downloaded from.
  public var receiptType: SignedEnvironment?
  /// The application's number in the store; 0 or missing in the sandbox.
  public var appAppleId: Int64?
  /// The application.
  public var bundleId: String?
  /// Its version.
  public var applicationVersion: String?
  /// When this was signed.
  public var receiptCreationDate: SignedDate?
  /// When the application was first downloaded.
  public var originalPurchaseDate: SignedDate?
  /// The version that was first downloaded.
  public var originalApplicationVersion: String?
  /// The store's name of the download.
  public var appTransactionId: String?
  /// `iOS`, `macOS`, `tvOS`, `visionOS`.
  public var originalPlatform: String?

  /// An application of which nothing is known yet.
  public init() {}
}

extension SignedAppTransaction {
  /// Returns the purchase of the application that the store vouches for. Nil where the data name no download
  /// or no date, and where they are of an environment that never counts.
  public func vouched(by store: StoreIdentifier) -> VerifiedTransaction? {
    guard let environment = receiptType?.counting, let date = originalPurchaseDate?.timestamp,
      let application = bundleId.flatMap({ ApplicationIdentifier($0) }), let number = appTransactionId
    else { return nil }
    return .purchase(
      of: application, vouchedForBy: store, in: environment, number: number,
      version: originalApplicationVersion, date: date, asOf: receiptCreationDate?.timestamp ?? date)
  }
}
