import HTTPClient
import PullboxAPI
import PullboxAPIClient
import Testing

@testable import PaymentStores

@Suite("What a store's answer to a call means")
struct StoreAnswerTests {
  private typealias Client = VerifyReceiptStoreClient

  @Test(
    "a store that is not reached is unavailable, also where the same request would fail again",
    arguments: [
      HTTPClientError.Code.hostNotFound, .connectionFailed, .secureConnectionFailed, .connectionLost,
      .timedOut,
      .protocolViolation, .tooManyRedirects, .tooLarge, .internalFailure,
    ], [true, false])
  func unreachable(code: HTTPClientError.Code, isRetryable: Bool) {
    let error = APICallError.unreachable(
      HTTPClientError(code: code, message: "certificate has expired", isRetryable: isRetryable))
    #expect(Client.answer(error) == .unavailable(retryAfter: nil))
    #expect(Client.outcome(error, retryAfter: .seconds(5)) == .failed(retryAfter: .seconds(5)))
  }

  @Test(
    "a call that ended at this side says nothing", arguments: [HTTPClientError.Code.cancelled, .shutDown])
  func ended(code: HTTPClientError.Code) {
    #expect(Client.answer(.unreachable(HTTPClientError(code: code, message: ""))) == .abandoned)
  }

  @Test(
    "what a proxy answers in the store's place refuses no call",
    arguments: [200, 301, 302, 400, 401, 403, 404, 408, 413, 429, 500, 502, 503])
  func proxy(status: Int) {
    let error = APICallError.unexpectedResponse(status: status, detail: "<html>", retryAfter: .seconds(20))
    #expect(Client.answer(error) == .unavailable(retryAfter: .seconds(20)))
  }

  @Test(
    "a problem of the store's that is about the request is a refusal",
    arguments: [
      ProblemCode.unauthorized, .forbidden, .transactionUnknown, .transactionUnpaid, .requestMalformed,
    ])
  func refused(code: ProblemCode) {
    #expect(Client.answer(.problem(Problem(code))) == .refused)
    #expect(Client.outcome(.problem(Problem(code)), retryAfter: .seconds(5)) == .answered)
  }

  @Test("any other problem is a store that cannot answer now", arguments: [408, 429, 500, 503])
  func unavailable(status: Int) {
    var problem = Problem(.unavailable, retryAfterSeconds: 20)
    problem.status = status
    #expect(Client.answer(.problem(problem)) == .unavailable(retryAfter: .seconds(20)))
    #expect(
      Client.outcome(.problem(problem), retryAfter: .seconds(5)) == .failed(retryAfter: .seconds(20)))
  }

  @Test(
    "a page with a status of 400 to 499 in answer to a question says nothing of the store",
    arguments: [400, 413])
  func questionRefused(status: Int) {
    let error = APICallError.unexpectedResponse(status: status, detail: "<html>")
    #expect(Client.outcome(error, retryAfter: .seconds(5)) == .abandoned)
  }

  @Test("a page that tells to wait is a failure", arguments: [200, 302, 408, 429, 503])
  func questionFailed(status: Int) {
    let error = APICallError.unexpectedResponse(status: status, detail: "<html>", retryAfter: .seconds(9))
    #expect(Client.outcome(error, retryAfter: .seconds(5)) == .failed(retryAfter: .seconds(9)))
  }
}
