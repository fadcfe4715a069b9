import HTTPClient
import PullboxAPI
import PullboxAPIClient
import SystemCalls
import Testing

@testable import DownloadAgent

@Suite struct StepFailureTests {
  @Test(
    "a refusal that nothing here can change is final",
    arguments: [
      ProblemCode.purchaseRequired, .entitlementExpired, .entitlementRevoked, .deviceLimit, .productUnknown,
      .versionUnknown, .contentWithdrawn, .receiptMalformed, .receiptNotAuthentic, .completionMismatch,
      .contentUnknown,
    ])
  func permanent(_ code: ProblemCode) {
    let failure = StepFailure(Problem(code))
    #expect(failure.recovery == .giveUp)
    #expect(failure.reason.rawValue == code.text)
    #expect(failure.problem?.code == code)
  }

  @Test("a store that could not be asked is not a no") func undetermined() {
    let failure = StepFailure(Problem(.verificationUndetermined, retryAfterSeconds: 7))
    #expect(failure.recovery == .retry(notBefore: .seconds(7)))
    #expect(failure.reason.rawValue == "verification-undetermined")
  }

  @Test("tickets are renewed, forgotten grants asked for anew, crowds waited for") func remedies() {
    #expect(StepFailure(Problem(.ticketExpired)).recovery == .renewTicket)
    #expect(StepFailure(Problem(.ticketInvalid)).recovery == .renewTicket)
    #expect(StepFailure(Problem(.ticketMissing)).recovery == .renewTicket)
    for code in [.grantUnknown, .proofMissing, .proofRefused, .receiptNeeded] as [ProblemCode] {
      #expect(StepFailure(Problem(code)).recovery == .requestGrant)
    }
    #expect(StepFailure(Problem(.clockSkew)).recovery == .retry(notBefore: nil))
    let crowd = StepFailure(Problem(.tooManyRequests, retryAfterSeconds: 3))
    #expect(crowd.recovery == .retry(notBefore: .seconds(3)) && crowd.reason == .tooManyRequests)
  }

  @Test("a code of a newer server is judged by its status") func unknownCodes() {
    var problem = Problem(.unavailable)
    problem.type = "urn:pullbox:problem:of-tomorrow"
    problem.status = 502
    #expect(StepFailure(problem).recovery == .retry(notBefore: nil))
    problem.status = 418
    #expect(StepFailure(problem).recovery == .giveUp && StepFailure(problem).reason.rawValue == "of-tomorrow")
    problem.type = "about:blank"
    #expect(StepFailure(problem).reason.rawValue == "http-418")
  }

  @Test("a service that does not answer is tried again, and the reason names it") func unreachable() {
    let refused = HTTPClientError(code: .connectionFailed, message: "refused", isRetryable: true)
    #expect(StepFailure(APICallError.unreachable(refused), from: .server).reason == .serverUnreachable)
    #expect(StepFailure(APICallError.unreachable(refused), from: .store).reason == .storeUnreachable)
    let cut = HTTPClientError(
      code: .connectionLost, message: "cut", isRetryable: true, head: ResponseHead(status: 206))
    #expect(StepFailure(cut, from: .server) == .retry(.connectionLost))
  }

  @Test("a page that is no problem document never fails a download") func proxies() {
    let page = APICallError.unexpectedResponse(status: 502, detail: "<html>")
    #expect(StepFailure(page, from: .server) == .retry(.serverUnavailable))
    let lie = APICallError.unexpectedResponse(status: 200, detail: "<html>")
    #expect(StepFailure(lie, from: .server) == .retry(.protocolViolation))
  }

  @Test(
    "a page of a proxy without a problem document says when to come back",
    arguments: [(429, StatusReason.tooManyRequests), (503, .serverUnavailable), (502, .serverUnavailable)])
  func pages(status: Int, reason: StatusReason) {
    let head = ResponseHead(
      status: status, headers: ResponseFields([.init(name: "Retry-After", value: "3600")]))
    let error = APIClient.refusal(head: head, body: Array("<html><h1>\(status)</h1></html>".utf8))
    #expect(StepFailure(error, from: .server) == .retry(reason, notBefore: .seconds(3600)))
  }

  @Test("a full disk is told from a broken one") func disks() {
    #expect(StepFailure(SystemError(number: 28, call: "pwrite")) == .retry(.insufficientSpace))
    #expect(StepFailure(SystemError(number: 5, call: "pwrite")) == .retry(.storageFailure))
  }
}
