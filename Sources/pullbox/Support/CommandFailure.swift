import ContentPackage
import HTTPClient
import PullboxAPI
import PullboxAPIClient
import PullboxKit
import ServiceRuntime
import SystemCalls

/// How a command failed: its exit code, and a message of one line that also says what to do.
struct CommandFailure: Error {
  /// The code that the process ends with.
  var exitCode: ExitCode
  /// The message, without the program's name; empty if the command has printed everything.
  var message: String
  /// Lines below the message, such as the faults that it speaks of.
  var details: [String] = []

  /// - Parameter details: without indentation, which is added here.
  init(_ exitCode: ExitCode, _ message: String, details: [String] = []) {
    self.exitCode = exitCode
    self.message = message
    self.details = details.map { "  \($0)" }
  }

  /// Turns any error of a command into a message that says what to do, with the addresses that the arguments
  /// name.
  init(_ error: any Error, context: CommandContext, peer: CommandPeer) {
    self.init(error, server: context.server, agentSocket: context.agentSocket, peer: peer)
  }

  /// One type of error after the other: a failure stays as it is, wrong usage is code 2, an answer of a
  /// service has the code of its problem, a refused package that of its faults, a full disk is 5, and
  /// everything else 1.
  init(_ error: any Error, server: String, agentSocket: String, peer: CommandPeer) {
    switch error {
    case let error as CommandFailure: self = error
    case let error as UsageError: self.init(.usage, error.description)
    case let error as APICallError:
      // Each fault has a line of its own.
      var (headline, faults): (APICallError, [Problem.Fault]) = (error, [])
      if case .problem(var problem) = error {
        faults = problem.faults ?? []
        problem.faults = nil
        headline = .problem(problem)
      }
      self.init(
        ExitCode(error), Self.text(headline, server: server, agentSocket: agentSocket, peer: peer),
        details: faults.map { fault in
          (fault.path.map { "\($0): " } ?? "") + "\(fault.detail) (\(fault.code))"
        })
    case let error as PackageValidationError:
      self.init(ExitCode(error), "the package is refused:", details: error.faults.map(\.description))
    case let error as SystemError:
      self.init(error.isOutOfSpace ? .noSpace : .failed, error.description)
    case is CancellationError: self.init(.failed, "interrupted")
    default: self.init(.failed, "\(error)")
    }
  }

  /// The cause of an agent's silence is looked for at its socket, at the moment of the message.
  private static func text(
    _ error: APICallError, server: String, agentSocket: String, peer: CommandPeer
  ) -> String {
    switch (error, peer) {
    case (.unreachable, .agent) where AgentSocketAccess.isDenied(agentSocket):
      "this user may not open the agent's socket \(agentSocket)"
        + (AgentSocketAccess.group(of: agentSocket).map { "; members of the group \($0) may" } ?? "")
    case (.unreachable, .agent) where AgentSocketAccess.isMissing(agentSocket):
      "there is no agent's socket at \(agentSocket); start pullbox-agent, or name its socket with "
        + "--agent-socket or PULLBOX_AGENT_SOCKET"
    case (.unreachable(let cause), .agent):
      "no agent answers at \(agentSocket)\(cause.code == .connectionFailed ? "" : " (\(cause.message))"); start pullbox-agent, or name its socket with "
        + "--agent-socket or PULLBOX_AGENT_SOCKET"
    case (.unreachable(let cause), .server) where cause.isCertificateFault:
      "the certificate of \(server) is refused (\(certificateFault(cause.code)): \(cause.message)); give the "
        + "authorities' certificates with --ca-file or PULLBOX_CA_FILE"
    case (.unreachable(let cause), _):
      "no server answers at \(server) (\(cause.message)); start pullbox-server, or name it with --server or "
        + "PULLBOX_SERVER"
    case (.problem(let problem), .server) where problem.code == .unauthorized:
      "\(problem); give the operator's key with --operator-key or PULLBOX_OPERATOR_KEY"
    case (.problem(let problem), .server) where problem.code == .outOfSpace:
      "\(problem); the server keeps what was sent; repeat the command when the server has room"
    case (.problem(let problem), _):
      text(problem)
    case (.unexpectedResponse, .agent): "\(agentSocket): \(error)"
    case (.unexpectedResponse, _): "\(server): \(error)"
    }
  }

