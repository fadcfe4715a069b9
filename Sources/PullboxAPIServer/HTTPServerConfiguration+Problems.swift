public import HTTPServer
import PullboxAPI

extension HTTPServerConfiguration {
  /// Lets the server's own refusals, which no handler makes, be problem documents as well.
  public mutating func useProblemDocuments() {
    refusal = { status in
      let code = Self.codes[status.rawValue] ?? .internalError
      var problem = Problem(code, retryAfterSeconds: status == .serviceUnavailable ? 1 : nil)
      // The server's word on the status goes.
      problem.status = status.rawValue
      return .problem(problem)
    }
  }

  private static let codes: [Int: ProblemCode] = [
    400: .requestMalformed, 408: .requestTimeout, 413: .requestTooLarge, 414: .targetTooLong,
    417: .requestMalformed, 431: .fieldsTooLarge, 501: .notImplemented, 503: .unavailable,
    505: .versionNotSupported,
  ]
}
