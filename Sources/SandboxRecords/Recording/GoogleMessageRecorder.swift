import Commerce
import CoreTypes
import Database

/// Writes down the notifications that a change calls for, of purchases that have a token, in the database transaction of the
/// change.
enum GoogleMessageRecorder {
  /// Tells of a sale, of a pending purchase that failed, and of a payment that was given back; a
  /// subscription's end by a refund is two messages. It also keeps the tokens: one that began pending is
  /// bound to its subscription and gets a deadline, and one whose payment was given back loses it. A
  /// transaction without a token is told to no receiver.
  ///
  /// - Parameter earlier: the row before; nil for one that is new.
  static func transactionDidChange(
    from earlier: StoredTransaction?, to transaction: StoredTransaction, in connection: borrowing Connection
  ) throws {
    if case .failed = transaction.life.state, earlier?.sale == nil {
      guard
        let token = try PurchaseTokenTable.covering(transaction.id, chain: transaction.id, in: connection)
      else { return }
      try GoogleMessageTable.insert(
        token.kind == .subscription ? .subscription(.pendingPurchaseCancelled) : .product(.cancelled),
        of: token, transaction.product, at: transaction.requested, in: connection)
      return
    }
    if earlier?.sale == nil { try PurchaseTokenTable.bind(transaction, in: connection) }
    guard let sale = transaction.sale, sale.reason != .restore, let chain = transaction.chain,
      var token = try PurchaseTokenTable.covering(transaction.id, chain: chain, in: connection)
    else { return }
    if earlier?.sale == nil, token.first == transaction.id {
      // It was pending.
      token.deadline = try CalendarTable.current(in: connection).acknowledgementEnd(from: sale.date)
      try PurchaseTokenTable.update(token, in: connection)
      try GoogleMessageTable.insert(
        token.kind == .subscription ? .subscription(.purchased) : .product(.purchased), of: token,
        transaction.product, at: sale.date, in: connection)
    }
    guard earlier?.sale?.revocation == nil, let revocation = sale.revocation else { return }
    if token.deadline != nil {
      token.deadline = nil
      try PurchaseTokenTable.update(token, in: connection)
    }
    let number = try PurchaseTokenTable.transactions(of: token, in: connection)
      .firstIndex { $0.id == transaction.id }
    let order = OrderName.text(
      first: token.first, renewal: number.flatMap { $0 == 0 ? nil : $0 - 1 })
    try GoogleMessageTable.insert(
      .voided(order: order), of: token, transaction.product, at: revocation.date, in: connection)
    if token.kind == .subscription {
      try GoogleMessageTable.insert(
        .subscription(.revoked), of: token, transaction.product, at: revocation.date, in: connection)
    }
  }

  /// Tells what the step from one state to the next means, of the latest token of the subscription. `onHold`
  /// is written with the grace and due at its end; it is taken back where the payment succeeds before.
  /// Nothing is told of a subscription that is new.
  static func subscriptionDidChange(
    from earlier: StoredSubscription?, to subscription: StoredSubscription,
    in connection: borrowing Connection
  ) throws {
    guard let before = earlier?.life,
      let token = try PurchaseTokenTable.covering(
        .max, chain: subscription.originalID, in: connection)
    else { return }
    let life = subscription.life
    func tell(
      _ event: GoogleEvent.Subscription, at date: Timestamp, due: Timestamp? = nil,
      in connection: borrowing Connection
    ) throws {
      try GoogleMessageTable.insert(
        .subscription(event), of: token, life.plan.product, at: date, due: due, in: connection)
    }
    if before.phase == .retrying, life.phase != .retrying {
      try GoogleMessageTable.cancel(.onHold, of: token, in: connection)
    }
    switch (before.phase, life.phase) {
    case (.active, .retrying):
      if let grace = life.graceEnd {
        try tell(.inGracePeriod, at: before.expires, in: connection)
        try tell(.onHold, at: grace, due: grace, in: connection)
      } else {
        try tell(.onHold, at: before.expires, in: connection)
      }
    case (.active, .paused): try tell(.paused, at: life.expires, in: connection)
    case (.paused, .retrying): try tell(.onHold, at: life.graceEnd ?? life.expires, in: connection)
    case (.retrying, .active), (.paused, .active): try tell(.recovered, at: life.start, in: connection)
    case (.active, .expired), (.retrying, .expired), (.paused, .expired):
      try tell(.expired, at: before.pauseEnd ?? life.expires, in: connection)
    case (.active, .active) where before.start == life.start && before.pausesNext != life.pausesNext:
      try tell(.pauseScheduleChanged, at: life.start, in: connection)
    case (.active, .active) where before.start != life.start && life.isRenewal(of: before):
      try tell(.renewed, at: life.start, in: connection)
    case (.active, .active) where before.autoRenews && !life.autoRenews:
      try tell(.cancelled, at: life.start, in: connection)
    case (.active, .active) where !before.autoRenews && life.autoRenews:
      try tell(.restarted, at: life.start, in: connection)
    default: break
    }
  }
}

extension SubscriptionLifecycle {
  /// Whether it goes on where the other one ended, or with the same product: what was bought in the middle of a period has a
  /// token of its own. `before` is the state one step earlier.
  fileprivate func isRenewal(of before: SubscriptionLifecycle) -> Bool {
    before.plan.product == plan.product || before.nextPlan?.product == plan.product && start >= before.expires
  }
}
