/// `GET /v1/library` of the agent.
public struct LibraryResponse: Codable, Sendable {
  public var items: [LibraryItem]

  public init(items: [LibraryItem]) {
    self.items = items
  }
}
