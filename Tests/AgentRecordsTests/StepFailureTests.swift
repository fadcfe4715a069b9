import HTTPClient
import PullboxAPI
import PullboxAPIClient
import SystemCalls
import Testing

@testable import AgentRecords

@Suite struct StepFailureTests {
  @Test(
    "a refusal that nothing here can change is final",
    arguments: [
      ProblemCode.purchaseRequired, .entitlementExpired, .entitlementRevoked, .deviceLimit, .purchaseClaimed,
      .productUnknown,
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
  }

  @Test("a problem document of another service, such as a content network's, never fails a purchase (D5)")
  func foreignProblems() {
    var problem = Problem(.unavailable)
    problem.type = "about:blank"
    problem.status = 403
    #expect(StepFailure(problem).recovery == .retry(notBefore: nil))
    #expect(StepFailure(problem).reason == .networkNotOpen)
    #expect(APICallError.problem(problem).isForeign)
    problem.status = 503
    #expect(StepFailure(problem).reason == .networkNotOpen)
    problem.status = 429
    #expect(StepFailure(problem).reason == .tooManyRequests && !APICallError.problem(problem).isForeign)
  }

  @Test("a service that does not answer is tried again, and the reason names it") func unreachable() {
    let refused = HTTPClientError(code: .connectionFailed, message: "refused", isRetryable: true)
    #expect(StepFailure(APICallError.unreachable(refused), from: .server).reason == .serverUnreachable)
    #expect(StepFailure(APICallError.unreachable(refused), from: .store).reason == .storeUnreachable)
    let cut = HTTPClientError(
      code: .connectionLost, message: "cut", isRetryable: true, head: ResponseHead(status: 206))
    #expect(StepFailure(cut, from: .server) == .retry(.connectionLost, cause: "cut"))
  }

  @Test(
    "a page that is no problem document never fails a purchase (D5)",
    arguments: [
      (200, StatusReason.networkNotOpen), (302, .networkNotOpen), (401, .networkNotOpen),
      (403, .networkNotOpen),
      (404, .networkNotOpen), (407, .networkNotOpen), (511, .networkNotOpen), (408, .networkNotOpen),
      (429, .tooManyRequests), (500, .networkNotOpen), (502, .networkNotOpen),
    ])
  func proxies(status: Int, reason: StatusReason) {
    let error = APIClient.refusal(head: ResponseHead(status: status), body: Array("<html>log in</html>".utf8))
    let failure = StepFailure(error, from: .server)
    #expect(failure.reason == reason && failure.recovery == .retry(notBefore: nil))
    #expect(error.isForeign == (reason == .networkNotOpen))
  }

  @Test("JSON with other members than the contract's is another version's, not a log-in page's")
  func otherVersions() {
    let error = APICallError.unexpectedResponse(status: 200, detail: "no member", isPage: false)
    #expect(StepFailure(error, from: .server).reason == .protocolViolation)
    #expect(!error.isForeign)
  }

  @Test(
    "certificates that do not count are named, and waited for (D13)",
    arguments: [
      (HTTPClientError.Code.certificateNotTrusted, "certificate-not-trusted"),
      (.certificateOutOfDate, "certificate-out-of-date"),
      (.certificateForAnotherName, "certificate-for-another-name"),
      (.certificateNotPinned, "certificate-not-pinned"),
    ])
  func certificates(code: HTTPClientError.Code, reason: String) {
    let words = "SSL certificate problem: self-signed certificate"
    let failure = StepFailure(HTTPClientError(code: code, message: words), from: .server)
    #expect(failure.reason.rawValue == reason && failure.recovery == .retry(notBefore: nil))
    #expect(failure.cause == words)
  }

  @Test("every failure has the words of the part that failed, on one line (D13)") func causes() {
    let full = StepFailure(SystemError(number: 28, call: "pwrite", subject: "/library/x"))
    #expect(full.cause?.contains("pwrite") == true && full.cause?.contains("/library/x") == true)
    let refusal = StepFailure(Problem(.purchaseRequired, "the receipt\nholds no such purchase"))
    #expect(refusal.cause == "\(ProblemCode.purchaseRequired.title): the receipt holds no such purchase")
    let long = HTTPClientError(code: .connectionFailed, message: String(repeating: "x", count: 5000))
    #expect(StepFailure(long, from: .store).cause?.count == StepFailure.maximumCauseLength)
  }

  @Test(
    "a page of a proxy without a problem document says when to come back",
    arguments: [(429, StatusReason.tooManyRequests), (503, .networkNotOpen), (502, .networkNotOpen)])
  func pages(status: Int, reason: StatusReason) {
    let head = ResponseHead(
      status: status, headers: ResponseFields([.init(name: "Retry-After", value: "3600")]))
    let error = APIClient.refusal(head: head, body: Array("<html><h1>\(status)</h1></html>".utf8))
    let failure = StepFailure(error, from: .server)
    #expect(failure.reason == reason && failure.recovery == .retry(notBefore: .seconds(3600)))
  }

  @Test("a full disk is told from a broken one") func disks() {
    let full = StepFailure(SystemError(number: 28, call: "pwrite"))
    let broken = StepFailure(SystemError(number: 5, call: "pwrite"))
    #expect(full.reason == .insufficientSpace && full.recovery == .retry(notBefore: nil))
    #expect(broken.reason == .storageFailure && broken.recovery == .retry(notBefore: nil))
  }
}
