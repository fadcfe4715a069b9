/// The body of a request that has none.
public struct EmptyBody: Codable, Sendable {
  public init() {}
}
