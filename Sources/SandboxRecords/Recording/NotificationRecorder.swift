import Commerce
package import CoreTypes
package import Database

/// Writes down the notifications that a change of a transaction or a subscription calls for, in the database
/// transaction of the change.
///
/// What a transaction tells (sold, refunded, reversed, revoked) is told as its row changes, what a subscription tells
/// (renewed, ended, payment failed, another plan or price) as its own does. A purchase writes both rows, in either order:
/// where the subscription's comes second, it completes what the transaction's began.
package enum NotificationRecorder {
  /// Tells of a sale, and of a revocation or its reversal. A restored copy tells nothing, and finishing tells
  /// nothing.
  ///
  /// - Parameter earlier: the row before; nil for one that is new.
  static func transactionDidChange(
    from earlier: StoredTransaction?, to transaction: StoredTransaction, in connection: borrowing Connection
  ) throws {
    guard let sale = transaction.sale else { return }
    guard let before = earlier?.sale else {
      guard sale.reason != .restore else { return }
      try recordSale(transaction, sale, in: connection)
      return
    }
    guard before.revocation != sale.revocation, sale.reason != .restore else { return }
    let type: NotificationType =
      switch sale.revocation?.kind {
      case nil: .refundReversed
      case .refund?: .refund
      case .family?: .revoke
      }
    try record(type, of: transaction, in: connection)
  }

  /// First completes the notifications of a sale that wait for the subscription's row, then tells what
  /// changed. A subscription that is new tells nothing of its own. The end of the grace is written down with
  /// the failure and due at its moment; it is taken back where the payment succeeds before.
  static func subscriptionDidChange(
    from earlier: StoredSubscription?, to subscription: StoredSubscription,
    in connection: borrowing Connection
  ) throws {
    guard
      let last = try TransactionTable.last(
        in: connection, account: subscription.account, originalID: subscription.originalID)
    else { return }
    let recentStart = try recentStart(of: subscription, in: connection)
    func tell(_ content: inout NotificationContent) {
      content.renewal = RenewalPayload(subscription, last: last, recentStart: recentStart)
      content.transaction?.subscriptionGroupIdentifier = subscription.group.description
      content.status = SubscriptionStatus(subscription.life, last: last, at: subscription.life.start)
    }
    try NotificationTable.complete(original: subscription.originalID, in: connection, tell)
    guard let before = earlier?.life else { return }
    func record(
      _ type: NotificationType, _ subtype: NotificationSubtype? = nil, in connection: borrowing Connection
    ) throws {
      var draft = NotificationTable.Draft(
        type: type, subtype: subtype, account: subscription.account, original: subscription.originalID)
      draft.content.transaction = TransactionPayload(last)
      tell(&draft.content)
      if type == .gracePeriodExpired {
        draft.content.status = .billingRetry
        draft.due = subscription.life.graceEnd ?? draft.due
      }
      try NotificationTable.insert(draft, in: connection)
    }
    let life = subscription.life
    if before.start != life.start, last.sale?.reason == .renewal, last.sale?.date == life.start {
      try record(.didRenew, before.phase == .retrying ? .billingRecovery : nil, in: connection)
    }
    if before.phase == .retrying, life.phase != .retrying, life.intent != .billing {
      try NotificationTable.cancel(.gracePeriodExpired, original: subscription.originalID, in: connection)
    }
    switch (before.phase, life.phase) {
    case (.active, .retrying):
      try record(.didFailToRenew, life.graceEnd == nil ? nil : .gracePeriod, in: connection)
      if life.graceEnd != nil { try record(.gracePeriodExpired, in: connection) }
    case (.active, .expired), (.retrying, .expired), (.paused, .expired):
      try record(.expired, life.intent.flatMap(subtype), in: connection)
    case (.active, .active), (.retrying, .retrying):
      guard before.start == life.start else { return }
      for change in changes(from: before, to: life) {
        try record(change.type, change.subtype, in: connection)
      }
    default: break
    }
  }

  /// Returns the changes that the customer or a price made to a subscription that goes on.
  private static func changes(
    from before: SubscriptionLifecycle, to life: SubscriptionLifecycle
  ) -> [(type: NotificationType, subtype: NotificationSubtype?)] {
    var changes: [(type: NotificationType, subtype: NotificationSubtype?)] = []
    if before.autoRenews != life.autoRenews {
      changes.append((.didChangeRenewalStatus, life.autoRenews ? .autoRenewEnabled : .autoRenewDisabled))
    }
    if before.nextOffer != life.nextOffer, life.nextOffer != nil {
      changes.append((.offerRedeemed, life.nextPlan == nil ? nil : .downgrade))
    } else if before.nextPlan != life.nextPlan {
      changes.append((.didChangeRenewalPreference, life.nextPlan == nil ? nil : .downgrade))
    }
    if before.increase != life.increase, let increase = life.increase {
      changes.append(
        (.priceIncrease, increase.needsConsent && !increase.isAccepted ? .pending : .accepted))
    }
    return changes
  }

  /// The subtypes of `EXPIRED`.
  private static func subtype(of intent: SubscriptionLifecycle.ExpirationIntent) -> NotificationSubtype? {
    switch intent.rawValue {
    case 1: .voluntary
    case 2: .billingRetry
    case 3: .priceIncrease
    case 4: .productNotForSale
    default: nil
    }
  }

  /// The notification of a sale. A subscription that continues an earlier original transaction is an upgrade
  /// where another period ended at that moment, and a return after a lapse where none did.
  private static func recordSale(
    _ transaction: StoredTransaction, _ sale: PurchaseLifecycle.Sale, in connection: borrowing Connection
  ) throws {
    guard sale.type == .autoRenewableSubscription else {
      try record(.oneTimeCharge, of: transaction, in: connection)
      return
    }
    switch sale.reason {
    // A renewal is told as its subscription's row changes.
    case .restore, .renewal: return
    case .purchase where sale.originalID == transaction.id:
      try record(.subscribed, .initialBuy, of: transaction, in: connection)
    case .purchase:
      // What another product of the group takes the place of ends where that begins.
      let isUpgrade = try TransactionTable.wasUpgraded(
        originalID: sale.originalID, at: sale.date, in: connection)
      let upgrade: NotificationType =
        sale.offer?.kind == .code ? .offerRedeemed : .didChangeRenewalPreference
      try record(
        isUpgrade ? upgrade : .subscribed, isUpgrade ? .upgrade : .resubscribe, of: transaction,
        in: connection)
    }
  }

  /// Tells of a transaction, with the subscription that it belongs to. It is left for
  /// ``subscriptionDidChange(from:to:in:)`` to complete where the subscription's row does not have the sale
  /// yet. What was not sold tells nothing.
  ///
  /// - Parameter reason: why a refund is asked for, of `consumptionRequest`.
  package static func record(
    _ type: NotificationType, _ subtype: NotificationSubtype? = nil, of transaction: StoredTransaction,
    reason: String? = nil, in connection: borrowing Connection
  ) throws {
    guard let sale = transaction.sale else { return }
    var draft = NotificationTable.Draft(
      type: type, subtype: subtype, account: transaction.account, original: sale.originalID)
    draft.content.transaction = TransactionPayload(transaction)
    draft.content.consumptionReason = reason
    if sale.type == .autoRenewableSubscription {
      let subscription = try SubscriptionTable.find(in: connection, originalID: sale.originalID)
      let last = try TransactionTable.last(
        in: connection, account: transaction.account, originalID: sale.originalID)
      let isSale = [.subscribed, .didChangeRenewalPreference, .offerRedeemed].contains(type)
      if let subscription, let last, !isSale || subscription.life.start == sale.date {
        draft.content.renewal = RenewalPayload(
          subscription, last: last, recentStart: try recentStart(of: subscription, in: connection))
        draft.content.transaction?.subscriptionGroupIdentifier = subscription.group.description
        draft.content.status = SubscriptionStatus(
          subscription.life, last: last, at: subscription.life.start)
      } else {
        draft.awaitsSubscription = true
      }
    }
    try NotificationTable.insert(draft, in: connection)
  }

  /// The beginning of the latest run of periods of a subscription. Periods that follow each other within
  /// sixty days, in the store's proportion, are one run. Nil where nothing was paid for.
  package static func recentStart(
    of subscription: StoredSubscription, in connection: borrowing Connection
  ) throws -> Timestamp? {
    let lapse = try CalendarTable.current(in: connection).contracted(.seconds(60 * 86_400))
    var start: Timestamp?
    let periods = try TransactionTable.latestPeriods(
      originalID: subscription.originalID, limit: periodsOfRun, in: connection)
    for period in periods {
      if let start, start - period.end >= lapse { break }
      start = period.start
    }
    return start
  }

  /// A run that is longer begins with the oldest of these.
  private static let periodsOfRun = 100
}
