import Commerce
import CoreTypes
import SandboxRecords

/// A purchase by its token.
struct GooglePurchase: Sendable {
  var token: PurchaseToken
  /// The earliest first; of a one-time purchase the only one, whatever its state.
  var transactions: [StoredTransaction]
  /// The first payment of a subscription while it is not made, or after it has failed.
  var pending: StoredTransaction?
  /// Nil for a one-time purchase.
  var subscription: StoredSubscription?
  /// The transaction of the purchase that took this one's place.
  var successor: Int64?

  /// The product of the latest payment: a renewal for another product tells that one. Nil where there is
  /// none, not even one that is pending.
  var product: ProductIdentifier? { (transactions.last ?? pending)?.product }

  private var acknowledgement: String {
    token.acknowledged == nil ? "ACKNOWLEDGEMENT_STATE_PENDING" : "ACKNOWLEDGEMENT_STATE_ACKNOWLEDGED"
  }

  /// ISO 3166 alpha-2; nil for a territory that has none.
  private func region(_ transaction: StoredTransaction) -> String? {
    transaction.storefront.flatMap { Territory($0)?.region }
  }

  /// Throws ``GoogleError`` for a subscription.
  func productPurchase() throws -> GoogleDocuments.ProductPurchase {
    guard token.kind == .product, let transaction = transactions.first else { throw GoogleError.kindMismatch }
    let sale = transaction.sale
    return GoogleDocuments.ProductPurchase(
      productLineItem: [
        .init(
          productId: transaction.product.description,
          productOfferDetails: .init(
            quantity: transaction.quantity,
            refundableQuantity: sale?.revocation == nil ? transaction.quantity : 0,
            consumptionState: token.consumed == nil
              ? "CONSUMPTION_STATE_YET_TO_BE_CONSUMED" : "CONSUMPTION_STATE_CONSUMED"))
      ],
      purchaseStateContext: .init(purchaseState: ["PURCHASED", "CANCELLED", "PENDING"][state(transaction)]),
      acknowledgementState: acknowledgement, purchaseCompletionTime: sale?.date,
      orderId: OrderName.text(first: token.first, renewal: nil),
      testPurchaseContext: transaction.environment == .sandbox ? .init() : nil,
      obfuscatedExternalAccountId: transaction.applicationUsername, regionCode: region(transaction))
  }

  /// The same as version 1 says it. Throws ``GoogleError`` for a subscription.
  func firstProductPurchase() throws -> GoogleDocuments.FirstProductPurchase {
    guard token.kind == .product, let transaction = transactions.first else { throw GoogleError.kindMismatch }
    return GoogleDocuments.FirstProductPurchase(
      purchaseTimeMillis: String(
        (transaction.sale?.date ?? transaction.requested).millisecondsSinceEpoch),
      purchaseState: state(transaction), consumptionState: token.consumed == nil ? 0 : 1,
      acknowledgementState: token.acknowledged == nil ? 0 : 1,
      orderId: OrderName.text(first: token.first, renewal: nil),
      productId: transaction.product.description, purchaseToken: token.token,
      quantity: transaction.quantity, purchaseType: transaction.environment == .sandbox ? 0 : nil,
      obfuscatedExternalAccountId: transaction.applicationUsername, regionCode: region(transaction))
  }

  /// 0 purchased, 1 cancelled, 2 pending.
  private func state(_ transaction: StoredTransaction) -> Int {
    switch transaction.life.state {
    case .purchased(let sale, _): sale.revocation == nil ? 0 : 1
    case .failed: 1
    case .purchasing, .waiting: 2
    }
  }

  /// Checks that the end of a subscription can be put off. Throws ``GoogleError``, also as
  /// ``subscriptionPurchase(at:)`` does:
  ///
  /// - `notOwned` where it is not active, nor cancelled and still paid for;
  /// - `invalid` where it does not end at `expected`, or `desired` is not after that or more than 366 days
  ///   after.
  func checkDeferral(from expected: Timestamp, to desired: Timestamp, at now: Timestamp) throws {
    let current = try subscriptionPurchase(at: now)
    guard ["SUBSCRIPTION_STATE_ACTIVE", "SUBSCRIPTION_STATE_CANCELED"].contains(current.subscriptionState)
    else { throw GoogleError.notOwned }
    guard current.lineItems.first?.expiryTime == expected else {
      throw GoogleError.invalid("expectedExpiryTimeMillis")
    }
    // No longer than a year at once, as Google has it.
    guard desired > expected, desired - expected <= .seconds(366 * 86_400) else {
      throw GoogleError.invalid("desiredExpiryTimeMillis")
    }
  }

