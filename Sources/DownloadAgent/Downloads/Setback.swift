import Measures
import PullboxAPI

/// Why a step did not succeed, as far as the next step depends on it.
struct Setback: Error, Hashable, Sendable {
  enum Remedy: Hashable, Sendable {
    /// The same step may succeed later; not before `notBefore` where the other side said so.
    case retry(notBefore: Duration?)
    /// The ticket no longer opens the content; a fresh one may.
    case renewTicket
    /// The server has forgotten the grant; a new one is needed.
    case requestGrant
    /// Repeating changes nothing.
    case giveUp
  }

  var reason: DownloadReason
  var remedy: Remedy
  /// What a service answered, for whoever looks.
  var problem: Problem?

  init(_ reason: DownloadReason, _ remedy: Remedy, problem: Problem? = nil) {
    self.reason = reason
    self.remedy = remedy
    self.problem = problem
  }

  static func retry(
    _ reason: DownloadReason, notBefore: Duration? = nil, problem: Problem? = nil
  ) -> Setback {
    Setback(reason, .retry(notBefore: notBefore), problem: problem)
  }

  static func permanent(_ reason: DownloadReason, problem: Problem? = nil) -> Setback {
    Setback(reason, .giveUp, problem: problem)
  }
}
