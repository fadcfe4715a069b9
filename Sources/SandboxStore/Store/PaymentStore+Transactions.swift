import Commerce
import CoreTypes
import Crypto
import Database
import PullboxAPI
import SandboxRecords
import ServiceAPI
import Synchronization

/// A question about an account's transactions.
struct TransactionQuestion: Hashable, Sendable {
  /// The device that asks: what it bought is answered, and what belongs to none; nil for all.
  var device: DeviceIdentifier?
  /// Whether only those are wanted that are neither finished nor failed.
  var isOfQueue = false
  /// The last of the page before; nil for the first page.
  var after: TransactionIdentifier?
  /// The length of a page.
  var limit: Int

  /// Seconds that its answer waits at most to be another one: less than proxies leave a connection without bytes.
  static let longestWait = 50
}

/// Whether questions that wait are to be answered at once, because the store ends.
final class WaitingQuestions: Sendable {
  private let state = Atomic(false)

  /// Whether they are.
  var isOver: Bool { state.load(ordering: .relaxed) }

  /// From now on they are; it takes ``PaymentStore/lookInterval`` at most.
  func end() { state.store(true, ordering: .relaxed) }
}

extension PaymentStore {
  /// Between two looks of a question that waits. Renewals and all that other requests do are seen in this way, without a mark at each.
  static let lookInterval: Duration = .seconds(1)

  /// A page of an account's transactions, with its tag.
  func answer(to question: TransactionQuestion, of account: Account) async throws -> TransactionsResponse {
    let transactions = try await transactions(
      of: account, device: question.device, inQueue: question.isOfQueue, after: question.after,
      limit: question.limit)
    var answer = TransactionsResponse(transactions: transactions, revision: try await revision(of: account))
    answer.tag = String(SHA256Digest.of(try APIJSON.encode(answer)).hexadecimal.prefix(32))
    return answer
  }

  /// The same as soon as it has another tag than that, and at the latest after the time. Throws `CancellationError` where the client
  /// goes.
  func answer(
    to question: TransactionQuestion, of account: Account, otherThan tag: String, within time: Duration
  ) async throws -> TransactionsResponse {
    let end = timer.now() + time
    while true {
      let answer = try await answer(to: question, of: account)
      let rest = end - timer.now()
      guard answer.tag == tag, rest > .zero, !questions.isOver else { return answer }
      try await timer.sleep(for: min(Self.lookInterval, rest))
    }
  }

  /// An account's transactions, the oldest first, from the first after `after`; with a device, what it bought and what
  /// belongs to none.
  ///
  /// - Parameters:
  ///   - inQueue: whether only those are wanted that are neither finished nor failed.
  ///   - after: the last of the page before; nil for the first page.
  func transactions(
    of account: Account, device: DeviceIdentifier? = nil, inQueue: Bool, after: TransactionIdentifier?,
    limit: Int
  ) async throws -> [StoreTransaction] {
    let after = after.flatMap { Int64($0.description) } ?? 0
    return try await database.read { connection in
      try TransactionTable.list(
        in: connection, account: account.id, device: device, inQueue: inQueue, after: after, limit: limit)
    }.map { try $0.published }
  }

  /// The number of the latest change of what was sold to the account; nil while nothing was. A sale, a
  /// renewal, a refund, its reversal, an upgrade, an extension and a license that is taken back change it, on whatever device.
  func revision(of account: Account) async throws -> Int64? {
    try await database.read { connection in
      try TransactionTable.revised(
        in: connection, account: account.id, beyond: .max, isAscending: false, limit: 1
      ).first?.revision
    }
  }

  /// Removes a purchased transaction from the queue and returns it; finishing it again changes nothing.
  /// Throws `transaction-unknown` or `transaction-unpaid`. It stays in the list and, unless it is a
  /// consumable or a non-renewing subscription, in receipts.
  func finish(_ id: String) async throws -> StoreTransaction {
    try await database.write(locking: [.everything]) { [clock] connection in
      var transaction = try Self.transaction(id, in: connection)
      switch transaction.life.handle(.finish(at: clock.now())) {
      case .changed: try ChangeRecorder.update(transaction, in: connection)
      case .unchanged: break
      case .refused: throw Problem(.transactionUnpaid, "transaction \(transaction.id) was not purchased")
      }
      return try transaction.published
    }
  }

  /// Makes transactions of what the account has bought before, for `device`: its non-consumables and its subscriptions.
  /// Nothing is charged. What was restored there and is not finished is answered again. All are one database
  /// transaction, in the order of the purchases. Throws `too-many-requests` where they would exceed the
  /// account's limit, and makes none then.
  func restore(for account: Account, device: DeviceIdentifier) async throws -> [StoreTransaction] {
    try await database.write(locking: [.everything]) { [limits, clock] connection in
      let owned = try TransactionTable.restorable(in: connection, account: account.id)
      let held = try TransactionTable.count(in: connection, account: account.id)
      guard held + owned.count <= limits.transactionsPerAccount else {
        throw Problem(
          .tooManyRequests, "an account holds at most \(limits.transactionsPerAccount) transactions")
      }
      return try owned.compactMap { original in
        guard let sale = original.sale else { return nil }
        let earlier = try TransactionTable.unfinishedRestore(
          in: connection, account: account.id, originalID: sale.originalID, device: device)
        if let earlier { return try earlier.published }
        let now = clock.now().wholeSeconds
        return try ChangeRecorder.insert(
          in: connection, continuing: original, product: original.product, device: device,
          sale: sale.restored(at: now), requested: now
        ).published
      }
    }
  }

  /// Throws `transaction-unknown`, also for a text that is no number. It may be of any account.
  static func transaction(_ id: String, in connection: borrowing Connection) throws -> StoredTransaction {
    guard let number = Int64(id), let transaction = try TransactionTable.find(in: connection, id: number)
    else { throw Problem(.transactionUnknown) }
    return transaction
  }
}
