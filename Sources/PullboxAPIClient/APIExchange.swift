public import HTTPClient

/// One request of an ``APIClient`` and what came of it, for those who watch its calls.
public struct APIExchange: Sendable {
  /// The request's method.
  public let method: String
  /// Where it went.
  public let url: String
  /// The status of the answer; nil without one.
  public let status: Int?
  /// Why there is no answer; nil with one.
  public let error: HTTPClientError?
  /// From the call to the end of the answer.
  public let duration: Duration
}
