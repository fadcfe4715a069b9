import Commerce
import Database
import CoreTypes
import PullboxAPI

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
