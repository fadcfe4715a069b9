import CoreTypes
import Database
import PullboxAPI
import SystemCalls

/// Why a step did not succeed, and what can be done about it.
struct StepFailure: Error, Hashable, Sendable {
  enum Recovery: Hashable, Sendable {
    /// The same step may succeed later; not before `notBefore` where the other side said so.
    case retry(notBefore: Duration?)
    /// The same step succeeds once the library's disk, or the quota, has the room; time alone brings none.
    case awaitRoom
    /// The ticket no longer opens the content; a fresh one may.
    case renewTicket
    /// The server has forgotten the grant, or whose it is; it is asked for with the receipt.
    case requestGrant
    /// Repeating changes nothing.
    case giveUp
  }

  var reason: StatusReason
  var recovery: Recovery
  /// The problem that a service answered, for the control interface.
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
