import PullboxAPI

extension StepFailure {
  /// By a problem document's code; by its status where this version does not know the code.
  init(_ problem: Problem) {
    let notBefore = problem.retryAfterSeconds.map { Duration.seconds(max(0, $0)) }
    switch problem.code {
    case .ticketExpired, .ticketInvalid, .ticketMissing:
      self.init(StepFailure.reason(of: problem), .renewTicket, problem: problem)
    case .grantUnknown:
      self.init(StepFailure.reason(of: problem), .requestGrant, problem: problem)
    case .tooManyRequests:
      self.init(.tooManyRequests, .retry(notBefore: notBefore), problem: problem)
    case .verificationUndetermined, .storeUnavailable:
      self.init(StepFailure.reason(of: problem), .retry(notBefore: notBefore), problem: problem)
    default:
      switch problem.status {
      case 408, 429, 500...599:
        self.init(.serverUnavailable, .retry(notBefore: notBefore), problem: problem)
      default:
        self.init(StepFailure.reason(of: problem), .giveUp, problem: problem)
      }
    }
  }

  /// The code's own text, also of a code this version does not know.
  private static func reason(of problem: Problem) -> StatusReason {
    guard problem.type.hasPrefix(ProblemCode.typePrefix) else {
      return StatusReason(rawValue: "http-\(problem.status)")
    }
    return StatusReason(rawValue: String(problem.type.dropFirst(ProblemCode.typePrefix.count)))
  }
}
