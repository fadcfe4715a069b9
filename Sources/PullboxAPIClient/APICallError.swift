import CoreTypes
public import FoundationEssentials
public import HTTPClient
public import PullboxAPI

/// Why a call to a service has no answer of the kind it asked for.
public enum APICallError: Error, Sendable {
  /// The service refused, and said why.
  case problem(Problem)
  /// Nothing that speaks for the service answered: no connection, a lost one, a time-out.
  case unreachable(HTTPClientError)
  /// Something answered, but not in the contract's words: another server, a proxy, a newer service.
  /// `retryAfter` is what its field `Retry-After` says; `isPage` tells that the body is not even JSON.
  case unexpectedResponse(status: Int, detail: String, retryAfter: Duration? = nil, isPage: Bool = false)

  /// Whether the same call may succeed later without a change at either side.
  public var isTemporary: Bool {
    switch self {
    case .problem(let problem): problem.status == 429 || problem.status >= 500
    case .unreachable(let error): error.isRetryable
    case .unexpectedResponse(let status, _, _, _): status == 429 || status >= 500
    }
  }

  /// Whether the service itself says that it has no such route: it is of an earlier version. What it does not know by name is refused with a
  /// detail.
  public var isOfMissingRoute: Bool {
    guard case .problem(let problem) = self else { return false }
    return problem.code == .methodNotAllowed || problem.code == .notImplemented
      || problem.code == .notFound && problem.detail == nil
  }

  /// Whether the service cannot answer at the moment: it is being started, a proxy before it does not reach
  /// it, or it has too much to do.
  public var isUnavailable: Bool {
    switch self {
    case .problem(let problem): Self.unavailableStatuses.contains(problem.status)
    case .unreachable(let error): error.isRetryable
    case .unexpectedResponse(let status, _, _, _): Self.unavailableStatuses.contains(status)
    }
  }

  private static let unavailableStatuses: Set<Int> = [429, 502, 503, 504]
  /// The statuses that a proxy answers with while the service behind it cannot be reached.
  private static let proxyStatuses: Set<Int> = [502, 503, 504]

  /// How long the service, or a proxy before it, asked to wait before the next call: whole seconds, within
  /// `RetryAfter.obeyedRange`.
  public var retryAfter: Duration? {
    switch self {
    case .problem(let problem):
      problem.retryAfterSeconds.map { .seconds(RetryAfter.obeyedSeconds(clamping: $0)) }
    case .unexpectedResponse(_, _, let retryAfter, _): retryAfter
    case .unreachable: nil
    }
  }
}

extension APICallError: CustomStringConvertible, LocalizedError {
  /// A sentence without a full stop.
  public var description: String {
    switch self {
    case .problem(let problem): problem.description
    case .unreachable(let error): error.message
    case .unexpectedResponse(let status, _, _, true) where Self.proxyStatuses.contains(status):
      "a proxy before the service does not reach it (status \(status))"
    case .unexpectedResponse(let status, _, _, true):
      "the answer is not the service's own; a proxy or another server gave it (status \(status))"
    case .unexpectedResponse(let status, let detail, _, false):
      "an answer that is not understood (status \(status)): \(detail)"
    }
  }

  /// The text of `localizedDescription`: the same as ``description``.
  public var errorDescription: String? { description }
}