  /// A subscription whose first payment waits for an approval, or was refused. It has no dates.
  private func unpaid(_ transaction: StoredTransaction) -> GoogleDocuments.SubscriptionPurchase {
    let isOver = if case .failed = transaction.life.state { true } else { false }
    return GoogleDocuments.SubscriptionPurchase(
      subscriptionState: isOver
        ? "SUBSCRIPTION_STATE_PENDING_PURCHASE_CANCELED" : "SUBSCRIPTION_STATE_PENDING",
      lineItems: [.init(productId: transaction.product.description)],
      acknowledgementState: acknowledgement, linkedPurchaseToken: token.linked,
      externalAccountIdentifiers: transaction.applicationUsername.map {
        .init(obfuscatedExternalAccountId: $0)
      },
      testPurchase: transaction.environment == .sandbox ? .init() : nil, regionCode: region(transaction))
  }

  /// Throws ``GoogleError`` for a one-time purchase. `tokenUnknown` is thrown where its transactions or its
  /// subscription are not there.
  func subscriptionPurchase(at now: Timestamp) throws -> GoogleDocuments.SubscriptionPurchase {
    guard token.kind == .subscription else { throw GoogleError.kindMismatch }
    if let pending { return unpaid(pending) }
    guard let first = transactions.first, let last = transactions.last, let sale = last.sale,
      let start = first.sale?.date, let life = subscription?.life
    else { throw GoogleError.tokenUnknown }
    let (state, expiry) = standing(of: life, last: sale, at: now)
    var purchase = GoogleDocuments.SubscriptionPurchase(
      subscriptionState: "SUBSCRIPTION_STATE_\(state)",
      lineItems: [
        .init(
          productId: last.product.description, expiryTime: expiry,
          latestSuccessfulOrderId: OrderName.text(
            first: token.first, renewal: transactions.count == 1 ? nil : transactions.count - 2),
          autoRenewingPlan: .init(
            autoRenewEnabled: successor == nil && life.autoRenews,
            recurringPrice: GoogleDocuments.Money(sale.price)),
          offerDetails: .init(basePlanId: life.plan.period.description.lowercased()))
      ],
      startTime: start, acknowledgementState: acknowledgement, linkedPurchaseToken: token.linked,
      externalAccountIdentifiers: first.applicationUsername.map { .init(obfuscatedExternalAccountId: $0) },
      testPurchase: first.environment == .sandbox ? .init() : nil, regionCode: region(first))
    if state == "PAUSED" { purchase.pausedStateContext = .init(autoResumeTime: life.pauseEnd) }
    if successor != nil {
      purchase.canceledStateContext = .init(replacementCancellation: .init())
    } else if state == "CANCELED" {
      purchase.canceledStateContext =
        life.isStoppedByRefund == true
        ? .init(systemInitiatedCancellation: .init()) : .init(userInitiatedCancellation: .init())
    }
    return purchase
  }

  /// The state without its prefix, and the end of access. The checks are in this order: a refund of the
  /// latest payment, another purchase that took over, then the phase of the subscription.
  private func standing(
    of life: SubscriptionLifecycle, last sale: PurchaseLifecycle.Sale, at now: Timestamp
  ) -> (state: String, expiry: Timestamp) {
    let end = sale.expires ?? sale.date
    if let revocation = sale.revocation { return ("EXPIRED", min(end, revocation.date)) }
    if successor != nil { return ("EXPIRED", min(end, sale.upgraded ?? end)) }
    switch life.phase {
    case .active: return (life.autoRenews ? "ACTIVE" : "CANCELED", end)
    case .retrying:
      guard let grace = life.graceEnd, now < grace else { return ("ON_HOLD", life.graceEnd ?? end) }
      return ("IN_GRACE_PERIOD", grace)
    case .paused: return ("PAUSED", end)
    case .expired: return ("EXPIRED", end)
    }
  }
}
