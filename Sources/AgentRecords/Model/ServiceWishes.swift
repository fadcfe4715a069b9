package import CoreTypes
import PullboxAPI
package import PullboxAPIClient

/// Which kinds of requests a service has asked not to be sent, and until when: what it tells one download of many counts for
/// all of them. A pure value.
///
/// A refusal speaks for the service where its code says that there are too many requests, or that it cannot serve now, and it names a
/// time. What it says of one purchase or package, that its store cannot be asked for example, is that one's alone.
///
/// ```swift
/// var wishes = ServiceWishes(longest: .seconds(86_400))
/// wishes.note(error, to: "POST /v1/grants", at: now)        // 503, Retry-After: 600
/// wishes.refusal(of: "POST /v1/grants", at: now + .seconds(60)) // the same, with 540 seconds to go
/// ```
package struct ServiceWishes: Sendable {
  private struct Wish {
    var problem: Problem
    var end: MonotonicInstant
  }

  /// By kinds of requests, of which there are a few.
  private var wishes: [String: Wish] = [:]
  private let longest: Duration

  /// No wish counts for longer than `longest`.
  package init(longest: Duration) {
    self.longest = longest
  }

  /// How a request has ended.
  package mutating func note(_ error: APICallError, to request: String, at now: MonotonicInstant) {
    guard case .problem(let problem) = error, let seconds = problem.retryAfterSeconds else { return }
    guard problem.code == .tooManyRequests || problem.code == .unavailable else { return }
    wishes[request] = Wish(
      problem: problem,
      end: now + min(longest, .seconds(RetryAfter.obeyedSeconds(clamping: seconds))))
  }

  /// Returns the service's last refusal of such requests, with the time that is left; nil once the service may be asked.
  package mutating func refusal(of request: String, at now: MonotonicInstant) -> APICallError? {
    guard let wish = wishes[request] else { return nil }
    guard now < wish.end else {
      wishes[request] = nil
      return nil
    }
    var problem = wish.problem
    problem.retryAfterSeconds = RetryAfter.obeyedSeconds(clamping: wish.end - now)
    return .problem(problem)
  }
}
