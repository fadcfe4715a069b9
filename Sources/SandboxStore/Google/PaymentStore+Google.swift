import Commerce
import CoreTypes
import Database
import PullboxAPI
import SandboxRecords
import ServiceAPI

/// The store's sales as the Google-like interface shows them: by purchase tokens, which are made when they are asked for. From then
/// on a purchase is to be acknowledged in time.
extension PaymentStore {
  /// The token of one of the account's transactions; the same each time. Throws `transaction-unknown`, and `transaction-unpaid`
  /// for what failed or is shared by another account. A transaction of another account is unknown. The
  /// catalog is asked before the database transaction, and only about what is not sold yet; it may throw
  /// `catalogue-unavailable`.
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

  /// The token that covers a transaction; where there is none, a new one is inserted, and a sale is notified.
  /// A token has a deadline unless its transaction was restored, refunded, finished, or is not sold yet.
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

  /// Reads the whole purchase in the caller's database transaction, and renews nothing before.
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

  /// Notes that a purchase was delivered, or used up. Repeating it changes nothing. It also finishes every
  /// transaction under the token. Throws `tokenUnknown`.
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
  /// asked about. Each is given back in database transactions of its own.
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

  /// Gives the last payment back, whole, and the purchase with it. `reason` is as Google counts them. It
  /// takes three database transactions. The deadline goes last, so that ``catchUpGoogle()`` repeats the call
  /// after an end in between. A purchase that was acknowledged meanwhile is left alone if the reason was that
  /// it was not.
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
