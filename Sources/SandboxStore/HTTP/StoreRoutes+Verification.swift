import PullboxAPIServer
import HTTPServer
import CoreTypes
import PullboxAPI
import Receipts

extension StoreRoutes {
  /// `POST /verifyReceipt` as its documentation says: the verdict is in the body, the status is 200.
  func addVerification(to routes: inout APIRoutes) {
    routes.on(.post, "/verifyReceipt") { [store] request, _ in
      let body = try await request.bytes(upTo: Self.maximumVerificationLength)
      let question: VerifyReceiptRequest
      do {
        question = try APIJSON.decode(VerifyReceiptRequest.self, from: body)
      } catch is DecodingError {
        return try .json(VerifyReceiptResponse(status: .malformed))
      }
      return try await .json(store.verify(question))
    }
    for method in [HTTPMethod.get, .put, .patch, .delete] {
      routes.on(method, "/verifyReceipt") { _, _ in try .json(VerifyReceiptResponse(status: .notPost)) }
    }
  }

  /// Longer bodies are answered 413.
  private static let maximumVerificationLength = ByteCount(3_145_728)
}
