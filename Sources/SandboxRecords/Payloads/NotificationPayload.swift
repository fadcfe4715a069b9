/// The payload of a signed notification: the responseBodyV2DecodedPayload of Apple's documentation. It has
/// either `data` or `summary`.
package struct NotificationPayload: Codable, Hashable, Sendable {
  /// The content of every notification but the summary of an extension. The two `signed…` members are JWSs of
  /// their own.
  package struct Details: Codable, Hashable, Sendable {
    package var appAppleId: Int64?
    package var bundleId: String
    package var bundleVersion = "1"
    package var environment: String
    package var signedTransactionInfo: String?
    package var signedRenewalInfo: String?
    /// A ``SubscriptionStatus``; nil for what is no subscription.
    package var status: Int?
    /// Nil but for `CONSUMPTION_REQUEST`.
    package var consumptionRequestReason: String?

    package init(
      appAppleId: Int64?, bundleId: String, environment: String, signedTransactionInfo: String?,
      signedRenewalInfo: String?, status: Int?, consumptionRequestReason: String?
    ) {
      self.appAppleId = appAppleId
      self.bundleId = bundleId
      self.environment = environment
      self.signedTransactionInfo = signedTransactionInfo
      self.signedRenewalInfo = signedRenewalInfo
      self.status = status
      self.consumptionRequestReason = consumptionRequestReason
    }
  }

  /// The outcome of an extension for all subscribers. The store keeps it without environment and application,
  /// which the signer fills in.
  package struct Summary: Codable, Hashable, Sendable {
    package var environment: String?
    package var appAppleId: Int64?
    package var bundleId: String?
    package var productId: String
    package var requestIdentifier: String
    /// Left out where the request named none.
    package var storefrontCountryCodes: [String]?
    package var succeededCount: Int64
    package var failedCount: Int64

    package init(
      productId: String, requestIdentifier: String, storefrontCountryCodes: [String]?, succeededCount: Int64,
      failedCount: Int64
    ) {
      self.productId = productId
      self.requestIdentifier = requestIdentifier
      self.storefrontCountryCodes = storefrontCountryCodes
      self.succeededCount = succeededCount
      self.failedCount = failedCount
    }
  }

  package var notificationType: String
  package var subtype: String?
  package var notificationUUID: String
  package var version = "2.0"
  /// Milliseconds since the epoch.
  package var signedDate: Int64
  package var data: Details?
  package var summary: Summary?

  package init(notificationType: String, subtype: String?, notificationUUID: String, signedDate: Int64) {
    self.notificationType = notificationType
    self.subtype = subtype
    self.notificationUUID = notificationUUID
    self.signedDate = signedDate
  }
}
