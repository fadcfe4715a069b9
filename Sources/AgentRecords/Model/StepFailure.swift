import CoreTypes
import Database
package import PullboxAPI
import SystemCalls

/// Why a step did not succeed, and what can be done about it.
package struct StepFailure: Error, Hashable, Sendable {
  package enum Recovery: Hashable, Sendable {
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

  package var reason: StatusReason
  package var recovery: Recovery
  /// The problem that a service answered, for the control interface.
  package var problem: Problem?
  /// One line for people: the call, the path and the error's name; or what the network said.
  package var cause: String?

  package init(_ reason: StatusReason, _ recovery: Recovery, problem: Problem? = nil, cause: String? = nil) {
    self.reason = reason
    self.recovery = recovery
    self.problem = problem
    self.cause = cause
  }

  package static func retry(
    _ reason: StatusReason, notBefore: Duration? = nil, problem: Problem? = nil, cause: String? = nil
  ) -> StepFailure {
    StepFailure(reason, .retry(notBefore: notBefore), problem: problem, cause: cause)
  }

  package static func permanent(
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
  package init(savingFailedWith error: any Error) {
    let isOutOfSpace =
      switch error {
      case let error as DatabaseError: error.code == .outOfSpace
      case let error as SystemError: error.isOutOfSpace
      default: false
      }
    self = .retry(isOutOfSpace ? .insufficientSpace : .storageFailure, cause: String(describing: error))
  }
}
