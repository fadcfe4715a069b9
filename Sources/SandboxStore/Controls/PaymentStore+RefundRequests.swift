import Commerce
import Database
import PullboxAPI
import SandboxRecords
import ServiceAPI

/// A customer's request for a refund, until it is decided: the store asks the application's server how the purchase was
/// used, and tells it of a refusal. To grant one is a control of its own.
extension PaymentStore {
  /// Tells of a request. Throws `transaction-unknown` or `transaction-unpaid`. The transaction itself stays as it is.
  ///
  /// - Parameter reason: nil counts as `OTHER`.
  func requestRefund(of id: String, reason: RefundReason?) async throws -> StoreTransaction {
    try await tell(.consumptionRequest, of: id, reason: (reason ?? .other).rawValue)
  }

  /// Tells of the account's own request. Throws the same, and `transaction-unknown` for what another account bought.
  func requestRefund(of id: String, by account: Account, reason: RefundReason?) async throws
    -> StoreTransaction
  {
    let transaction = try await database.read { try Self.transaction(id, in: $0) }
    guard transaction.account == account.id else { throw Problem(.transactionUnknown) }
    return try await requestRefund(of: id, reason: reason)
  }

  /// Tells that a request was refused. Throws `transaction-unknown` or `transaction-unpaid`.
  func declineRefund(of id: String) async throws -> StoreTransaction {
    try await tell(.refundDeclined, of: id)
  }

  /// Returns the reports of servers about the use of a purchase, the latest of each version. Throws
  /// `transaction-unknown`.
  func consumptionReports(of id: String) async throws -> ConsumptionReports {
    try await database.read { connection in
      let transaction = try Self.transaction(id, in: connection)
      return ConsumptionReports(
        reports: try ConsumptionReport.all(of: transaction.id, in: connection))
    }
  }

  /// Writes the notification down, and answers the transaction as it stands. Throws `transaction-unpaid` for
  /// what cost nothing, for what was not sold, and for what was refunded or revoked.
  private func tell(
    _ type: NotificationType, of id: String, reason: String? = nil
  ) async throws -> StoreTransaction {
    try await database.write(locking: [.everything]) { connection in
      let transaction = try Self.transaction(id, in: connection)
      guard let sale = transaction.sale, sale.price != nil, sale.revocation == nil else {
        throw Problem(.transactionUnpaid, "transaction \(id) has nothing to refund")
      }
      try NotificationRecorder.record(type, of: transaction, reason: reason, in: connection)
      return try transaction.published
    }
  }
}
