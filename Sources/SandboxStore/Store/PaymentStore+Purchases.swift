import Commerce
import CoreTypes
import Database
import PullboxAPI
import SandboxRecords
import ServiceAPI
import ServiceRuntime
import Synchronization

extension PaymentStore {
  /// Sells a product. The transaction is persisted as purchasing before the catalog is asked, and in its next state before
  /// the call returns. A sale that a test made fail returns the failed transaction, and one that needs an approval a deferred
  /// one; a product that is not for sale, a catalog that does not answer, or a subscription that runs is thrown as a
  /// `Problem`, and the transaction has failed. What the account owns is restored and not charged.
  ///
  /// A request that comes again with its `key` is answered with the transaction of the first, as it stands. Only where
  /// the first decided nothing does it begin another. Throws `idempotency-key-reused` when the key came with another
  /// order, `idempotency-key-in-use` while the first is decided. The catalog may take ten seconds for each of
  /// two questions; the purchase is in no database transaction meanwhile.
  func purchase(
    _ request: PurchaseRequest, by account: Account, key: String? = nil
  ) async throws -> StoreTransaction {
    let order = try PurchaseOrder(request)
    switch try await begin(order, by: account, key: key) {
    case .decided(let transaction):
      if case .waiting = transaction.life.state { renewals.wake() }
      return try transaction.published
    case .begun(let transaction): return try await complete(transaction)
    }
  }

  /// Asks the catalog, and sells what was begun. What ends without a decision has failed, and leaves its key
  /// free. Other calls may change the account while the catalog is asked: the sale reads it anew.
  private func complete(_ begun: StoredTransaction) async throws -> StoreTransaction {
    defer { underWay.remove(begun.id) }
    let listing: ProductListing?
    do throws(Problem) {
      listing = try await catalog.listing(
        of: begun.product, territory: begun.storefront ?? "", device: begun.device)
    } catch {
      _ = try await process(.refused(.catalogUnavailable), of: begun)
      throw error
    }
    guard let listing else {
      _ = try await process(.refused(.productUnknown), of: begun)
      throw Problem(
        .productUnknown, "\(begun.product) is not for sale\(begun.device == nil ? "" : " to this device")")
    }
    let outcome: Sales.Outcome
    do {
      outcome = try await database.write(locking: [.everything]) { [clock] connection in
        try Sales(now: clock.now()).sell(listing, for: begun, in: connection)
      }
    } catch {
      // Nothing was sold. Where that cannot be written either, the worker does it.
      underWay.remove(begun.id)
      renewals.wake()
      throw error
    }
    renewals.wake()
    switch outcome {
    case .sold(let transaction): return try transaction.published
    case .refused(let problem): throw problem
    }
  }

  /// Decides a purchase that waits: for an approval, or for its customer. Throws `transaction-unknown`, `state-conflict` for
  /// one that does not wait, and what ``purchase(_:by:key:)`` throws. An approval goes on as a purchase does,
  /// and asks the catalog anew. A refusal answers the failed transaction.
  func decide(_ id: String, _ decision: PurchaseDecision) async throws -> StoreTransaction {
    let transaction = try await database.write(locking: [.everything]) { [underWay] connection in
      let transaction = try Self.transaction(id, in: connection)
      guard case .waiting(let wait) = transaction.life.state else {
        throw Problem(.stateConflict, "transaction \(id) waits for nothing")
      }
      let refusal: PurchaseFailure = wait == .customer ? .paymentCancelled : .notApproved
      if decision.approve { underWay.insert(transaction.id) }
      return try Sales.process(
        decision.approve ? .resumed : .refused(refusal), of: transaction, in: connection)
    }
    return decision.approve ? try await complete(transaction) : try transaction.published
  }

  /// Fails the transactions that are purchasing although no call decides them, and returns their number: those that were
  /// under way when the store last ended, or whose call ended without a decision. At most a thousand fail in
  /// one database transaction.
  func failInterrupted() async throws -> Int {
    var count = 0
    while try await !interrupted().isEmpty {
      count += try await database.write(locking: [.everything], waiting: .unlimited) {
        [underWay] connection in
        let interrupted = try Self.interrupted(besides: underWay, in: connection)
        for transaction in interrupted {
          _ = try Sales.process(.refused(.interrupted), of: transaction, in: connection)
        }
        return interrupted.count
      }
    }
    return count
  }

