import ContentPackage
import HTTPClient
import PullboxAPI
import PullboxAPIClient
import PullboxTesting
import ServiceRuntime
import SystemCalls
import Testing

@testable import pullbox

@Suite("What a failed command ends with")
struct ExitCodeTests {
  @Test(
    "a refusal ends with the code of its kind",
    arguments: [
      (ProblemCode.purchaseRequired, 3), (.entitlementExpired, 3), (.entitlementRevoked, 3),
      (.deviceLimit, 3),
      (.receiptNotAuthentic, 3), (.receiptWrongApplication, 3), (.receiptWrongEnvironment, 3),
      (.verificationUndetermined, 4), (.tooManyRequests, 4), (.catalogUnavailable, 4),
      (.storeUnavailable, 4),
      (.unavailable, 4), (.uploadLocked, 4), (.outOfSpace, 5), (.insufficientStorage, 5),
      (.checksumMismatch, 6), (.uploadExpired, 1),
      (.completionMismatch, 6), (.productUnknown, 1), (.unauthorized, 1), (.forbidden, 1),
      (.internalError, 1),
      (.versionConflict, 1), (.packageRejected, 1), (.contentWithdrawn, 1), (.receiptMalformed, 1),
    ])
  func problems(code: ProblemCode, expected: Int) {
    #expect(ExitCode(Problem(code)).rawValue == Int32(expected))
  }

  @Test("a rejected package whose bytes are not the manifest's is a matter of integrity")
  func rejectedPackage() {
    let fault = Problem.Fault(code: "piece-mismatch", detail: "piece 3")
    #expect(ExitCode(Problem(.packageRejected, faults: [fault])) == .integrity)
    #expect(ExitCode(PackageValidationError(.digestMismatch, "other bytes")) == .integrity)
    #expect(ExitCode(PackageValidationError(.packageTooLarge, "too long")) == .failed)
  }

  @Test("an unknown code goes by its status")
  func unknownCode() {
    var problem = Problem(.internalError)
    problem.type = "about:blank"
    for (status, expected) in [
      (402, ExitCode.notEntitled), (403, .failed), (503, .undetermined), (507, .noSpace),
    ] {
      problem.status = status
      #expect(ExitCode(problem) == expected)
    }
  }

  private func failure(_ error: any Error, peer: CommandPeer) -> CommandFailure {
    CommandFailure(error, server: "http://shop", agentSocket: "/run/a.sock", peer: peer)
  }

  private static let refused = APICallError.unreachable(
    HTTPClientError(code: .connectionFailed, message: "connection refused", isRetryable: true))

  @Test("an agent that is not there is named with its socket and what to do")
  func noAgent() throws {
    let advice = "; start pullbox-agent, or name its socket with --agent-socket or PULLBOX_AGENT_SOCKET"
    let missing = failure(Self.refused, peer: .agent)
    #expect(missing.exitCode == .undetermined)
    #expect(missing.message == "there is no agent's socket at /run/a.sock" + advice)
    let directory = try TemporaryDirectory()
    let left = CommandFailure(
      Self.refused, server: "http://shop", agentSocket: directory.path, peer: .agent)
    #expect(left.message == "no agent answers at \(directory.path)" + advice)
  }

  @Test("when to try again is said once")
  func tryAgain() {
    let problem = Problem(.unavailable, "the disk is full", retryAfterSeconds: 5)
    #expect(
      failure(APICallError.problem(problem), peer: .server).message
        == "The service cannot do this now: the disk is full; try again in 5 s")
  }

  @Test("a server that is not there is named with its address")
  func noServer() {
    let failure = failure(Self.refused, peer: .server)
    #expect(failure.exitCode == .undetermined)
    #expect(failure.message.contains("no server answers at http://shop"))
  }

  @Test("a missing key says how to give one")
  func noKey() {
    let message = failure(APICallError.problem(Problem(.unauthorized)), peer: .server).message
    #expect(message.contains("--operator-key") && message.contains("PULLBOX_OPERATOR_KEY"))
  }

  @Test("a full disk is no space, a wrong command line is wrong usage")
  func others() {
    #expect(failure(SystemError(number: 28, call: "pwrite"), peer: .offline).exitCode == .noSpace)
    #expect(failure(SystemError(number: 2, call: "openat"), peer: .offline).exitCode == .failed)
    #expect(failure(UsageError("what?"), peer: .offline).exitCode == .usage)
  }
}
