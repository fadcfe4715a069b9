import CoreTypes
import HTTPServer
import PullboxAPI
import PullboxAPIServer
import ServiceAPI

extension StoreRoutes {
  private struct RefundControl: Decodable, OperatorWritten {
    var reason: RefundReason?
  }

  /// Adds the route by which a customer asks for a refund.
  func addRefundApplications(to routes: inout APIRoutes) {
    routes.on(.post, "/store/v1/transactions/{id}/refund-request") { [store] request, parameters in
      let account = try await store.customer(of: request)
      let body = try await request.decodeIfPresent(RefundApplication.self, upTo: .kibibytes(16))
      let told = try await store.requestRefund(of: parameters["id"], by: account, reason: body?.reason)
      return try .json(TransactionResponse(transaction: told), status: .accepted)
    }
  }

  /// Adds the controls by which a customer asks for a refund and is refused, and the one that shows what the
  /// server reported.
  func addRefundRequests(to routes: inout APIRoutes) {
    routes.on(.post, "/sandbox/v1/transactions/{id}/request-refund") { [store] request, parameters in
      let body = try await request.decodeIfPresent(RefundControl.self, upTo: .kibibytes(16))
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
