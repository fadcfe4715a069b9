import Commerce
import CoreTypes
import Database
import PullboxAPI

extension PaymentStore {
  /// Sells. The transaction is written down as purchasing before anybody is asked anything, and as purchased or failed
  /// before anybody is told. A sale that a test made fail is an answer; a product that is not for sale, or a catalog
  /// that does not answer, is thrown as a ``Problem``, and the transaction has failed.
  func purchase(_ request: PurchaseRequest, by account: Account) async throws -> StoreTransaction {
    let order = try PurchaseOrder(request)
    let (begun, failure) = try await begin(order, by: account)
    if let failure { return try await settle(begun, with: .refused(failure)).published }
    let listing: ProductListing?
    do throws(Problem) {
      listing = try await catalog.listing(
        of: order.product, territory: account.territory, device: order.device)
    } catch {
      _ = try await settle(begun, with: .refused(.catalogUnavailable))
      throw error
    }
    guard let listing else {
      _ = try await settle(begun, with: .refused(.productUnknown))
      throw Problem(
        .productUnknown, "\(order.product) is not for sale\(order.device == nil ? "" : " to this device")")
    }
    return try await sell(listing, begun).published
  }

  /// Transactions that were purchasing when the store last ended have failed. At start-up, before any request.
  func settleInterrupted() async throws -> Int {
    var count = 0
    while true {
      let settled = try await database.write { connection in
        let interrupted = try TransactionTable.purchasing(connection, limit: 1000)
        for transaction in interrupted {
          _ = try Self.apply(.refused(.interrupted), to: transaction, connection)
        }
        return interrupted.count
      }
      guard settled > 0 else { return count }
      count += settled
    }
  }

  private func begin(
    _ order: PurchaseOrder, by account: Account
  ) async throws -> (StoredTransaction, PurchaseFailure?) {
    try await database.write { [limits, clock] connection in
      guard try TransactionTable.count(connection, account: account.id) < limits.transactionsPerAccount
      else {
        throw Problem(
          .tooManyRequests, "an account holds at most \(limits.transactionsPerAccount) transactions")
      }
      let begun = try TransactionTable.insert(
        connection, account: account.id, order: order, requested: clock.now().wholeSeconds)
      return (begun, try AccountTable.takeNextFailure(connection, account: account.id))
    }
  }

  private func sell(_ listing: ProductListing, _ begun: StoredTransaction) async throws -> StoredTransaction {
    try await database.write { [clock] connection in
      let date = clock.now().wholeSeconds
      // A consumable is bought anew each time; everything else continues the first purchase of it.
      let original =
        listing.type == .consumable
        ? nil
        : try TransactionTable.originalID(connection, account: begun.account, product: begun.product)
      // Non-renewing subscriptions carry no end: their period is the seller's business.
      let expires =
        listing.type == .autoRenewableSubscription
        ? (listing.period ?? Self.usualPeriod).flatMap { date.adding($0) } : nil
      let sale = PurchaseLifecycle.Sale(
        type: listing.type, originalID: original ?? begun.id, date: date, expires: expires)
      return try Self.apply(.sold(sale), to: begun, connection)
    }
  }

  private func settle(
    _ begun: StoredTransaction, with event: PurchaseLifecycle.Event
  ) async throws -> StoredTransaction {
    try await database.write { try Self.apply(event, to: begun, $0) }
  }

  private static func apply(
    _ event: PurchaseLifecycle.Event, to transaction: StoredTransaction, _ connection: borrowing Connection
  ) throws -> StoredTransaction {
    var transaction = transaction
    guard transaction.life.apply(event) == .changed else {
      throw SandboxStoreError("transaction \(transaction.id) does not take part in a purchase any more")
    }
    try TransactionTable.update(connection, transaction)
    return transaction
  }

  /// Of a subscription that was listed without one.
  private static let usualPeriod = BillingPeriod("P1M")
}

extension PaymentStore {
  /// An account's transactions, the oldest first, from the first after `after`.
  func transactions(
    of account: Account, inQueue: Bool, after: TransactionIdentifier?, limit: Int
  ) async throws -> [StoreTransaction] {
    let after = after.flatMap { Int64($0.text) } ?? 0
    return try await database.read { connection in
      try TransactionTable.list(
        connection, account: account.id, inQueue: inQueue, after: after, limit: limit)
    }.map { try $0.published }
  }

  /// Takes a purchased transaction out of the queue; again and again with the same answer. Throws
  /// `transaction-unknown`, `transaction-unpaid`.
  func finish(_ id: String) async throws -> StoreTransaction {
    try await database.write { [clock] connection in
      guard let number = Int64(id), var transaction = try TransactionTable.find(connection, id: number) else {
        throw Problem(.transactionUnknown)
      }
      switch transaction.life.apply(.finish(at: clock.now())) {
      case .changed: try TransactionTable.update(connection, transaction)
      case .unchanged: break
      case .refused: throw Problem(.transactionUnpaid, "transaction \(number) was not purchased")
      }
      return try transaction.published
    }
  }
}
