/// A final response. The server adds `Date`, `Content-Length` or `Transfer-Encoding`, and `Connection`; what the handler
/// sets of these is replaced. To `HEAD` it sends the head of this response and leaves the body out.
public struct HTTPResponse: Sendable {
  public var status: HTTPStatus
  public var headers: HTTPFields
  public var body: ResponseBody
  /// Bytes per second at which the kernel lets this response leave (`SO_MAX_PACING_RATE`); nil for as fast as it can.
  public var pacing: UInt64?
  /// Who asked, where that is not who is at the other end: told to the access record.
  public var client: PeerAddress?

  public init(status: HTTPStatus, headers: HTTPFields = [:], body: ResponseBody = .none) {
    self.status = status
    self.headers = headers
    self.body = body
  }
}
