public import HTTPClient

/// A decoded answer with its head.
public struct APIAnswer<Value: Sendable>: Sendable {
  public var head: ResponseHead
  public var value: Value

  public var status: Int { head.status }
}
