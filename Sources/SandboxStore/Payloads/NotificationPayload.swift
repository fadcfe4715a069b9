/// The payload of a signed notification: the responseBodyV2DecodedPayload of Apple's documentation. It has
/// either `data` or `summary`.
struct NotificationPayload: Codable, Hashable, Sendable {
  /// The content of every notification but the summary of an extension. The two `signed…` members are JWSs of
  /// their own.
  struct Details: Codable, Hashable, Sendable {
    var appAppleId: Int64?
    var bundleId: String
    var bundleVersion = "1"
    var environment: String
    var signedTransactionInfo: String?
    var signedRenewalInfo: String?
    /// A ``SubscriptionStatus``; nil for what is no subscription.
    var status: Int?
    /// Nil but for `CONSUMPTION_REQUEST`.
    var consumptionRequestReason: String?
  }

  /// The outcome of an extension for all subscribers. The store keeps it without environment and application,
  /// which the signer fills in.
  struct Summary: Codable, Hashable, Sendable {
    var environment: String?
    var appAppleId: Int64?
    var bundleId: String?
    var productId: String
    var requestIdentifier: String
    /// Left out where the request named none.
    var storefrontCountryCodes: [String]?
    var succeededCount: Int64
    var failedCount: Int64
  }

  var notificationType: String
  var subtype: String?
  var notificationUUID: String
  var version = "2.0"
  /// Milliseconds since the epoch.
  var signedDate: Int64
  var data: Details?
  var summary: Summary?
}
