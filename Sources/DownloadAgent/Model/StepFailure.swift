import ContentPackage
import CoreTypes
import Database
import HTTPClient
import PullboxAPI
import PullboxAPIClient
import SystemCalls

/// Why a step did not succeed, and what can be done about it.
struct StepFailure: Error, Hashable, Sendable {
  enum Recovery: Hashable, Sendable {
    /// The same step may succeed later; not before `notBefore` where the other side said so.
    case retry(notBefore: Duration?)
    /// The ticket no longer opens the content; a fresh one may.
    case renewTicket
    /// The server has forgotten the grant, or whose it is; it is asked for with the receipt.
    case requestGrant
    /// Repeating changes nothing.
    case giveUp
  }

  var reason: StatusReason
  var recovery: Recovery
  /// What a service answered, for the control interface.
  var problem: Problem?
  /// One line for people: the call, the path and the error's name; or what the network said.
  var cause: String?

  init(_ reason: StatusReason, _ recovery: Recovery, problem: Problem? = nil, cause: String? = nil) {
    self.reason = reason
    self.recovery = recovery
    self.problem = problem
    self.cause = cause
  }

  static func retry(
    _ reason: StatusReason, notBefore: Duration? = nil, problem: Problem? = nil, cause: String? = nil
  ) -> StepFailure {
    StepFailure(reason, .retry(notBefore: notBefore), problem: problem, cause: cause)
  }

  static func permanent(
    _ reason: StatusReason, problem: Problem? = nil, cause: String? = nil
  ) -> StepFailure {
    StepFailure(reason, .giveUp, problem: problem, cause: cause)
  }
}

extension StepFailure {
  /// It speaks against what was sent, not against the way there: it counts against the job's budget.
  var isViolation: Bool {
    guard case .retry = recovery else { return false }
    return reason == .integrity || reason == .protocolViolation
  }

  /// The agent's own state could not be saved.
  init(savingFailedWith error: any Error) {
    let isOutOfSpace =
      switch error {
      case let error as DatabaseError: error.code == .outOfSpace
      case let error as SystemError: error.isOutOfSpace
      default: false
      }
    self = .retry(isOutOfSpace ? .insufficientSpace : .storageFailure, cause: String(describing: error))
  }
}

extension StepFailure {
  /// Decides by a problem document's code; by its status when this version does not know the code.
  init(_ problem: Problem) {
    let notBefore = problem.retryAfterSeconds.map { Duration.seconds(RetryAfter.obeyedSeconds(clamping: $0)) }
    switch problem.code {
    case .ticketExpired, .ticketInvalid, .ticketMissing:
      self.init(StepFailure.reason(of: problem), .renewTicket, problem: problem)
    // A server that does not know the device's key for the grant learns it with the receipt.
    case .grantUnknown, .proofMissing, .proofRefused, .renewalSecretMissing, .receiptNeeded:
      self.init(StepFailure.reason(of: problem), .requestGrant, problem: problem)
    case .tooManyRequests:
      self.init(.tooManyRequests, .retry(notBefore: notBefore), problem: problem)
    case .verificationUndetermined, .storeUnavailable, .clockSkew:
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

extension StepFailure {
  /// The two services that the agent calls.
  enum Peer: Sendable {
    case server
    case store
  }

  init(_ error: APICallError, from peer: Peer) {
    switch error {
    case .problem(let problem):
      self.init(problem)
      // What a store refuses to its customer may change with the customer's account; it is asked again.
      if peer == .store, reason == .serverUnavailable { reason = .storeUnavailable }
    case .unreachable(let error):
      self.init(error, from: peer)
    case .unexpectedResponse(let status, _, let retryAfter):
      // This is most likely a proxy's error page: it says nothing about the purchase, so it never fails a
      // download. What it says about the time of the next try counts.
      let unavailable: StatusReason = peer == .server ? .serverUnavailable : .storeUnavailable
      let reason: StatusReason =
        switch status {
        case 429: .tooManyRequests
        case 408: unavailable
        case 200..<500: .protocolViolation
        default: unavailable
        }
      self = .retry(reason, notBefore: retryAfter)
    }
  }

  init(_ error: HTTPClientError, from peer: Peer) {
    let unreachable: StatusReason = peer == .server ? .serverUnreachable : .storeUnreachable
    switch error.code {
    case .connectionLost, .timedOut: self = .retry(error.head == nil ? unreachable : .connectionLost)
    case .protocolViolation, .tooLarge, .tooManyRedirects: self = .retry(.protocolViolation)
    case .invalidRequest: self = .permanent(.protocolViolation)
    default: self = .retry(unreachable)
    }
  }

  init(_ error: SystemError) {
    self = .retry(error.isOutOfSpace ? .insufficientSpace : .storageFailure)
  }

  /// The failure for any error that a step can throw. Cancellation is none of them: a stopped step has no
  /// outcome.
  init(_ error: any Error, from peer: Peer = .server) {
    switch error {
    case let error as StepFailure: self = error
    case let error as APICallError: self.init(error, from: peer)
    case let error as HTTPClientError: self.init(error, from: peer)
    case let error as SystemError: self.init(error)
    case is PackageValidationError: self = .permanent(.integrity)
    default: self = .retry(.storageFailure)
    }
  }
}
