public import Commerce
public import CoreTypes

/// A subscription of an account, of which there is one for each publication.
public struct StoreSubscription: Codable, Hashable, Sendable {
  /// Where a subscription stands.
  public enum State: String, ListedWords, Sendable {
    case active
    /// The payment failed, and is tried again. What was paid for serves on until ``StoreSubscription/gracePeriodExpiresDate``.
    case billingRetry = "billing-retry"
    /// Its customer pays for no period for a while. Only what was sold through the Google-like interface pauses.
    case paused
    case expired

    /// It is not over; its dates say until when it serves.
    public static var fallback: State? { .active }
  }

  /// Its first transaction, which all that follow name.
  public var originalId: TransactionIdentifier
  /// The product that the present period was paid for, or the last one.
  public var product: ProductIdentifier
  /// Where it stands.
  public var state: State
  /// Whether it goes on at the end of the period.
  public var autoRenew: Bool
  /// The product of the next renewal; absent if it is ``product``, or if there is no renewal.
  public var renewalProduct: ProductIdentifier?
  /// When the period began.
  public var purchaseDate: Timestamp
  /// When the period ends.
  public var expiresDate: Timestamp
  /// With `billing-retry` only.
  public var gracePeriodExpiresDate: Timestamp?
  /// When a `paused` one goes on by itself.
  public var resumeDate: Timestamp?
  /// The reason why the subscription expired, with the numbers of `verifyReceipt`: 1 the customer ended it, 2 the payment
  /// failed, 3 the customer did not accept a higher price. Present only if it has expired.
  public var expirationIntent: Int?
  /// The price of the next renewals, where it is to be another one; absent otherwise, and from stores that do not tell.
  public var newPrice: PendingPrice?
  /// When the payment of the last period was given back or taken back; absent otherwise, and from stores that do not tell.
  public var revocationDate: Timestamp?

  /// Creates the document from its members.
  public init(
    originalId: TransactionIdentifier, product: ProductIdentifier, state: State, autoRenew: Bool,
    renewalProduct: ProductIdentifier? = nil, purchaseDate: Timestamp, expiresDate: Timestamp,
    gracePeriodExpiresDate: Timestamp? = nil, resumeDate: Timestamp? = nil, expirationIntent: Int? = nil,
    newPrice: PendingPrice? = nil, revocationDate: Timestamp? = nil
  ) {
    self.originalId = originalId
    self.product = product
    self.state = state
    self.autoRenew = autoRenew
    self.renewalProduct = renewalProduct
    self.purchaseDate = purchaseDate
    self.expiresDate = expiresDate
    self.gracePeriodExpiresDate = gracePeriodExpiresDate
    self.resumeDate = resumeDate
    self.expirationIntent = expirationIntent
    self.newPrice = newPrice
    self.revocationDate = revocationDate
  }
}

/// A price that the renewals of a subscription are to have.
public struct PendingPrice: Codable, Hashable, Sendable {
  /// In the account's territory.
  public var price: Price
  /// Whether the subscription ends with its period unless the customer accepts the price.
  public var needsConsent: Bool
  /// Whether the customer has accepted it.
  public var isAccepted: Bool

  private enum CodingKeys: String, CodingKey {
    case price
    case needsConsent
    case isAccepted = "accepted"
  }

  /// Creates the document from its members.
  public init(price: Price, needsConsent: Bool, isAccepted: Bool) {
    self.price = price
    self.needsConsent = needsConsent
    self.isAccepted = isAccepted
  }
}

/// `GET /store/v1/subscriptions`.
public struct SubscriptionsResponse: Codable, Sendable {
  /// The account's subscriptions, also those that are over, the earliest first.
  public var subscriptions: [StoreSubscription]

  /// Creates the document from its members.
  public init(subscriptions: [StoreSubscription]) {
    self.subscriptions = subscriptions
  }
}

/// `PATCH /store/v1/subscriptions/{originalId}`; what is absent stays as it is.
public struct SubscriptionChange: Codable, Sendable {
  /// Whether it goes on at the end of the period.
  public var autoRenew: Bool?
  /// The product of the next renewal: one of the same publication.
  public var product: ProductIdentifier?
  /// True accepts the higher price that waits for consent.
  public var acceptPrice: Bool?

  /// Creates the change.
  public init(autoRenew: Bool? = nil, product: ProductIdentifier? = nil, acceptPrice: Bool? = nil) {
    self.autoRenew = autoRenew
    self.product = product
    self.acceptPrice = acceptPrice
  }
}