  /// When to try again is said once, with the time where the service names one.
  private static func text(_ problem: Problem) -> String {
    guard let seconds = problem.retryAfterSeconds else { return problem.description }
    var said = problem
    if let advice = problem.title.firstRange(of: "; try again") {
      said.title = String(problem.title[..<advice.lowerBound])
    }
    return "\(said); try again in \(seconds) s"
  }

  /// The same words as an agent's reasons.
  private static func certificateFault(_ code: HTTPClientError.Code) -> String {
    switch code {
    case .certificateOutOfDate: "certificate-out-of-date"
    case .certificateForAnotherName: "certificate-for-another-name"
    case .certificateNotPinned: "certificate-not-pinned"
    default: "certificate-not-trusted"
    }
  }
}

extension ExitCode {
  /// Codes of problems that say that there is no right to the content.
  private static let notEntitledCodes: Set<ProblemCode> = [
    .purchaseRequired, .entitlementExpired, .entitlementRevoked, .deviceLimit, .purchaseClaimed,
    .receiptNotAuthentic,
    .receiptWrongApplication, .receiptWrongEnvironment,
  ]
  /// Codes of problems that say that a disk or a quota is full.
  private static let noSpaceCodes: Set<ProblemCode> = [.outOfSpace, .insufficientStorage]
  /// Codes of problems about bytes that are others than promised.
  private static let integrityCodes: Set<ProblemCode> = [.checksumMismatch, .completionMismatch]
  /// Faults of a package that concern bytes and signatures, not the form of the manifest.
  private static let integrityFaults: Set<PackageValidationIssue.Code> = [
    .manifestDigestMismatch, .lengthMismatch, .digestMismatch, .pieceMismatch, .fileDigestMismatch,
    .fileLengthMismatch, .fileChecksumMismatch, .compressedDataInvalid, .archiveDisagreesWithManifest,
    .archiveEntryMissing, .archiveEntryUnlisted, .archiveMalformed, .signatureMissing, .signatureInvalid,
    .signatureKeyUnknown, .signatureKeyChanged, .signatureKeyUntrusted,
  ]

  /// The exit code for a problem's code, or for its status if the code has none of its own.
  /// docs/command-line.md has the table.
  init(_ problem: Problem) {
    if let code = problem.code {
      if Self.notEntitledCodes.contains(code) {
        self = .notEntitled
        return
      }
      if Self.noSpaceCodes.contains(code) {
        self = .noSpace
        return
      }
      if Self.integrityCodes.contains(code) {
        self = .integrity
        return
      }
    }
    let faults = Set((problem.faults ?? []).map { PackageValidationIssue.Code(rawValue: $0.code) })
    switch problem.status {
    case 402: self = .notEntitled
    case 423, 429, 502...504: self = .undetermined
    case 507: self = .noSpace
    case 422 where !faults.isDisjoint(with: Self.integrityFaults): self = .integrity
    default: self = .failed
    }
  }

  /// A server that cannot be reached is undetermined if another try may help; an answer that is none of a
  /// service's is undetermined for 502 to 504 alone.
  init(_ error: APICallError) {
    switch error {
    case .problem(let problem): self.init(problem)
    case .unreachable(let cause): self = cause.isRetryable ? .undetermined : .failed
    case .unexpectedResponse(let status, _, _, _):
      self = (502...504).contains(status) ? .undetermined : .failed
    }
  }

  /// 6 where one of the faults is about bytes or signatures, else 1.
  init(_ refusal: PackageValidationError) {
    let codes = Set(refusal.faults.map(\.code))
    self = codes.isDisjoint(with: Self.integrityFaults) ? .failed : .integrity
  }

  /// The exit code for a download that failed or was cancelled. The code of its problem comes before its
  /// reason.
  init(endOf download: DownloadStatus) {
    if let problem = download.error, case let code = ExitCode(problem), code != .failed {
      self = code
      return
    }
    switch download.reason {
    case "integrity", "publisher-signature": self = .integrity
    case "insufficient-space", "insufficient-storage": self = .noSpace
    default: self = .failed
    }
  }
}
