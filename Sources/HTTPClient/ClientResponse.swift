/// A response with its whole body.
public struct ClientResponse: Sendable {
  public var head: ResponseHead
  public var body: [UInt8]

  public init(head: ResponseHead, body: [UInt8]) {
    self.head = head
    self.body = body
  }

  public var status: Int { head.status }
  public var headers: ResponseFields { head.headers }
}
