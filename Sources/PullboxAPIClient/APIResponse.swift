public import HTTPClient

/// A decoded answer with its head.
public struct APIResponse<Value: Sendable>: Sendable {
  public var head: ResponseHead
  public var value: Value

  public var status: Int { head.status }
}