  private func interrupted() async throws -> [StoredTransaction] {
    try await database.read(waiting: .unlimited) { [underWay] in
      try Self.interrupted(besides: underWay, in: $0)
    }
  }

  /// Those that are purchasing and not under way. A thousand are looked at, the oldest.
  private static func interrupted(
    besides underWay: PurchasesUnderWay, in connection: borrowing Connection
  ) throws -> [StoredTransaction] {
    try TransactionTable.purchasing(in: connection, limit: 1000).filter { !underWay.contains($0.id) }
  }

  /// The transaction of a purchase, and whether the catalog is still to be asked about it.
  private enum Beginning {
    case begun(StoredTransaction)
    /// By an earlier request with the same key, or at once.
    case decided(StoredTransaction)
  }

  /// Inserts the purchase, or finds the earlier one with its key, in one database transaction. What a test or
  /// the account decides without the catalog is decided here. A purchase that is to be completed is under way
  /// before the commit.
  private func begin(_ order: PurchaseOrder, by account: Account, key: String?) async throws -> Beginning {
    try await database.write(locking: [.everything]) { [limits, clock, environment, underWay] connection in
      if let key, let first = try TransactionTable.find(in: connection, account: account.id, key: key) {
        guard order.isOrder(of: first) else { throw Problem(.idempotencyKeyReused) }
        switch first.life.state {
        case .purchasing where underWay.contains(first.id):
          throw Problem(.idempotencyKeyInUse, retryAfterSeconds: 1)
        case .purchasing:
          _ = try Sales.process(.refused(.interrupted), of: first, in: connection)
          try TransactionTable.forgetKey(of: first.id, in: connection)
        case .failed(let failure) where failure.isUndecided:
          try TransactionTable.forgetKey(of: first.id, in: connection)
        case .failed, .waiting, .purchased: return .decided(first)
        }
      }
      guard try TransactionTable.count(in: connection, account: account.id) < limits.transactionsPerAccount
      else {
        throw Problem(
          .tooManyRequests, "an account holds at most \(limits.transactionsPerAccount) transactions")
      }
      let now = clock.now()
      let begun = try TransactionTable.insert(
        in: connection, account: account, order: order, key: key, environment: environment,
        requested: now.wholeSeconds)
      let failure = try AccountTable.consumeNextFailure(account: account.id, in: connection)
      let event: PurchaseLifecycle.Event? =
        switch failure {
        case .interrupted?: .suspended(.customer)
        case let failure?: .refused(failure)
        case nil where !account.canMakePayments: .refused(.paymentNotAllowed)
        case nil where account.asksToBuy || order.asksToBuy:
          .suspended(.approval(until: try CalendarTable.current(in: connection).approvalEnd(from: now)))
        case nil: nil
        }
      guard let event else {
        underWay.insert(begun.id)
        return .begun(begun)
      }
      return .decided(try Sales.process(event, of: begun, in: connection))
    }
  }

  /// One event in a database transaction of its own.
  private func process(
    _ event: PurchaseLifecycle.Event, of begun: StoredTransaction
  ) async throws -> StoredTransaction {
    try await database.write(locking: [.everything]) { try Sales.process(event, of: begun, in: $0) }
  }
}

/// The purchases that a call of this process is about to decide. Any other one that stands as purchasing was
/// left behind. Each is removed when its call ends, however it ends.
final class PurchasesUnderWay: Sendable {
  private let transactions = Mutex<Set<Int64>>([])

  /// To be called within the database transaction that makes it purchasing.
  func insert(_ transaction: Int64) { _ = transactions.locked { $0.insert(transaction) } }

  func remove(_ transaction: Int64) { _ = transactions.locked { $0.remove(transaction) } }

  func contains(_ transaction: Int64) -> Bool { transactions.locked { $0.contains(transaction) } }
}
