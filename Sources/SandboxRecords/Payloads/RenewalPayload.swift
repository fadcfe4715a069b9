import Commerce
package import CoreTypes
import PullboxAPI

/// The payload of signed renewal information: the JWSRenewalInfoDecodedPayload of Apple's documentation, in
/// the same units.
package struct RenewalPayload: Codable, Hashable, Sendable {
  package var originalTransactionId: String
  /// The product of the next renewal.
  package var autoRenewProductId: String
  /// The product of the period that runs or ran last.
  package var productId: String
  /// 1 where it renews by itself, else 0.
  package var autoRenewStatus: Int
  /// A ``SubscriptionLifecycle/ExpirationIntent``; nil while it is not over.
  package var expirationIntent: Int?
  /// Also while the grace period lasts; left out where nothing is tried.
  package var isInBillingRetryPeriod: Bool?
  /// 0 while an answer is awaited, 1 once the price is accepted or needs no answer.
  package var priceIncreaseStatus: Int?
  /// The end of the grace, while a payment is tried again.
  package var gracePeriodExpiresDate: Int64?
  package var signedDate: Int64?
  package var environment: String
  /// The beginning of the latest run of periods, in which lapses of less than sixty days do not count.
  package var recentSubscriptionStartDate: Int64?
  /// The end of the period that runs, or of the pause. Left out once it is over.
  package var renewalDate: Int64?
  package var currency: String?
  /// Thousandths of the currency's unit, for one payment of the offer if the next renewal is under one. Left
  /// out once it is over.
  package var renewalPrice: Int64?
  /// The kind of the offer that the next renewal is under.
  package var offerType: Int?
  package var offerIdentifier: String?
  package var offerDiscountType: String?
  package var offerPeriod: String?
  package var appAccountToken: String?
  package var appTransactionId: String

  /// Leaves `signedDate` to the signer.
  ///
  /// - Parameters:
  ///   - last: the latest transaction that was paid for under the subscription.
  ///   - recentStart: the beginning of the latest run of periods; nil for the start of the period that runs.
  package init(_ subscription: StoredSubscription, last: StoredTransaction, recentStart: Timestamp?) {
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

/// Where a subscription stands for the App Store Server API.
package enum SubscriptionStatus: Int, Codable, Hashable, Sendable {
  case active = 1
  case expired = 2
  case billingRetry = 3
  case billingGracePeriod = 4
  case revoked = 5

  /// A revocation of the last transaction counts before the phase of the subscription, and whatever has not
  /// been renewed at its end counts as expired.
  package init(_ life: SubscriptionLifecycle, last: StoredTransaction, at now: Timestamp) {
    switch life.phase {
    case _ where last.sale?.revocation != nil: self = .revoked
    case .active where now < life.expires: self = .active
    case .retrying: self = life.graceEnd.map { now < $0 } == true ? .billingGracePeriod : .billingRetry
    case .active, .paused, .expired: self = .expired
    }
  }
}
