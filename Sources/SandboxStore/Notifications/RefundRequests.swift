import Commerce
import CoreTypes
import Database
import HTTPServer
import PullboxAPI
import PullboxAPIServer

/// A customer's request for a refund, until it is decided: the store asks the application's server how the purchase was
/// used, and tells it of a refusal. To grant one is a control of its own.
extension PaymentStore {
  /// The reasons that a customer may give.
  static let refundReasons = [
    "UNINTENDED_PURCHASE", "FULFILLMENT_ISSUE", "UNSATISFIED_WITH_PURCHASE", "LEGAL", "OTHER",
  ]

  /// Tells of a request. Throws `transaction-unknown`, `transaction-unpaid`, `request-malformed` for another reason.
  func requestRefund(of id: String, reason: String?) async throws -> StoreTransaction {
    let reason = reason ?? "OTHER"
    guard Self.refundReasons.contains(reason) else {
      throw Problem(.requestMalformed, "reason is one of \(Self.refundReasons.joined(separator: ", "))")
    }
    return try await tell(.consumptionRequest, of: id, reason: reason)
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

extension StoreRoutes {
  private struct RefundReason: Decodable, OperatorWritten {
    var reason: String?
  }

  func addRefundRequests(to routes: inout APIRoutes) {
    routes.on(.post, "/sandbox/v1/transactions/{id}/request-refund") { [store] request, parameters in
      let body = try await request.decodeIfPresent(RefundReason.self, upTo: .kibibytes(16))
      let told = try await store.requestRefund(of: parameters["id"], reason: body?.reason)
      return try .json(TransactionResponse(transaction: told))
    }
    routes.on(.get, "/sandbox/v1/transactions/{id}/consumption") { [store] _, parameters in
      try await .json(store.consumptionReports(of: parameters["id"]))
    }
    routes.on(.post, "/sandbox/v1/transactions/{id}/decline-refund") { [store] _, parameters in
      try await .json(TransactionResponse(transaction: store.declineRefund(of: parameters["id"])))
    }
  }
}
