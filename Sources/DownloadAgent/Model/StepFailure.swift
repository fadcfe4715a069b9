import CoreTypes
import PullboxAPI

/// Why a step did not succeed, as far as the next step depends on it.
struct StepFailure: Error, Hashable, Sendable {
  enum Recovery: Hashable, Sendable {
    /// The same step may succeed later; not before `notBefore` where the other side said so.
    case retry(notBefore: Duration?)
    /// The ticket no longer opens the content; a fresh one may.
    case renewTicket
    /// The server has forgotten the grant; a new one is needed.
    case requestGrant
    /// Repeating changes nothing.
    case giveUp
  }

  var reason: StatusReason
  var recovery: Recovery
  /// What a service answered, for whoever looks.
  var problem: Problem?

  init(_ reason: StatusReason, _ recovery: Recovery, problem: Problem? = nil) {
    self.reason = reason
    self.recovery = recovery
    self.problem = problem
  }

  static func retry(
    _ reason: StatusReason, notBefore: Duration? = nil, problem: Problem? = nil
  ) -> StepFailure {
    StepFailure(reason, .retry(notBefore: notBefore), problem: problem)
  }

  static func permanent(_ reason: StatusReason, problem: Problem? = nil) -> StepFailure {
    StepFailure(reason, .giveUp, problem: problem)
  }
}
