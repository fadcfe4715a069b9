package import Commerce
package import PullboxAPI

/// A subscription as the store keeps it: one for each group and account, however often it lapsed.
package struct StoredSubscription: Hashable, Sendable {
  /// Its first transaction.
  package let originalID: Int64
  package let account: Int64
  /// The publication, or the product where that has none. Of the products of one group an account has one at a time.
  package let group: ProductIdentifier
  package var life: SubscriptionLifecycle

  /// The subscription as clients see it. Throws ``SandboxStoreError`` for an original transaction that has no
  /// identifier on the wire.
  package var published: StoreSubscription {
    get throws {
      let state: StoreSubscription.State =
        switch life.phase {
        case .active: .active
        case .retrying: .billingRetry
        case .paused: .paused
        case .expired: .expired
        }
      return StoreSubscription(
        originalId: try StoredTransaction.identifier(originalID), product: life.plan.product, state: state,
        autoRenew: life.autoRenews, renewalProduct: life.nextPlan?.product, purchaseDate: life.start,
        expiresDate: life.expires, gracePeriodExpiresDate: life.graceEnd, resumeDate: life.pauseEnd,
        expirationIntent: life.intent?.rawValue,
        newPrice: life.phase == .expired
          ? nil
          : life.increase.map {
            PendingPrice(price: $0.price, needsConsent: $0.needsConsent, isAccepted: $0.isAccepted)
          })
    }
  }
}
