/// A notification that a store sends by itself (version 2 of its notifications). Every member may be missing.
public struct SignedNotification: Codable, Hashable, Sendable {
  /// A kind of event. A kind that this version does not know is kept as it was written.
  public struct Kind: RawRepresentable, Codable, Hashable, Sendable {
    /// The name of the kind on the wire.
    public var rawValue: String

    /// Any name.
    public init(rawValue: String) {
      self.rawValue = rawValue
    }

    /// A refund was granted.
    public static let refund = Kind(rawValue: "REFUND")
    /// A refund was taken back.
    public static let refundReversed = Kind(rawValue: "REFUND_REVERSED")
    /// A family lost what one of its members had bought.
    public static let revoke = Kind(rawValue: "REVOKE")
    /// A customer asks for a refund, and the store for what was delivered.
    public static let consumptionRequest = Kind(rawValue: "CONSUMPTION_REQUEST")
    /// A subscription was renewed.
    public static let didRenew = Kind(rawValue: "DID_RENEW")
    /// A subscription has ended.
    public static let expired = Kind(rawValue: "EXPIRED")
    /// An operator of the application asked for it.
    public static let test = Kind(rawValue: "TEST")
  }

  /// The subject of a notification.
  public struct Content: Codable, Hashable, Sendable {
    /// The application's number in the store; missing in the sandbox.
    public var appAppleId: Int64?
    /// The application.
    public var bundleId: String?
    /// The application's version.
    public var bundleVersion: String?
    /// Where it happened.
    public var environment: SignedEnvironment?
    /// The transaction, signed by itself.
    public var signedTransactionInfo: String?
    /// The renewal info of a subscription, signed by itself.
    public var signedRenewalInfo: String?
    /// The status of a subscription: 1 active, 2 expired, 3 the store tries to be paid, 4 in grace, 5
    /// revoked.
    public var status: Int?
    /// Why a customer asks for a refund.
    public var consumptionRequestReason: String?
    /// The name of a token for a purchase outside of the store; one of the sandbox begins with `SANDBOX`.
    public var externalPurchaseId: String?

    /// Content of which nothing is known yet.
    public init() {}
  }

  /// The kind of the event.
  public var notificationType: Kind?
  /// The variant of the event, within its kind.
  public var subtype: String?
  /// The name of the notification, the same at each attempt to deliver it.
  public var notificationUUID: String?
  /// `2.0`.
  public var version: String?
  /// When this was signed.
  public var signedDate: SignedDate?
  /// About one customer's purchase.
  public var data: Content?
  /// About many at once.
  public var summary: Content?
  /// About a purchase outside of the store, which names no environment.
  public var externalPurchaseToken: Content?
  /// About the application on a customer's device, as where a consent is taken back.
  public var appData: Content?

  /// The one of the four members that there is, with its environment; nil of a notification that has none of them.
  public var content: Content? {
    guard var content = data ?? summary ?? appData ?? externalPurchaseToken else { return nil }
    if content.environment == nil, let name = content.externalPurchaseId {
      content.environment = name.hasPrefix("SANDBOX") ? .sandbox : .production
    }
    return content
  }

  /// A notification of which nothing is known yet.
  public init() {}
}
