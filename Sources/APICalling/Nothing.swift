/// The body of a request that has none.
public struct Nothing: Codable, Sendable {
  public init() {}
}
