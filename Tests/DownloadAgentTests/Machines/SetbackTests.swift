import APICalling
import HTTPClient
import PullboxAPI
import ServiceRuntime
import SystemCalls
import Testing

@testable import DownloadAgent

@Suite struct SetbackTests {
  @Test(
    "a refusal that nothing here can change is final",
    arguments: [
      ProblemCode.purchaseRequired, .entitlementExpired, .entitlementRevoked, .deviceLimit, .productUnknown,
      .versionUnknown, .contentWithdrawn, .receiptMalformed, .receiptNotAuthentic, .completionMismatch,
      .contentUnknown,
    ])
  func permanent(_ code: ProblemCode) {
    let setback = Setback(Problem(code))
    #expect(setback.remedy == .giveUp)
    #expect(setback.reason.rawValue == code.text)
    #expect(setback.problem?.code == code)
  }

  @Test("a store that could not be asked is not a no") func undetermined() {
    let setback = Setback(Problem(.verificationUndetermined, retryAfterSeconds: 7))
    #expect(setback.remedy == .retry(notBefore: .seconds(7)))
    #expect(setback.reason.rawValue == "verification-undetermined")
  }

  @Test("tickets are renewed, forgotten grants asked for anew, crowds waited for") func remedies() {
    #expect(Setback(Problem(.ticketExpired)).remedy == .renewTicket)
    #expect(Setback(Problem(.ticketInvalid)).remedy == .renewTicket)
    #expect(Setback(Problem(.ticketMissing)).remedy == .renewTicket)
    #expect(Setback(Problem(.grantUnknown)).remedy == .requestGrant)
    let crowd = Setback(Problem(.tooManyRequests, retryAfterSeconds: 3))
    #expect(crowd.remedy == .retry(notBefore: .seconds(3)) && crowd.reason == .tooManyRequests)
  }

  @Test("a code of a newer server is judged by its status") func unknownCodes() {
    var problem = Problem(.unavailable)
    problem.type = "urn:pullbox:problem:of-tomorrow"
    problem.status = 502
    #expect(Setback(problem).remedy == .retry(notBefore: nil))
    problem.status = 418
    #expect(Setback(problem).remedy == .giveUp && Setback(problem).reason.rawValue == "of-tomorrow")
    problem.type = "about:blank"
    #expect(Setback(problem).reason.rawValue == "http-418")
  }

  @Test("whoever does not answer is tried again, by name") func unreachable() {
    let refused = HTTPClientError(code: .connectionFailed, message: "refused", isRetryable: true)
    #expect(Setback(APICallError.unreachable(refused), from: .server).reason == .serverUnreachable)
    #expect(Setback(APICallError.unreachable(refused), from: .store).reason == .storeUnreachable)
    let cut = HTTPClientError(
      code: .connectionLost, message: "cut", isRetryable: true, head: ResponseHead(status: 206))
    #expect(Setback(cut, from: .server) == .retry(.connectionLost))
  }

  @Test("a page that is no problem document never fails a download") func proxies() {
    let page = APICallError.unintelligible(status: 502, detail: "<html>")
    #expect(Setback(page, from: .server) == .retry(.serverUnavailable))
    let lie = APICallError.unintelligible(status: 200, detail: "<html>")
    #expect(Setback(lie, from: .server) == .retry(.protocolViolation))
  }

  @Test("a full disk is told from a broken one") func disks() {
    #expect(Setback(SystemError(number: 28, call: "pwrite")) == .retry(.insufficientSpace))
    #expect(Setback(SystemError(number: 5, call: "pwrite")) == .retry(.storageFailure))
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
