import PullboxAPIClient
import HTTPClient
import PullboxAPI
import ServiceRuntime
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
    #expect(StepFailure(Problem(.grantUnknown)).recovery == .requestGrant)
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

  @Test("whoever does not answer is tried again, by name") func unreachable() {
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

  @Test("a full disk is told from a broken one") func disks() {
    #expect(StepFailure(SystemError(number: 28, call: "pwrite")) == .retry(.insufficientSpace))
    #expect(StepFailure(SystemError(number: 5, call: "pwrite")) == .retry(.storageFailure))
  }
}

@Suite struct RetryPolicyTests {
  /// Without chance.
  private let policy = RetryPolicy(
    backoff: Backoff(initial: .seconds(1), factor: 2, cap: .seconds(60), jitter: 0))

  @Test(
    "delays double up to the cap",
    arguments: zip([0, 1, 2, 3, 6, 7, 8, 1000], [1, 1, 2, 4, 32, 60, 60, 60]))
  func doubling(failures: Int, seconds: Int) {
    #expect(policy.delay(failures: failures, notBefore: nil) == .seconds(seconds))
  }

  @Test("what the other side asked for counts, up to a quarter of an hour") func retryAfter() {
    #expect(policy.delay(failures: 1, notBefore: .seconds(30)) == .seconds(30))
    #expect(policy.delay(failures: 7, notBefore: .seconds(30)) == .seconds(60))
    #expect(policy.delay(failures: 1, notBefore: .seconds(1 << 31)) == .seconds(900))
  }

  @Test("chance takes away half at most") func jitter() {
    let spread = RetryPolicy(
      backoff: Backoff(initial: .seconds(1), factor: 2, cap: .seconds(60), jitter: 0.5))
    for _ in 0..<200 {
      let delay = spread.delay(failures: 3, notBefore: nil)
      #expect(delay >= .seconds(2) && delay <= .seconds(4))
    }
  }
}
