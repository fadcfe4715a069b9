/// A request target that does not decode to text.
public struct RequestTargetError: Error, Hashable, Sendable, CustomStringConvertible {
  public var description: String { "the request target does not decode to text" }
}
