/// The body of a review step; both members may be left out.
public struct ReviewDecision: Codable, Sendable {
  public var reason: String?

  public init(reason: String? = nil) {
    self.reason = reason
  }
}
