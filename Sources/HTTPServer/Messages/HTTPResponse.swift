/// A final response. The server adds `Date`, `Content-Length` or `Transfer-Encoding`, and `Connection`; what the handler
/// sets of these is replaced. To `HEAD` it sends the head of this response and leaves the body out.
public struct HTTPResponse: Sendable {
  public var status: HTTPStatus
  public var headers: HTTPFields
  public var body: ResponseBody

  public init(status: HTTPStatus, headers: HTTPFields = [:], body: ResponseBody = .none) {
    self.status = status
    self.headers = headers
    self.body = body
  }
}
