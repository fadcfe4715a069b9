import AgentRecords
import HTTPClient
import PullboxAPI
import PullboxAPIClient

/// The rules about the next try after a title or a cover could not be read.
extension ListingKeeper {
  /// Whether the server, or what answers in its place, will say the same again: it was reached, and is not only busy.
  static func isAnswer(_ error: any Error) -> Bool {
    switch error {
    case APICallError.problem(let problem): (400..<500).contains(problem.status) && problem.status != 429
    case APICallError.unexpectedResponse: true
    case APICallError.unreachable(let cause): cause.code == .tooLarge
    case let failure as StepFailure: failure.reason == .protocolViolation
    default: false
    }
  }

  /// Whether the server itself refuses the question.
  static func isRefusal(_ error: any Error) -> Bool {
    guard case APICallError.problem = error else { return false }
    return isAnswer(error)
  }

  /// The question, or the answer, is longer than someone on the way allows.
  static func isTooLong(_ error: any Error) -> Bool {
    switch error {
    case APICallError.problem(let problem): [413, 414].contains(problem.status)
    case APICallError.unexpectedResponse(let status, _, _, _): [413, 414].contains(status)
    case APICallError.unreachable(let cause): cause.code == .tooLarge
    default: false
    }
  }
}
