package import CoreTypes

/// The type of an App Store Server Notification, version 2. A table in docs/sandbox-store.md says what brings
/// each.
package enum NotificationType: String, Codable, Hashable, Sendable, CaseIterable {
  case subscribed = "SUBSCRIBED"
  case didRenew = "DID_RENEW"
  case didChangeRenewalPreference = "DID_CHANGE_RENEWAL_PREF"
  case didChangeRenewalStatus = "DID_CHANGE_RENEWAL_STATUS"
  case didFailToRenew = "DID_FAIL_TO_RENEW"
  case gracePeriodExpired = "GRACE_PERIOD_EXPIRED"
  case expired = "EXPIRED"
  case priceIncrease = "PRICE_INCREASE"
  case offerRedeemed = "OFFER_REDEEMED"
  case refund = "REFUND"
  case refundDeclined = "REFUND_DECLINED"
  case refundReversed = "REFUND_REVERSED"
  case consumptionRequest = "CONSUMPTION_REQUEST"
  case revoke = "REVOKE"
  case renewalExtended = "RENEWAL_EXTENDED"
  case renewalExtension = "RENEWAL_EXTENSION"
  case oneTimeCharge = "ONE_TIME_CHARGE"
  case test = "TEST"
}

/// The subtype of a notification: the particular event within its type.
package enum NotificationSubtype: String, Codable, Hashable, Sendable, CaseIterable {
  case initialBuy = "INITIAL_BUY"
  case resubscribe = "RESUBSCRIBE"
  case billingRecovery = "BILLING_RECOVERY"
  case upgrade = "UPGRADE"
  case downgrade = "DOWNGRADE"
  case autoRenewDisabled = "AUTO_RENEW_DISABLED"
  case autoRenewEnabled = "AUTO_RENEW_ENABLED"
  case gracePeriod = "GRACE_PERIOD"
  case voluntary = "VOLUNTARY"
  case billingRetry = "BILLING_RETRY"
  case priceIncrease = "PRICE_INCREASE"
  case productNotForSale = "PRODUCT_NOT_FOR_SALE"
  case pending = "PENDING"
  case accepted = "ACCEPTED"
  case summary = "SUMMARY"
  case failure = "FAILURE"
}

/// The content of a notification, as it was at its moment. It is signed when it is sent. Either `summary` is
/// there or `transaction`; a test has neither. The members are kept as JSON in the column `document`, so that
/// a member that is added is optional.
package struct NotificationContent: Codable, Hashable, Sendable {
  package var transaction: TransactionPayload?
  package var renewal: RenewalPayload?
  package var status: SubscriptionStatus?
  /// Why a refund is asked for.
  package var consumptionReason: String?
  package var summary: NotificationPayload.Summary?
}

/// A notification as the store keeps it, with what became of each attempt to send it.
package struct StoredNotification: Hashable, Sendable {
  package let id: Int64
  /// By which a receiver counts it once.
  package let uuid: String
  package let type: NotificationType
  package let subtype: NotificationSubtype?
  package let content: NotificationContent
  /// The date that it bears: each later than that of the one before. Nil until it is dated.
  package let signed: Timestamp?
  /// In the order in which they were made.
  package var attempts: [NotificationAttempt]
}

/// One attempt to send a notification.
package struct NotificationAttempt: Codable, Hashable, Sendable {
  /// Milliseconds since the epoch.
  package var attemptDate: Int64
  package var sendAttemptResult: Result

  package init(attemptDate: Int64, sendAttemptResult: Result) {
    self.attemptDate = attemptDate
    self.sendAttemptResult = sendAttemptResult
  }

  /// The result of an attempt, in the words of the notification history.
  package enum Result: String, Codable, Hashable, Sendable {
    case success = "SUCCESS"
    /// No answer within 30 seconds.
    case timedOut = "TIMED_OUT"
    /// The handshake failed, or the certificate is not one to trust.
    case tlsIssue = "TLS_ISSUE"
    /// An answer of 3xx, or more redirects than the client follows.
    case circularRedirect = "CIRCULAR_REDIRECT"
    /// The connection was lost before the head of an answer.
    case noResponse = "NO_RESPONSE"
    /// No address, or no connection to one.
    case socketIssue = "SOCKET_ISSUE"
    /// The answer was no HTTP, or too large.
    case invalidResponse = "INVALID_RESPONSE"
    /// The connection was lost within an answer.
    case prematureClose = "PREMATURE_CLOSE"
    /// An answer outside of 200 to 206 and 3xx.
    case unsuccessfulStatus = "UNSUCCESSFUL_HTTP_RESPONSE_CODE"
    case other = "OTHER"
  }
}
