import Commerce
import CoreTypes
import Database
import PullboxAPI

/// The store's sales as the Google-like interface shows them: by purchase tokens, which are made when they are asked for. From then
/// on a purchase is to be acknowledged in time.
extension PaymentStore {
  /// The token of one of the account's transactions; the same each time. Throws `transaction-unknown`, and `transaction-unpaid`
  /// for what failed or is shared by another account.
  func purchaseToken(of id: String, for account: Account) async throws -> PurchaseTokenResponse {
    let found = try await database.read { try Self.transaction(id, in: $0) }
    guard found.account == account.id else { throw Problem(.transactionUnknown) }
    // Before it is sold, only the catalog knows what it is.
    var isSubscription = found.sale?.type == .autoRenewableSubscription
    if found.sale == nil {
      let listing = try await catalog.listing(
        of: found.product, territory: account.territory, device: found.device)
      isSubscription = listing?.type == .autoRenewableSubscription
    }
    let kind: PurchaseToken.Kind = isSubscription ? .subscription : .product
    return try await database.write(locking: [.everything]) { [clock] connection in
      let transaction = try Self.transaction(id, in: connection)
      let token = try Self.token(of: transaction, kind, at: clock.now(), in: connection)
      return PurchaseTokenResponse(purchaseToken: token.token, product: transaction.product)
    }
  }

  private static func token(
    of transaction: StoredTransaction, _ kind: PurchaseToken.Kind, at now: Timestamp,
    in connection: borrowing Connection
  ) throws -> PurchaseToken {
    if case .failed = transaction.life.state {
      throw Problem(.transactionUnpaid, "transaction \(transaction.id) has failed")
    }
    guard transaction.sharedFrom == nil else {
      throw Problem(.transactionUnpaid, "transaction \(transaction.id) is shared by another account")
    }
    let sale = transaction.sale
    // What was finished is delivered, by whichever store.
    let isFinished = if case .purchased(_, .some) = transaction.life.state { true } else { false }
    let chain =
      sale.map { $0.reason == .restore || kind == .subscription ? $0.originalID : transaction.id }
      ?? transaction.id
    let covering = try PurchaseTokenTable.covering(transaction.id, chain: chain, in: connection)
    // An upgrade begins a purchase of its own; a renewal does not.
    let begins = kind == .subscription && sale?.reason == .purchase
    if let covering, !begins || covering.first == transaction.id { return covering }
    let first = begins || kind == .product && sale?.reason != .restore ? transaction.id : chain
    let calendar = try CalendarTable.current(in: connection)
    let token = PurchaseToken(
      token: PurchaseToken.random(), account: transaction.account, chain: chain, first: first, kind: kind,
      linked: covering?.token,
      deadline: sale.flatMap {
        $0.reason == .restore || $0.revocation != nil || isFinished
          ? nil : calendar.acknowledgementEnd(from: max($0.date, now))
      })
    try PurchaseTokenTable.insert(token, in: connection)
    if sale != nil {
      try GoogleMessageTable.insert(
        kind == .subscription ? .subscription(.purchased) : .product(.purchased), of: token,
        transaction.product, at: now, in: connection)
    }
    return token
  }

  /// A purchase by its token, with what was paid for under it, the earliest first, after every renewal that has fallen due.
  /// Throws ``GoogleError``.
  func purchase(withToken text: String) async throws -> GooglePurchase {
    try await catchUpGoogle()
    let found = try await database.read { try PurchaseTokenTable.find(text, in: $0) }
    guard let found else { throw GoogleError.tokenUnknown }
    try await catchUp(account: found.account)
    return try await database.read { try Self.purchase(found, in: $0) }
  }

  static func purchase(_ token: PurchaseToken, in connection: borrowing Connection) throws -> GooglePurchase {
    let current = try PurchaseTokenTable.find(token.token, in: connection) ?? token
    return GooglePurchase(
      token: current, transactions: try PurchaseTokenTable.transactions(of: current, in: connection),
      pending: current.kind == .subscription
        ? try TransactionTable.find(in: connection, id: current.first).flatMap { $0.sale == nil ? $0 : nil }
        : nil,
      subscription: current.kind == .subscription
        ? try SubscriptionTable.find(in: connection, originalID: current.chain) : nil,
      successor: current.kind == .subscription
        ? try PurchaseTokenTable.successor(of: current, in: connection)?.first : nil)
  }

  /// Notes that a purchase was delivered, or used up. Repeating it changes nothing.
  func acknowledge(_ purchase: GooglePurchase, consumes: Bool) async throws {
    try await database.write(locking: [.everything]) { [clock] connection in
      guard var token = try PurchaseTokenTable.find(purchase.token.token, in: connection) else {
        throw GoogleError.tokenUnknown
      }
      token.acknowledged = token.acknowledged ?? clock.now()
      token.deadline = nil
      if consumes { token.consumed = token.consumed ?? clock.now() }
      try PurchaseTokenTable.update(token, in: connection)
      // What was delivered leaves the queue, as it does when the transaction is finished.
      for var transaction in try PurchaseTokenTable.transactions(of: token, in: connection) {
        if transaction.life.handle(.finish(at: clock.now())) == .changed {
          try ChangeRecorder.update(transaction, in: connection)
        }
      }
    }
  }

  /// Gives back what was not acknowledged in time. To be called at the start, before any request, and before a purchase is
  /// asked about.
  func catchUpGoogle() async throws {
    while true {
      let now = clock.now()
      let overdue = try await database.read {
        try PurchaseTokenTable.overdue(at: now, limit: RenewalRun.batch, in: $0)
      }
      guard !overdue.isEmpty else { return }
      for token in overdue {
        try await giveBack(token, reason: Self.notAcknowledged)
      }
    }
  }

  /// Gives the last payment back, whole, and the purchase with it. `reason` is as Google counts them.
  func giveBack(_ token: PurchaseToken, reason: Int) async throws {
    let last = try await database.write(locking: [.everything]) { connection -> Int64? in
      guard var current = try PurchaseTokenTable.find(token.token, in: connection),
        reason != Self.notAcknowledged || current.deadline != nil
      else { return nil }
      let last = try PurchaseTokenTable.transactions(of: current, in: connection).last?.id
      current.voidedReason = reason
      // It stands until the payment is given back, so that a store that ends in between does it at its next start.
      if last == nil { current.deadline = nil }
      try PurchaseTokenTable.update(current, in: connection)
      return last
    }
    guard let last else { return }
    do {
      _ = try await giveBack(String(last))
    } catch let problem as Problem {
      // It was given back before the store ended.
      guard reason == Self.notAcknowledged else { throw problem }
    }
    try await database.write(locking: [.everything]) { connection in
      guard var current = try PurchaseTokenTable.find(token.token, in: connection), current.deadline != nil
      else { return }
      current.deadline = nil
      try PurchaseTokenTable.update(current, in: connection)
    }
  }

  /// The reason of what was given back since the store was not told of a delivery in time.
  private static let notAcknowledged = 8
}

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

  var product: ProductIdentifier? { (transactions.last ?? pending)?.product }

  private var acknowledgement: String {
    token.acknowledged == nil ? "ACKNOWLEDGEMENT_STATE_PENDING" : "ACKNOWLEDGEMENT_STATE_ACKNOWLEDGED"
  }

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

  /// The same as version 1 says it.
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

  /// Puts off the end of what runs. Throws ``GoogleError`` where it does not run to `expected`, or not beyond it then.
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

  /// Throws ``GoogleError`` for a one-time purchase.
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
