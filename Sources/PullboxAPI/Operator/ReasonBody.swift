/// The body of a step that an operator may give a reason for: reject, revoke, reinstate. The reason may be left out.
public struct ReasonBody: Codable, Sendable, OperatorWritten {
  public var reason: String?

  public init(reason: String? = nil) {
    self.reason = reason
  }
}
