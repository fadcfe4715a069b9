import Commerce
import CoreTypes
import Database
import PullboxAPI

extension PaymentStore {
  /// Sells a product. The transaction is persisted as purchasing before the catalog is asked, and as
  /// purchased or failed before the call returns. A sale that a test made fail returns the failed
  /// transaction; a product that is not for sale, or a catalog that does not answer, is thrown as a
  /// `Problem`, and the transaction has failed.
  ///
  /// A request that comes again with its `key` is answered with the transaction of the first, as it stands. Only where
  /// the first bought nothing because of the catalog or the end of the store does it begin another. Throws
  /// `idempotency-key-reused` when the key came with another order, `idempotency-key-in-use` while the first is decided.
  func purchase(
    _ request: PurchaseRequest, by account: Account, key: String? = nil
  ) async throws -> StoreTransaction {
    let order = try PurchaseOrder(request)
    let begun: StoredTransaction
    switch try await begin(order, by: account, key: key) {
    case .repeated(let transaction): return try transaction.published
    case .begun(let transaction, let failure?):
      return try await process(.refused(failure), of: transaction).published
    case .begun(let transaction, nil): begun = transaction
    }
    let listing: ProductListing?
    do throws(Problem) {
      listing = try await catalog.listing(
        of: order.product, territory: account.territory, device: order.device)
    } catch {
      _ = try await process(.refused(.catalogUnavailable), of: begun)
      throw error
    }
    guard let listing else {
      _ = try await process(.refused(.productUnknown), of: begun)
      throw Problem(
        .productUnknown, "\(order.product) is not for sale\(order.device == nil ? "" : " to this device")")
    }
    return try await sell(listing, for: begun).published
  }

  /// Fails the transactions that were purchasing when the store last ended, and returns their number. To be
  /// called at the start, before any request.
  func failInterrupted() async throws -> Int {
    var count = 0
    while true {
      let failed = try await database.write(locking: [.everything]) { connection in
        let interrupted = try TransactionTable.purchasing(in: connection, limit: 1000)
        for transaction in interrupted {
          _ = try Self.process(.refused(.interrupted), of: transaction, in: connection)
        }
        return interrupted.count
      }
      guard failed > 0 else { return count }
      count += failed
    }
  }

  private enum Beginning {
    case begun(StoredTransaction, PurchaseFailure?)
    case repeated(StoredTransaction)
  }

  private func begin(_ order: PurchaseOrder, by account: Account, key: String?) async throws -> Beginning {
    try await database.write(locking: [.everything]) { [limits, clock] connection in
      if let key, let first = try TransactionTable.find(in: connection, account: account.id, key: key) {
        guard order.isOrder(of: first) else { throw Problem(.idempotencyKeyReused) }
        switch first.life.state {
        case .purchasing: throw Problem(.idempotencyKeyInUse, retryAfterSeconds: 1)
        case .failed(.catalogUnavailable), .failed(.interrupted), .failed(.productUnknown):
          try TransactionTable.forgetKey(of: first.id, in: connection)
        case .failed, .purchased: return .repeated(first)
        }
      }
      guard try TransactionTable.count(in: connection, account: account.id) < limits.transactionsPerAccount
      else {
        throw Problem(
          .tooManyRequests, "an account holds at most \(limits.transactionsPerAccount) transactions")
      }
      let begun = try TransactionTable.insert(
        in: connection, account: account.id, order: order, key: key, requested: clock.now().wholeSeconds)
      return .begun(begun, try AccountTable.consumeNextFailure(account: account.id, in: connection))
    }
  }

  private func sell(_ listing: ProductListing, for begun: StoredTransaction) async throws -> StoredTransaction
  {
    try await database.write(locking: [.everything]) { [clock] connection in
      let date = clock.now().wholeSeconds
      // A consumable is bought anew each time; everything else continues the first purchase of it.
      let original =
        listing.type == .consumable
        ? nil
        : try TransactionTable.originalID(in: connection, account: begun.account, product: begun.product)
      // Non-renewing subscriptions carry no end: their period is the seller's business.
      let expires =
        listing.type == .autoRenewableSubscription
        ? (listing.period ?? Self.usualPeriod).flatMap { date.adding($0) } : nil
      let sale = PurchaseLifecycle.Sale(
        type: listing.type, originalID: original ?? begun.id, date: date, expires: expires)
      return try Self.process(.sold(sale), of: begun, in: connection)
    }
  }

  private func process(
    _ event: PurchaseLifecycle.Event, of begun: StoredTransaction
  ) async throws -> StoredTransaction {
    try await database.write(locking: [.everything]) { try Self.process(event, of: begun, in: $0) }
  }

  private static func process(
    _ event: PurchaseLifecycle.Event, of transaction: StoredTransaction, in connection: borrowing Connection
  ) throws -> StoredTransaction {
    var transaction = transaction
    guard transaction.life.handle(event) == .changed else {
      throw SandboxStoreError("transaction \(transaction.id) does not take part in a purchase any more")
    }
    try TransactionTable.update(transaction, in: connection)
    return transaction
  }

  /// The period of a subscription that is listed without one.
  private static let usualPeriod = BillingPeriod("P1M")
}

extension PaymentStore {
  /// An account's transactions, the oldest first, from the first after `after`.
  func transactions(
    of account: Account, inQueue: Bool, after: TransactionIdentifier?, limit: Int
  ) async throws -> [StoreTransaction] {
    let after = after.flatMap { Int64($0.description) } ?? 0
    return try await database.read { connection in
      try TransactionTable.list(
        in: connection, account: account.id, inQueue: inQueue, after: after, limit: limit)
    }.map { try $0.published }
  }

  /// Removes a purchased transaction from the queue and returns it; finishing it again changes nothing.
  /// Throws `transaction-unknown` or `transaction-unpaid`.
  func finish(_ id: String) async throws -> StoreTransaction {
    try await database.write(locking: [.everything]) { [clock] connection in
      guard let number = Int64(id), var transaction = try TransactionTable.find(in: connection, id: number)
      else {
        throw Problem(.transactionUnknown)
      }
      switch transaction.life.handle(.finish(at: clock.now())) {
      case .changed: try TransactionTable.update(transaction, in: connection)
      case .unchanged: break
      case .refused: throw Problem(.transactionUnpaid, "transaction \(number) was not purchased")
      }
      return try transaction.published
    }
  }
}
